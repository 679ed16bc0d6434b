/* Large tensors written by several threads, in chunks: the text of one thread in one chunk, and numbers that read back. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/chunks.h"
#include "tests/support/binary_client.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

#define ELEMENTS (3 * CHUNK_ELEMENTS)

static const struct shape {
    size_t rank, shape[4];
} shapes[] = {
    {1, {ELEMENTS}},          {1, {ELEMENTS - 1}},      {2, {ELEMENTS / 100, 100}},
    {2, {ELEMENTS, 1}},       {2, {1, ELEMENTS + 1}},   {3, {3, 32 * 1024, 1}},
    {4, {2, 3, 120, 130}},    {4, {ELEMENTS, 1, 1, 1}}, {1, {100}},
    {3, {0, 100000, 100000}}, {3, {7, 0, 3}},           {2, {2 * CHUNK_ELEMENTS, 0}},
};
#define SHAPES (sizeof shapes / sizeof shapes[0])

/* All shapes, or where that takes minutes every third. */
static size_t shape_step(void)
{
    return environment_slow() ? 3 : 1;
}

static char *concatenated(const struct api_reply *reply)
{
    size_t bytes = reply->body_bytes;
    for (size_t i = 0; i < reply->chunk_count; i++)
        bytes += reply->chunks[i].bytes;
    char *text = malloc(bytes + 1), *at = text + reply->body_bytes;
    assert_non_null(text);
    memcpy(text, reply->body, reply->body_bytes);
    for (size_t i = 0; i < reply->chunk_count; at += reply->chunks[i].bytes, i++)
        memcpy(at, reply->chunks[i].data, reply->chunks[i].bytes);
    *at = '\0';
    return text;
}

/* The tensor twice, in a buffer of just its size; new. */
static char *write_twice(const struct tensor *t, struct number_style style, const struct executor *executor)
{
    size_t buffer_bytes = CHUNKS_FRAME_BYTES + 2 * chunks_bytes_max(t->dtype, t->rank, t->shape, style);
    char *buffer = malloc(buffer_bytes);
    assert_non_null(buffer);
    struct chunks chunks;
    struct api_reply reply = {0};
    struct error err = {0};
    chunks_init(&chunks, buffer, buffer_bytes, 2 * chunks_count_max(tensor_count(t)), executor);
    writer_add(&chunks.writer, "[");
    chunks_tensor(&chunks, t, style);
    writer_add(&chunks.writer, ",");
    chunks_tensor(&chunks, t, style);
    writer_add(&chunks.writer, "]");
    const struct api_chunk *list;
    size_t count;
    assert_true(chunks_done(&chunks, &list, &count, &err));
    api_reply_set_chunks(&reply, list, count);
    if (tensor_count(t) >= 2 * CHUNK_ELEMENTS)
        assert_true(reply.chunk_count >= 6);
    else
        assert_int_equal(reply.chunk_count, 0);
    char *text = concatenated(&reply);
    free(buffer);
    return text;
}

/* As plainly as can be. */
static char *write_plain(const struct tensor *t, struct number_style style, size_t axis, size_t first, char *at)
{
    size_t count = tensor_count(t), rank = style.flat ? 1 : t->rank;
    const size_t *shape = style.flat ? &count : t->shape;
    *at++ = '[';
    for (size_t i = 0; i < shape[axis]; i++) {
        size_t element = first + i * shape_count(rank - axis - 1, shape + axis + 1);
        if (i > 0)
            *at++ = ',';
        if (axis + 1 < rank) {
            at = write_plain(t, style, axis + 1, element, at);
            continue;
        }
        struct writer writer;
        writer_init(&writer, at, 64);
        writer_number(&writer, t->dtype == DTYPE_F32 ? (double)((float *)t->data)[element] : ((double *)t->data)[element],
                      style.digits, style.decimals);
        at = writer.at;
    }
    *at++ = ']';
    return at;
}

static void check(const struct tensor *t, struct number_style style, struct worker_pool *pool, char *plain)
{
    char *end = write_plain(t, style, 0, 0, plain + 1);
    size_t bytes = (size_t)(end - plain) - 1;
    plain[0] = '[';
    *end++ = ',';
    memcpy(end, plain + 1, bytes);
    memcpy(end + bytes, "]", 2);
    for (int i = 0; i < 3; i++) {
        pool->backwards = i == 2;
        char *text = write_twice(t, style, i == 0 ? NULL : &pool->executor);
        assert_string_equal(text, plain);
        free(text);
    }
}

static void chunks_are_the_text_of_one(void **state)
{
    (void)state;
    struct draw draw = {3};
    struct worker_pool pool;
    worker_pool_init(&pool, 3);
    double *wide = malloc((ELEMENTS + 1) * sizeof *wide);
    float *single = malloc((ELEMENTS + 1) * sizeof *single);
    char *plain = malloc((size_t)2 * 40 * (ELEMENTS + 1));
    assert_non_null(wide);
    assert_non_null(single);
    assert_non_null(plain);
    for (size_t i = 0; i <= ELEMENTS; i++)
        single[i] =
            (float)(wide[i] = i % 1000 == 7 ? -INFINITY : draw_normal(&draw) * ldexp(1, (int)draw_integer(&draw, -60, 60)));
    for (size_t s = 0; s < SHAPES; s += shape_step()) {
        struct tensor t32 = tensor_contiguous(single, DTYPE_F32, shapes[s].rank, shapes[s].shape);
        struct tensor t64 = tensor_contiguous(wide, DTYPE_F64, shapes[s].rank, shapes[s].shape);
        check(&t32, (struct number_style){.digits = DTYPE_F32, .decimals = -1}, &pool, plain);
        check(&t64, (struct number_style){.digits = DTYPE_F64, .decimals = -1, .flat = true}, &pool, plain);
        if (s % 2 != 0)
            continue;
        check(&t32, (struct number_style){.digits = DTYPE_F32, .decimals = 3, .flat = true}, &pool, plain);
        check(&t64, (struct number_style){.digits = DTYPE_F32, .decimals = -1, .flat = true}, &pool, plain);
    }
    free(plain);
    free(single);
    free(wide);
}

