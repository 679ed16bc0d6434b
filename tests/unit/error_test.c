/* The first error wins, texts are cut to their fields, and every setter returns false. */
#include <string.h>

#include "core/error.h"
#include "tests/support/check.h"

static void starts_empty(void **state)
{
    (void)state;
    struct error err;
    memset(&err, 0xff, sizeof err);
    error_init(&err);
    assert_int_equal(err.code, ERROR_NONE);
    assert_string_equal(err.text, "");
    assert_string_equal(err.pointer, "");
    assert_string_equal(err.limit_name, "");
    assert_true(err.limit_value == 0);
}

static void set_formats_text(void **state)
{
    (void)state;
    struct error err;
    error_init(&err);
    assert_false(error_set(&err, ERROR_INVALID, "%d heads over %s", 5, "2"));
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.text, "5 heads over 2");
    assert_string_equal(err.pointer, "");
    assert_string_equal(err.limit_name, "");
}

static void set_at_names_the_field(void **state)
{
    (void)state;
    struct error err;
    error_init(&err);
    assert_false(error_set_at(&err, ERROR_INVALID, "/key/100%s", "no %s", "number"));
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.text, "no number");
    assert_string_equal(err.pointer, "/key/100%s");
}

static void set_limit_names_the_limit(void **state)
{
    (void)state;
    struct error err;
    error_init(&err);
    assert_false(error_set_limit(&err, "max-body", UINT64_MAX, "%zu bytes", (size_t)7));
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_string_equal(err.text, "7 bytes");
    assert_string_equal(err.limit_name, "max-body");
    assert_true(err.limit_value == UINT64_MAX);
    assert_string_equal(err.pointer, "");
}

static void first_error_wins(void **state)
{
    (void)state;
    struct error err, first;
    error_init(&err);
    assert_false(error_set_at(&err, ERROR_DEADLINE, "/x", "first"));
    first = err;
    assert_false(error_set(&err, ERROR_INTERNAL, "second"));
    assert_memory_equal(&err, &first, sizeof err);
    assert_false(error_set_at(&err, ERROR_INVALID, "/y", "third"));
    assert_memory_equal(&err, &first, sizeof err);
    assert_false(error_set_limit(&err, "queue", 1, "fourth"));
    assert_memory_equal(&err, &first, sizeof err);

    error_init(&err);
    assert_false(error_set(&err, ERROR_BUSY, "again"));
    assert_string_equal(err.text, "again");
}

static void long_texts_are_cut(void **state)
{
    (void)state;
    char text[2 * ERROR_TEXT_BYTES_MAX];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    struct error err;
    error_init(&err);
    assert_false(error_set_at(&err, ERROR_INVALID, text, "%s", text));
    assert_int_equal(strlen(err.text), ERROR_TEXT_BYTES_MAX - 1);
    assert_int_equal(strlen(err.pointer), ERROR_POINTER_BYTES_MAX - 1);
    assert_string_equal(err.limit_name, "");

    error_init(&err);
    assert_false(error_set_limit(&err, text, 3, "%s", text));
    assert_int_equal(strlen(err.text), ERROR_TEXT_BYTES_MAX - 1);
    assert_int_equal(strlen(err.limit_name), ERROR_LIMIT_NAME_BYTES_MAX - 1);
    assert_string_equal(err.pointer, "");
    assert_true(err.limit_value == 3);
}

static void texts_that_just_fit_stay_whole(void **state)
{
    (void)state;
    char text[ERROR_TEXT_BYTES_MAX];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    struct error err;
    error_init(&err);
    assert_false(error_set(&err, ERROR_INVALID, "%s", text));
    assert_string_equal(err.text, text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(starts_empty),
        cmocka_unit_test(set_formats_text),
        cmocka_unit_test(set_at_names_the_field),
        cmocka_unit_test(set_limit_names_the_limit),
        cmocka_unit_test(first_error_wins),
        cmocka_unit_test(long_texts_are_cut),
        cmocka_unit_test(texts_that_just_fit_stay_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
