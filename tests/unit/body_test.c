/* A request's body: what it takes of the budget, and when it gives that back. */
#include "server/http/body.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

#define MIB ((size_t)1 << 20)

static struct budget budget;

static int set_up(void **state)
{
    (void)state;
    budget_init(&budget, 64 * MIB, 32 * MIB, 0, NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(budget_usage(&budget).bodies_bytes, 0);
    budget_done(&budget);
    return 0;
}

/* A body of so many bytes that has arrived, or as far as there was room for it. */
static bool receive(struct body *body, size_t bytes)
{
    struct error err = {0};
    char *piece = calloc(1, MIB);
    bool fits = true;
    assert_non_null(piece);
    body_init(body, &budget, bytes, true);
    while (fits && body->bytes < bytes)
        fits = body_append(body, piece, MIB, &err);
    free(piece);
    assert_true(fits == (err.code == ERROR_NONE));
    return fits;
}

/* A client may send its next body before the one that was answered is freed. */
static void recycled_body_leaves_room(void **state)
{
    struct body first, second;
    (void)state;
    assert_true(receive(&first, 24 * MIB));
    assert_false(receive(&second, 24 * MIB));
    body_done(&second);
    body_recycle(&first);
    assert_int_equal(budget_usage(&budget).bodies_bytes, 0);
    assert_true(receive(&second, 24 * MIB));
    body_done(&first);
    assert_true(budget_usage(&budget).bodies_bytes >= 24 * MIB);
    body_done(&second);
}

/* Pages that nobody takes over are still the body's. */
static void body_that_is_not_recycled_keeps_its_share(void **state)
{
    struct body large, small;
    (void)state;
    assert_true(receive(&large, 24 * MIB));
    assert_true(receive(&small, 4 * MIB));
    body_recycle(&large);
    body_recycle(&small);
    assert_true(budget_usage(&budget).bodies_bytes >= 4 * MIB);
    body_done(&small);
    assert_int_equal(budget_usage(&budget).bodies_bytes, 0);
    body_done(&large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(recycled_body_leaves_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(body_that_is_not_recycled_keeps_its_share, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("body", tests, NULL, NULL);
}
