/* Out of memory: the n-th allocation fails, the limits grant nothing, the arena is as small as can be. Each ends in a clean reply. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/worker_pool.h"

static size_t blocks_left = SIZE_MAX; /* that aligned_alloc still gives */

/* Arenas take their blocks from here: in place of the C library's, it runs out when told. */
void *aligned_alloc(size_t alignment, size_t size)
{
    void *memory;
    if (blocks_left == 0)
        return NULL;
    blocks_left -= blocks_left != SIZE_MAX;
    return posix_memalign(&memory, alignment, size) == 0 ? memory : NULL;
}

/* One of each kind; all are answered. */
static const char *const requests[] = {
    "{\"query\":[[1,0],[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]]}",
    "{\"seed\":1337,\"x\":{\"shape\":[4,8,32]},\"head_size\":16,\"causal\":true,\"scale\":1,\"return\":[\"scores\",\"weights\"]"
    "}",
    "{\"seed\":1,\"x\":{\"shape\":[2,3,4]},\"context\":{\"shape\":[2,5,6]},\"num_heads\":2,\"head_size\":3,\"rope\":{\"style\":"
    "\"half\",\"dims\":2},\"projection\":{\"key\":{\"bias\":[1,2,3,4,5,6]},\"output\":{\"weight\":{\"shape\":[3,6]},\"bias\":["
    "1,2,"
    "3]}}}",
    "{\"seed\":1,\"query\":{\"shape\":[2,4,9,8]},\"key\":{\"shape\":[2,2,600,8]},\"value\":{\"shape\":[2,2,600,8]},\"alibi\":"
    "true,\"sinks\":[1,2,3,4],\"key_lengths\":[600,3],\"window\":[300,-1],\"causal\":\"bottom_right\",\"return\":[\"output\","
    "\"mean_weights\",\"lse\",\"masked_scores\",\"present_key\"],\"format\":\"flat\"}",
    "{\"seed\":1,\"precision\":\"float64\",\"query\":{\"shape\":[70,8]},\"key\":{\"shape\":[70,8]},\"value\":{\"shape\":[70,2]}"
    ","
    "\"past_key\":{\"shape\":[1,8],\"data\":[1,2,3,4,5,6,7,8]},\"past_value\":{\"shape\":[1,2],\"data\":[1,2]},\"return\":[]}",
    "{\"seed\":1,\"query\":{\"shape\":[70,8]},\"key\":{\"shape\":[70,8]},\"value\":{\"shape\":[70,2]},\"bias\":[1],"
    "\"relative_bias\":{\"table\":[[0],[1],[2],[3]]},\"query_scale\":{\"shape\":[70],\"data\":[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,"
    "7,"
    "8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0]}}",
    "{\"seed\":1,\"x\":{\"shape\":[300,64]},\"projection\":\"identity\",\"rope\":{\"style\":\"interleaved\"},\"mask\":[[true]],"
    "\"return\":[\"weights\"]}",
};
#define REQUEST_COUNT (sizeof requests / sizeof *requests)

static void call(const char *text, const struct api_limits *limits, const struct executor *executor, struct api_call *ret)
{
    const struct api_request request = {.body = text, .body_bytes = strlen(text)};
    api_compute(&api_protocol_attention, &request, limits, executor, ret);
}

/* ---- the machine has none ---- */

/* How many blocks a request takes. Each before that fails once; nothing is left of the call afterwards. */
static size_t fail_each_block(const char *text, const struct executor *executor)
{
    const struct api_limits limits = {.request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX};
    for (size_t n = 0;; n++) {
        struct api_call c;
        blocks_left = n;
        call(text, &limits, executor, &c);
        blocks_left = SIZE_MAX;
        int status = c.reply.status;
        if (status != 200 && (status != 503 || c.reply.error != ERROR_NO_MEMORY || c.reply.retry_after_s <= 0))
            fail_msg("%.100s: block %zu fails: %.*s", text, n, (int)c.reply.body_bytes, c.reply.body);
        api_call_done(&c);
        assert_null(c.arena.newest);
        if (status == 200)
            return n;
    }
}