/* The longest numbers in the worst of shapes fit their buffer: asserted where they are written. */
static void buffers_are_large_enough(void **state)
{
    (void)state;
    struct worker_pool pool;
    worker_pool_init(&pool, 2);
    double *wide = malloc(ELEMENTS * sizeof *wide);
    assert_non_null(wide);
    for (size_t i = 0; i < ELEMENTS; i++)
        wide[i] = -2.2250738585072014e-308;
    for (size_t s = 2; s < SHAPES; s += shape_step()) {
        struct tensor t = tensor_contiguous(wide, DTYPE_F64, shapes[s].rank, shapes[s].shape);
        if (tensor_count(&t) <= ELEMENTS)
            free(write_twice(&t, (struct number_style){.digits = DTYPE_F64, .decimals = -1}, &pool.executor));
    }
    for (size_t i = 0; i < ELEMENTS; i++)
        ((float *)(void *)wide)[i] = -1.17549435e-38F;
    struct tensor t = tensor_contiguous(wide, DTYPE_F32, 4, shapes[7].shape);
    free(write_twice(&t, (struct number_style){.digits = DTYPE_F32, .decimals = -1}, &pool.executor));
    free(write_twice(&t, (struct number_style){.digits = DTYPE_F32, .decimals = 17}, &pool.executor));
    free(wide);
}

static void costs_saturate(void **state)
{
    (void)state;
    const size_t half = SIZE_MAX / 2;
    const struct number_style style = {.digits = DTYPE_F64, .decimals = -1};
    const size_t wide[3] = {half, half, 4}, long_one[1] = {half}, empty[3] = {half, half, 0};
    assert_true(chunks_bytes_max(DTYPE_F64, 3, wide, style) == SIZE_MAX);
    assert_true(chunks_bytes_max(DTYPE_F64, 1, long_one, style) == SIZE_MAX);
    assert_true(chunks_bytes_max(DTYPE_F64, 3, empty, style) == SIZE_MAX);
}

static void writing_stops(void **state)
{
    (void)state;
    double *wide = calloc(ELEMENTS, sizeof *wide);
    assert_non_null(wide);
    const size_t count = ELEMENTS;
    const struct number_style style = {.digits = DTYPE_F64, .decimals = -1};
    struct tensor t = tensor_contiguous(wide, DTYPE_F64, 1, &count);
    size_t buffer_bytes = CHUNKS_FRAME_BYTES + chunks_bytes_max(DTYPE_F64, 1, &count, style);
    char *buffer = malloc(buffer_bytes);
    assert_non_null(buffer);
    for (size_t after = 0; after < 3; after++) {
        struct worker_pool pool;
        struct chunks chunks;
        const struct api_chunk *list;
        size_t list_count;
        struct error err = {0};
        worker_pool_init(&pool, 2);
        pool.stop_after = after;
        chunks_init(&chunks, buffer, buffer_bytes, chunks_count_max(count), &pool.executor);
        chunks_tensor(&chunks, &t, style);
        assert_false(chunks_done(&chunks, &list, &list_count, &err));
        assert_int_equal(err.code, ERROR_DEADLINE);
    }
    free(buffer);
    free(wide);
}

/* A whole request: a large reply as JSON, on threads and without, is the same bytes, and says what a safetensors file says. */
static void large_replies_are_sent_in_chunks(void **state)
{
    (void)state;
    static const char text[] = "{\"seed\":3,\"x\":{\"shape\":[2,300,8]},\"projection\":\"identity\",\"num_heads\":2,"
                               "\"return\":[\"x\",\"weights\",\"scores\",\"output\"]%s}";
    char body[300];
    (void)snprintf(body, sizeof body, text, "");
    struct worker_pool pool;
    worker_pool_init(&pool, 3);
    struct binary_client serial, parallel;
    struct binary_request request = {.protocol = &api_protocol_attention, .body = body, .body_bytes = strlen(body)};
    binary_client_send(&serial, &request);
    binary_client_check_ok(&serial);
    request.executor = &pool.executor;
    binary_client_send(&parallel, &request);
    binary_client_check_ok(&parallel);
    assert_true(parallel.call.reply.chunk_count > 10);
    assert_string_equal(serial.body, parallel.body);
    binary_client_done(&serial);
    binary_client_done(&parallel);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_are_the_text_of_one),
        cmocka_unit_test(buffers_are_large_enough),
        cmocka_unit_test(costs_saturate),
        cmocka_unit_test(writing_stops),
        cmocka_unit_test(large_replies_are_sent_in_chunks),
    };
    return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
