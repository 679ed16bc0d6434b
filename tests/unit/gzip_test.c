/* The content coding gzip: what is inflated and what refused; compressed replies, whole and in pieces. */
#include "server/http/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "server/work/clock.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/worker_pool.h"

#define BUDGET_BYTES ((size_t)64 << 20)

/* A gzip member, appended at `at`; returns its end. */
static unsigned char *member(const void *data, size_t bytes, unsigned char *at, size_t capacity)
{
    z_stream stream = {
        .next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)bytes, .next_out = at, .avail_out = (uInt)capacity};
    assert_int_equal(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    at = stream.next_out;
    (void)deflateEnd(&stream);
    return at;
}

struct inflated {
    struct budget budget;
    struct body body;
    struct error err;
    bool done;
};

static void inflated_init(struct inflated *in, const void *data, size_t bytes, size_t bytes_max, size_t budget_bytes,
                          bool stopped)
{
    struct work_item work_item = {.deadline_ms = stopped ? 0 : CLOCK_NEVER_MS};
    error_init(&in->err);
    budget_init(&in->budget, budget_bytes, 0, 0, NULL);
    body_init(&in->body, &in->budget, bytes_max, false);
    char *copy = malloc(bytes > 0 ? bytes : 1); /* of just its size for the sanitizers */
    assert_non_null(copy);
    memcpy(copy, data, bytes);
    in->done = gzip_inflate(copy, bytes, &work_item, &in->body, &in->err);
    free(copy);
    assert_true(in->done == (in->err.code == ERROR_NONE));
    assert_true(in->body.bytes <= bytes_max && in->body.capacity_bytes <= bytes_max);
}

static void inflated_done(struct inflated *in)
{
    body_done(&in->body);
    budget_done(&in->budget);
}

static void refused(const void *data, size_t bytes, size_t bytes_max, enum error_code code)
{
    struct inflated in;
    inflated_init(&in, data, bytes, bytes_max, BUDGET_BYTES, false);
    assert_int_equal(in.err.code, code);
    inflated_done(&in);
}

static void members_follow_each_other(void **state)
{
    (void)state;
    unsigned char text[200000], gzip[210000];
    struct draw draw = {1};
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)("0123456789.,-[]"[draw_size(&draw, 0, 14)]);
    static const size_t splits[] = {0, 1, 65535, 65536, 65537, 131072, sizeof text};
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
        struct inflated in;
        unsigned char *end = member(text, splits[i], gzip, sizeof gzip);
        end = member(text + splits[i], sizeof text - splits[i], end, (size_t)(gzip + sizeof gzip - end));
        inflated_init(&in, gzip, (size_t)(end - gzip), sizeof text, BUDGET_BYTES, false);
        assert_true(in.done);
        assert_int_equal(in.body.bytes, sizeof text);
        assert_memory_equal(in.body.data, text, sizeof text);
        inflated_done(&in);
        refused(gzip, (size_t)(end - gzip), sizeof text - 1, ERROR_TOO_LARGE);
    }
}

static void what_is_no_gzip(void **state)
{
    (void)state;
    unsigned char gzip[200];
    static const char text[] = "{\"query\": [[1, 0], [0, 1]], \"key\": [[1, 0], [0, 1]]}";
    size_t bytes = (size_t)(member(text, sizeof text, gzip, sizeof gzip - 20) - gzip);
    for (size_t cut = 0; cut < bytes; cut++)
        refused(gzip, cut, 1000, ERROR_MALFORMED);
    for (size_t i = 0; i < bytes; i++) { /* each byte matters but for time, flags of the writer, and system */
        if (i >= 4 && i < 10)
            continue;
        gzip[i] ^= 0x55;
        refused(gzip, bytes, 1000, ERROR_MALFORMED);
        gzip[i] ^= 0x55;
    }
    memset(gzip + bytes, 'x', 20);
    refused(gzip, bytes + 20, 1000, ERROR_MALFORMED);
    refused(gzip, bytes + 1, 1000, ERROR_MALFORMED);
    refused(text, sizeof text, 1000, ERROR_MALFORMED);
}