/* Tools that put an allocator of their own in the place of every other leave nothing to fail. */
static bool blocks_run_out(void)
{
    void *(*volatile allocate)(size_t, size_t) = aligned_alloc; /* as others call it */
    blocks_left = 0;
    void *block = allocate(ARENA_ALIGNMENT_BYTES, ARENA_ALIGNMENT_BYTES);
    blocks_left = SIZE_MAX;
    free(block);
    return block == NULL;
}

static void test_each_block_fails(void **state)
{
    (void)state;
    struct worker_pool pool;
    if (!blocks_run_out())
        skip();
    worker_pool_init(&pool, 3);
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        assert_true(fail_each_block(requests[i], NULL) >= 2);
        assert_true(fail_each_block(requests[i], &pool.executor) >= 2);
    }
}

/* ---- the limits grant none ---- */

struct granting {
    enum error_code refusal; /* ERROR_NONE: granted, or deferred */
    bool deferred;
    size_t asked_count, asked_bytes, asked_products;
};

static bool grant(void *context, const struct api_cost *cost, struct error *err)
{
    struct granting *granting = context;
    granting->asked_count++;
    granting->asked_bytes = cost->memory_bytes;
    granting->asked_products = cost->products;
    if (granting->deferred)
        return false;
    return granting->refusal == ERROR_NONE || error_set(err, granting->refusal, "nothing is left");
}

static void test_reserve(void **state)
{
    (void)state;
    static const enum error_code refusals[] = {ERROR_NONE, ERROR_NO_MEMORY, ERROR_DEADLINE, ERROR_BUSY};
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        for (size_t k = 0; k < sizeof refusals / sizeof *refusals; k++) {
            struct granting granting = {.refusal = refusals[k]};
            const struct api_limits limits = {
                .request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX, .reserve = grant, .reserve_context = &granting};
            struct api_call c;
            call(requests[i], &limits, NULL, &c);
            assert_int_equal(c.reply.error, refusals[k]);
            assert_int_equal(c.reply.status, refusals[k] == ERROR_NONE ? 200 : 503);
            assert_int_equal(granting.asked_count, 1);
            assert_int_equal(c.reserved_bytes, refusals[k] == ERROR_NONE ? granting.asked_bytes : 0);
            api_call_done(&c);
        }
    }
}

/* A deferred call ends without a reply, and can be made again. */
static void test_deferred(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        struct granting granting = {.deferred = true};
        const struct api_limits limits = {
            .request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX, .reserve = grant, .reserve_context = &granting};
        struct api_call c;
        call(requests[i], &limits, NULL, &c);
        assert_int_equal(c.reply.status, 0);
        assert_int_equal(c.reserved_bytes, 0);
        api_call_done(&c);
        granting.deferred = false;
        call(requests[i], &limits, NULL, &c);
        assert_int_equal(c.reply.status, 200);
        assert_int_equal(granting.asked_count, 2);
        api_call_done(&c);
    }
}

/* Scores and outputs for each query and key; projections of every token. */
static void test_products(void **state)
{
    static const struct {
        const char *text;
        size_t products;
    } cases[] = {
        {"{\"seed\":1,\"query\":{\"shape\":[2,3,5,7]},\"key\":{\"shape\":[2,3,11,7]},\"value\":{\"shape\":[2,3,11,13]}}",
         2 * 3 * 5 * 11 * (7 + 13)},
        {"{\"seed\":1,\"x\":{\"shape\":[2,5,16]},\"head_size\":4,\"num_heads\":3}",
         2 * 3 * 5 * 5 * (4 + 4) + 3 * 2 * 5 * 16 * 12},
        {"{\"seed\":1,\"x\":{\"shape\":[5,16]},\"projection\":\"identity\"}", 5 * 5 * (16 + 16)},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct granting granting = {0};
        const struct api_limits limits = {
            .request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX, .reserve = grant, .reserve_context = &granting};
        struct api_call c;
        call(cases[i].text, &limits, NULL, &c);
        assert_int_equal(c.reply.status, 200);
        assert_int_equal(granting.asked_products, cases[i].products);
        api_call_done(&c);
    }
}

