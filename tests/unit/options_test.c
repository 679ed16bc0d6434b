/* options_test.c: the limits that follow the machine leave the process the room that it takes besides requests. */
#include "server/setup/machine.h"
#include "server/setup/options.h"
#include "tests/support/check.h"

#define MIB ((size_t)1 << 20)

static struct options resolved(struct machine machine, struct options given)
{
    struct error err = {0};
    assert_true(options_resolve(&given, &machine, &err));
    return given;
}

static struct machine container(size_t cores, size_t memory_bytes)
{
    return (struct machine){.cores = cores, .memory_bytes = memory_bytes, .cores_from = "", .memory_from = ""};
}

/* Whatever the machine is, the largest request fits into the memory beside the largest body, and something is left. */
static void check_sums(const struct options *options, const struct machine *machine)
{
    assert_true(options->memory_bytes_max >= machine->memory_bytes / 4);
    assert_true(options->memory_bytes_max <= machine->memory_bytes / 100 * 95);
    assert_true(options->body_bytes_max + options->request_memory_bytes_max <= options->memory_bytes_max);
    assert_true(options->connections_max >= 4 && options->connections_max <= 1024);
    assert_int_equal(options->queue_items_max, options->connections_max);
}

static void test_containers(void **state)
{
    (void)state;
    for (size_t cores = 1; cores <= 128; cores *= 2)
        for (size_t memory = 32 * MIB; memory <= 4096 * MIB; memory *= 2) {
            struct machine machine = container(cores, memory);
            struct options options = resolved(machine, (struct options){0});
            assert_int_equal(options.threads, cores);
            check_sums(&options, &machine);
        }
}

/* As docs/container.md has them. */
static void test_known_container(void **state)
{
    (void)state;
    struct options options = resolved(container(1, 256 * MIB), (struct options){0});
    assert_int_equal(options.memory_bytes_max / MIB, 189);
    assert_int_equal(options.body_bytes_max / MIB, 94);
    assert_int_equal(options.connections_max, 204);
    options = resolved(container(2, 128 * MIB), (struct options){0});
    assert_int_equal(options.memory_bytes_max / MIB, 62);
}

/* More threads and connections take of the memory for requests, down to a quarter. */
static void test_more_threads_less_memory(void **state)
{
    (void)state;
    size_t before = SIZE_MAX;
    for (size_t threads = 1; threads <= 64; threads *= 2) {
        struct options options = resolved(container(1, 1024 * MIB), (struct options){.threads = threads});
        assert_true(options.memory_bytes_max < before || options.memory_bytes_max == 256 * MIB);
        before = options.memory_bytes_max;
    }
    assert_int_equal(before, 256 * MIB);
}

static void test_shared_machine(void **state)
{
    (void)state;
    struct machine machine = container(4, (size_t)64 << 30);
    machine.memory_is_shared = true;
    struct options options = resolved(machine, (struct options){0});
    assert_int_equal(options.memory_bytes_max, machine.memory_bytes / 100 * 60);
    check_sums(&options, &machine);
}

/* Options that are given hold as they are. */
static void test_given(void **state)
{
    (void)state;
    struct options options =
        resolved(container(2, 256 * MIB),
                 (struct options){
                     .memory_bytes_max = 250 * MIB, .body_bytes_max = 50 * MIB, .connections_max = 7, .queue_items_max = 3});
    assert_int_equal(options.memory_bytes_max, 250 * MIB);
    assert_int_equal(options.body_bytes_max, 50 * MIB);
    assert_int_equal(options.request_memory_bytes_max, 150 * MIB - options.memory_bytes_max / 16);
    assert_int_equal(options.large_memory_bytes, 250 * MIB - options.memory_bytes_max / 16);
    assert_int_equal(options.connections_max, 7);
    assert_int_equal(options.queue_items_max, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_containers),
        cmocka_unit_test(test_known_container),
        cmocka_unit_test(test_more_threads_less_memory),
        cmocka_unit_test(test_shared_machine),
        cmocka_unit_test(test_given),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
