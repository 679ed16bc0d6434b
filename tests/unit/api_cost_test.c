/* A few bytes of request that demand as much as numbers can say: refused from the shapes alone, or answered, but at once.
 *
 * Each axis is empty, short, long or the longest there is, in every combination; an empty axis makes tensors free of charge
 * whatever the others say, and loops over those others would never end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

#define MEMORY_BYTES ((size_t)64 << 20)
#define MEMORY_BYTES_SLOW ((size_t)4 << 20) /* where everything takes long */
#define ALARM_S 300                         /* for a test as a whole */
#define SECONDS_MAX 5.0                     /* of the processor, for one request: 64 MiB of text are read back, too */
#define STOPS_AFTER 20                      /* how often a request may check whether it was stopped */
#define BODY_BYTES_MAX 1000

static const char *const results =
    "\"output\",\"weights\",\"mean_weights\",\"scores\",\"masked_scores\",\"lse\",\"query\",\"key\","
    "\"value\",\"present_key\",\"present_value\"";

static double used_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Any end is right but a crash, a long wait, or an error of ours. */
static void check_quick(const char *body)
{
    struct worker_pool pool;
    worker_pool_init(&pool, 1);
    pool.stop_after = STOPS_AFTER;
    const struct api_limits limits = {.request_memory_bytes_max = environment_slow() ? MEMORY_BYTES_SLOW : MEMORY_BYTES};
    struct client client;
    double started_s = used_s();
    client_attention_with(&client, body, body, strlen(body), NULL, &limits, &pool.executor);
    double seconds = used_s() - started_s;
    int status = client.call.reply.status;
    if (status != 200 && status != 413 && status != 422 && client.call.reply.error != ERROR_DEADLINE)
        fail_msg("%s: status %d: %s", body, status, client_problem_text(&client, "detail"));
    if (seconds > SECONDS_MAX * (environment_slow() ? 20 : 1))
        fail_msg("%s: status %d after %.3f s", body, status, seconds);
    client_done(&client);
}

static const uint64_t lengths[] = {0, 1, 1000, 2147483647};
#define LENGTHS (sizeof lengths / sizeof *lengths)

/* Digit `place` of a number to the base LENGTHS picks a length. */
static uint64_t length_of(size_t number, size_t place)
{
    for (; place > 0; place--)
        number /= LENGTHS;
    return lengths[number % LENGTHS];
}

/* Which of a test's combinations are tried: where everything takes long, some of them. */
static bool skipped(size_t n)
{
    return environment_slow() && n % 11 != 0;
}

static void test_tensors(void **state)
{
    (void)state;
    (void)alarm(ALARM_S);
    for (size_t n = 0; n < LENGTHS * LENGTHS * LENGTHS * LENGTHS * LENGTHS; n++) { /* B, Tq, Tk, D, Dv */
        if (skipped(n))
            continue;
        char body[BODY_BYTES_MAX];
        uint64_t B = length_of(n, 0), Tq = length_of(n, 1), Tk = length_of(n, 2), D = length_of(n, 3), Dv = length_of(n, 4);
        (void)snprintf(body, sizeof body,
                       "{\"seed\":1,\"scale\":1,\"query\":{\"shape\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64
                       "]},\"key\":{\"shape\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]},\"value\":{\"shape\":[%" PRIu64 ",%" PRIu64
                       ",%" PRIu64 "]},\"rope\":{\"style\":\"half\",\"dims\":0},\"format\":\"%s\",\"return\":[%s]}",
                       B, Tq, D, B, Tk, D, B, Tk, Dv, n % 2 == 0 ? "flat" : "nested",
                       n % 3 == 0   ? "\"output\""
                       : n % 3 == 1 ? ""
                                    : results);
        check_quick(body);
    }
    (void)alarm(0);
}

static void test_heads(void **state)
{
    (void)state;
    (void)alarm(ALARM_S);
    for (size_t n = 0; n < LENGTHS * LENGTHS * LENGTHS * LENGTHS; n++) { /* B, H, T, D */
        if (skipped(n))
            continue;
        char body[BODY_BYTES_MAX];
        uint64_t B = length_of(n, 0), H = length_of(n, 1), T = length_of(n, 2), D = length_of(n, 3);
        (void)snprintf(body, sizeof body,
                       "{\"seed\":1,\"scale\":1,\"query\":{\"shape\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                       "]},\"key\":{\"shape\":[%" PRIu64 ",1,%" PRIu64 ",%" PRIu64 "]},\"value\":{\"shape\":[%" PRIu64
                       ",1,%" PRIu64 ",%" PRIu64 "]},\"alibi\":%s,\"causal\":true,\"format\":\"%s\",\"return\":[%s]}",
                       B, H, T, D, B, T, D, B, T, D, n % 5 == 0 ? "true" : "false", n % 2 == 0 ? "flat" : "nested",
                       n % 3 == 0   ? "\"output\""
                       : n % 3 == 1 ? ""
                                    : results);
        check_quick(body);
    }
    (void)alarm(0);
}