/* A bomb costs what the limit allows, not what it holds. */
static void bombs_are_cut_off(void **state)
{
    (void)state;
    enum { MIB = 1 << 20, COUNT = 256 };
    char *zeros = calloc(1, MIB);
    unsigned char *gzip = malloc(2 * MIB), *at = gzip;
    assert_non_null(zeros);
    assert_non_null(gzip);
    for (size_t i = 0; i < COUNT; i++)
        at = member(zeros, MIB, at, 8192);
    size_t bytes = (size_t)(at - gzip);
    assert_true(bytes < MIB / 2);
    struct inflated in;
    inflated_init(&in, gzip, bytes, 4 * MIB, BUDGET_BYTES, false);
    assert_int_equal(in.err.code, ERROR_TOO_LARGE);
    assert_string_equal(in.err.limit_name, "max-body");
    assert_int_equal(in.err.limit_value, 4 * MIB);
    inflated_done(&in);
    inflated_init(&in, gzip, bytes, (size_t)COUNT * MIB, 8 * MIB, false); /* the budget ends before the limit */
    assert_int_equal(in.err.code, ERROR_NO_MEMORY);
    inflated_done(&in);
    inflated_init(&in, gzip, bytes, (size_t)COUNT * MIB, (size_t)2 * COUNT * MIB, true);
    assert_int_equal(in.err.code, ERROR_DEADLINE);
    assert_true(in.body.bytes <= MIB);
    inflated_done(&in);
    free(gzip);
    free(zeros);
}

/* Compresses `parts` and inflates them again by zlib's own reader. */
static void check_deflate(const struct api_chunk *parts, size_t count, const struct executor *executor)
{
    struct api_reply reply = {
        .body = parts[0].data, .body_bytes = parts[0].bytes, .chunks = parts + 1, .chunk_count = count - 1};
    struct gzip gzip = {0};
    size_t bytes = 0, compressed = 0, cost = gzip_cost(&reply, executor);
    for (size_t i = 0; i < count; i++)
        bytes += parts[i].bytes;
    assert_true(gzip_deflate(&reply, executor, &gzip));
    for (size_t i = 0; i < reply.chunk_count; i++)
        compressed += reply.chunks[i].bytes;
    assert_true(compressed + reply.body_bytes <= cost);
    char *out = malloc(bytes + 1);
    assert_non_null(out);
    z_stream stream = {.next_out = (Bytef *)out, .avail_out = (uInt)bytes + 1};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    int said = Z_OK;
    for (size_t i = 0; i <= reply.chunk_count; i++) {
        stream.next_in = (Bytef *)(uintptr_t)(i == 0 ? reply.body : reply.chunks[i - 1].data);
        stream.avail_in = (uInt)(i == 0 ? reply.body_bytes : reply.chunks[i - 1].bytes);
        assert_int_equal(said, Z_OK);
        said = inflate(&stream, Z_NO_FLUSH);
        assert_int_equal(stream.avail_in, 0);
    }
    assert_int_equal(said, Z_STREAM_END);
    assert_int_equal(stream.total_out, bytes);
    (void)inflateEnd(&stream);
    const char *at = out;
    for (size_t i = 0; i < count; at += parts[i].bytes, i++)
        assert_memory_equal(at, parts[i].data, parts[i].bytes);
    free(out);
    gzip_done(&gzip);
    gzip_done(&gzip);
}

static void replies_are_compressed_in_pieces(void **state)
{
    (void)state;
    enum { BYTES = 3000000 };
    char *text = malloc(BYTES), *noise = malloc(BYTES);
    assert_non_null(text);
    assert_non_null(noise);
    struct draw draw = {2};
    for (size_t i = 0; i < BYTES; i++) {
        text[i] = "0123456789.,-[]"[draw_size(&draw, 0, 14)];
        noise[i] = (char)draw_u64(&draw);
    }
    struct worker_pool pool;
    worker_pool_init(&pool, 3);
    const struct api_chunk parts[][3] = {
        {{text, BYTES}},
        {{text, 1}, {noise, BYTES}, {text, 262144}},
        {{text, 262145}, {text, 0}, {noise, 262143}},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        pool.backwards = i == 1;
        check_deflate(parts[i], i == 0 ? 1 : 3, &pool.executor);
        check_deflate(parts[i], i == 0 ? 1 : 3, NULL);
    }
    struct api_reply reply = {.body = text, .body_bytes = BYTES}, before = reply;
    struct gzip gzip = {0};
    pool.stop_after = 2;
    assert_false(gzip_deflate(&reply, &pool.executor, &gzip));
    assert_memory_equal(&reply, &before, sizeof reply);
    assert_null(gzip.memory);
    free(noise);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_follow_each_other),
        cmocka_unit_test(what_is_no_gzip),
        cmocka_unit_test(bombs_are_cut_off),
        cmocka_unit_test(replies_are_compressed_in_pieces),
    };
    return cmocka_run_group_tests_name("gzip", tests, NULL, NULL);
}