/* Errors that shapes show are found before memory is reserved. */
static void test_nothing_is_reserved_in_vain(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "[]",
        "{}",
        "{\"query\":[[1]],\"key\":[[1,2]],\"value\":[[1]]}",
        "{\"query\":[[1]],\"key\":[[1]],\"value\":[[1]],\"q\":1}",
        "{\"x\":{\"shape\":[4294967296,4294967296]},\"seed\":1,\"head_size\":1}",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct granting granting = {0};
        const struct api_limits limits = {
            .request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX, .reserve = grant, .reserve_context = &granting};
        struct api_call c;
        call(wrong[i], &limits, NULL, &c);
        assert_int_not_equal(c.reply.status, 200);
        assert_int_equal(granting.asked_count, 0);
        assert_int_equal(c.reserved_bytes, 0);
        api_call_done(&c);
    }
}

/* ---- the limit of a request ---- */

/* One byte below the cost is refused, naming the limit; the cost itself is enough. */
static void test_limit_is_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < REQUEST_COUNT; i++) {
        const char *text = requests[i];
        struct granting granting = {0};
        struct api_limits limits = {
            .request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX, .reserve = grant, .reserve_context = &granting};
        struct client client;
        client_attention_with(&client, text, text, strlen(text), NULL, &limits, NULL);
        client_check_ok(&client);
        client_done(&client);
        size_t cost_bytes = granting.asked_bytes;
        const size_t enough[] = {cost_bytes, cost_bytes + 1}, little[] = {cost_bytes - 1, cost_bytes / 2, 64, 1, 0};
        for (size_t k = 0; k < sizeof enough / sizeof *enough; k++) {
            limits.request_memory_bytes_max = enough[k];
            client_attention_with(&client, text, text, strlen(text), NULL, &limits, NULL);
            client_check_ok(&client);
            client_done(&client);
        }
        for (size_t k = 0; k < sizeof little / sizeof *little; k++) {
            limits.request_memory_bytes_max = little[k];
            client_attention_with(&client, text, text, strlen(text), NULL, &limits, NULL);
            assert_int_equal(client.call.reply.status, 413);
            const json_t *limit = json_object_get(client.reply, "limit");
            assert_string_equal(json_string_value(json_object_get(limit, "name")), "max-request-memory");
            assert_int_equal(json_integer_value(json_object_get(limit, "value")), little[k]);
            client_done(&client);
        }
    }
}

/* More workers have more scratch memory between them, if the work is enough for more than one: the cost knows. */
static void test_workers_cost(void **state)
{
    (void)state;
    static const char request[] = "{\"seed\": 1, \"query\": {\"shape\": [200, 32]}, \"key\": {\"shape\": [200, 32]}, "
                                  "\"value\": {\"shape\": [200, 32]}, \"return\": [\"output\", \"lse\"]}";
    size_t before = 0;
    for (size_t workers = 1; workers <= WORKER_COUNT_MAX; workers++) {
        struct worker_pool pool;
        struct granting granting = {0};
        const struct api_limits limits = {
            .request_memory_bytes_max = CLIENT_MEMORY_BYTES_MAX, .reserve = grant, .reserve_context = &granting};
        struct client client;
        worker_pool_init(&pool, workers);
        client_attention_with(&client, "workers", request, strlen(request), NULL, &limits, &pool.executor);
        client_check_ok(&client);
        client_done(&client);
        assert_true(granting.asked_bytes > before);
        before = granting.asked_bytes;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_block_fails),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_products),
        cmocka_unit_test(test_nothing_is_reserved_in_vain),
        cmocka_unit_test(test_limit_is_exact),
        cmocka_unit_test(test_workers_cost),
    };
    api_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
