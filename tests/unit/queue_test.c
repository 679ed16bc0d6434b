/* queue_test.c: the order of work items, a list for each class, and the end of the workers. */
#include "server/work/queue.h"

#include <pthread.h>
#include <string.h>

#include "server/work/workers.h"
#include "tests/support/check.h"

static void test_first_in_first_out(void **state)
{
    struct queue queue;
    struct work_item items[4];
    (void)state;
    memset(items, 0, sizeof items);
    queue_init(&queue, 8);
    for (size_t i = 0; i < 4; i++)
        assert_true(queue_push(&queue, &items[i]));
    assert_true(queue_remove(&queue, &items[1]));
    assert_false(queue_remove(&queue, &items[1]));
    assert_int_equal(queue_length(&queue), 3);
    queue_push_again(&queue, &items[1], true);
    const struct work_item *const order[] = {&items[1], &items[0], &items[2], &items[3]};
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(queue_pop(&queue, WORK_SMALL), order[i]);
    assert_false(queue_remove(&queue, &items[0]));
    queue_done(&queue);
}

/* The limit holds for new items, of both classes together, and never for one that was in the queue before. */
static void test_limit(void **state)
{
    struct queue queue;
    struct work_item items[4];
    (void)state;
    memset(items, 0, sizeof items);
    items[1].class = WORK_LARGE;
    queue_init(&queue, 2);
    assert_true(queue_push(&queue, &items[0]));
    assert_true(queue_push(&queue, &items[1]));
    assert_false(queue_push(&queue, &items[2]));
    queue_push_again(&queue, &items[3], false);
    assert_ptr_equal(queue_pop(&queue, WORK_SMALL), &items[0]);
    assert_false(queue_push(&queue, &items[2]));
    assert_ptr_equal(queue_pop(&queue, WORK_SMALL), &items[3]);
    assert_ptr_equal(queue_pop(&queue, WORK_LARGE), &items[1]);
    queue_close(&queue);
    assert_null(queue_pop(&queue, WORK_SMALL));
    assert_null(queue_pop(&queue, WORK_LARGE));
    queue_done(&queue);
}

/* Large items that never end, and a small one behind them. */
struct held {
    struct work_item item;
    pthread_mutex_t *gate;
    atomic_bool ran;
};

static void hold(struct work_item *item)
{
    struct held *held = (struct held *)item;
    if (item->class == WORK_LARGE) {
        assert_int_equal(pthread_mutex_lock(held->gate), 0);
        assert_int_equal(pthread_mutex_unlock(held->gate), 0);
    }
    atomic_store(&held->ran, true);
}

static void test_small_passes_large(void **state)
{
    struct queue queue;
    struct workers workers[WORK_CLASSES];
    struct held held[6];
    struct error err = {0};
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    (void)state;
    memset(held, 0, sizeof held);
    queue_init(&queue, 8);
    assert_int_equal(pthread_mutex_lock(&gate), 0);
    for (size_t i = 0; i < 6; i++) {
        held[i].item.run = hold;
        held[i].item.class = i < 5 ? WORK_LARGE : WORK_SMALL;
        held[i].gate = &gate;
        assert_true(queue_push(&queue, &held[i].item));
    }
    for (size_t class = 0; class < WORK_CLASSES; class ++)
        assert_true(workers_start(&workers[class], (enum work_class) class, 2, &queue, &err));
    workers_stop(&workers[WORK_SMALL]); /* waits for the small item, while the large ones are held */
    assert_true(atomic_load(&held[5].ran));
    assert_false(atomic_load(&held[0].ran));
    assert_int_equal(pthread_mutex_unlock(&gate), 0);
    workers_stop(&workers[WORK_LARGE]);
    for (size_t i = 0; i < 5; i++)
        assert_true(atomic_load(&held[i].ran));
    queue_done(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_in_first_out),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_small_passes_large),
    };
    return cmocka_run_group_tests_name("queue", tests, NULL, NULL);
}