static void test_tokens(void **state)
{
    (void)state;
    (void)alarm(ALARM_S);
    for (size_t n = 0; n < LENGTHS * LENGTHS * LENGTHS * LENGTHS * LENGTHS; n++) { /* B, T, C, head size, heads */
        if (skipped(n))
            continue;
        char body[BODY_BYTES_MAX];
        uint64_t B = length_of(n, 0), T = length_of(n, 1), C = length_of(n, 2), D = length_of(n, 3), H = length_of(n, 4);
        (void)snprintf(body, sizeof body,
                       "{\"seed\":1,\"scale\":1,\"x\":{\"shape\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]},\"head_size\":%" PRIu64
                       ",\"num_heads\":%" PRIu64 ",%s\"format\":\"%s\",\"return\":[%s]}",
                       B, T, C, D, H, n % 7 == 0 ? "\"projection\":{\"output\":{\"shape\":[2147483647,0]}}," : "",
                       n % 2 == 0 ? "flat" : "nested",
                       n % 3 == 0   ? "\"output\""
                       : n % 3 == 1 ? ""
                                    : results);
        check_quick(body);
    }
    (void)alarm(0);
}

/* Where the limits would grant all there is, it is the sums that must not wrap around. */
static bool refuse(void *context, const struct api_cost *cost, struct error *err)
{
    (void)context;
    return error_set(err, ERROR_NO_MEMORY, "%zu bytes are not to be had", cost->memory_bytes);
}

static void test_sums_do_not_wrap(void **state)
{
    (void)state;
    static const char *const bodies[] = {
        "{\"seed\":1,\"query\":{\"shape\":[2147483647,2147483647,2147483647,2147483647]},\"key\":{\"shape\":[2147483647,"
        "2147483647,"
        "2147483647,2147483647]},\"value\":{\"shape\":[2147483647,2147483647,2147483647,2147483647]}}",
        "{\"seed\":1,\"query\":{\"shape\":[65536,65536,65536,65536]},\"key\":{\"shape\":[65536,65536,65536,65536]},\"value\":{"
        "\"shape\":[65536,65536,65536,65536]}}",
        "{\"seed\":1,\"query\":{\"shape\":[65536,65536,32768,32768]},\"key\":{\"shape\":[65536,65536,32768,32768]},\"value\":{"
        "\"shape\":[65536,65536,32768,32768]},\"return\":[]}",
        "{\"seed\":1,\"x\":{\"shape\":[2147483647,2147483647,2]},\"head_size\":2147483647,\"return\":[]}",
        "{\"seed\":1,\"x\":{\"shape\":[2147483647,1]},\"projection\":\"identity\"}",
        "{\"seed\":1,\"x\":{\"shape\":[2147483647,2147483647,1]},\"projection\":\"identity\",\"format\":\"flat\",\"decimals\":"
        "3}",
        "{\"seed\":1,\"scale\":1,\"query\":{\"shape\":[2147483647,2147483647,0]},\"key\":{\"shape\":[2147483647,2147483647,0]},"
        "\"value\":{\"shape\":[2147483647,2147483647,0]}}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        for (int refuses = 0; refuses <= 1; refuses++) {
            const struct api_limits limits = {.request_memory_bytes_max = refuses ? SIZE_MAX : SIZE_MAX / 2, .reserve = refuse};
            struct client client;
            client_attention_with(&client, bodies[i], bodies[i], strlen(bodies[i]), NULL, &limits, NULL);
            if (client.call.reply.status != 413 && client.call.reply.status != 503)
                fail_msg("%s: status %d", bodies[i], client.call.reply.status);
            client_done(&client);
        }
    }
}

/* A ragged array's first rows may promise far more than its text holds. */
static void test_ragged_promises(void **state)
{
    (void)state;
    (void)alarm(ALARM_S);
    static char body[2000000];
    const size_t counts[] = {10, 1000, 30000, 300000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t used = (size_t)snprintf(body, sizeof body, "{\"key\":[[1]],\"value\":[[1]],\"query\":[[1");
        for (size_t k = 0; k < counts[i]; k++)
            used += (size_t)snprintf(body + used, sizeof body - used, ",1");
        used += (size_t)snprintf(body + used, sizeof body - used, "]");
        for (size_t k = 0; k < counts[i]; k++)
            used += (size_t)snprintf(body + used, sizeof body - used, ",1");
        (void)snprintf(body + used, sizeof body - used, "]}");
        check_quick(body);
    }
    (void)alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensors),          cmocka_unit_test(test_heads),           cmocka_unit_test(test_tokens),
        cmocka_unit_test(test_sums_do_not_wrap), cmocka_unit_test(test_ragged_promises),
    };
    api_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
