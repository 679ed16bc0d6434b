/* Large arrays read by several threads: the numbers, and the errors, of array_read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/array_read_parallel.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/extracted.h"
#include "tests/support/worker_pool.h"

#define TEXT_BYTES_MAX ((size_t)2 << 20)

struct writer {
    char *text, *at;
    struct draw *draw;
    bool bools;
};

static void write_element(struct writer *w)
{
    static const char *const nonfinite[] = {
        "\"NaN\"", "-Infinity", "\"inf\"", "0", "-0.0", "1e-7", "123456789012345678901234567890"};
    double x = draw_normal(w->draw);
    for (size_t blanks = draw_size(w->draw, 0, 9) / 8; blanks > 0; blanks--)
        *w->at++ = ' ';
    if (w->bools)
        w->at += snprintf(w->at, 40, "%s", x < 0 ? "true" : "false");
    else if (draw_chance(w->draw, 0.02))
        w->at += snprintf(w->at, 40, "%s", nonfinite[draw_size(w->draw, 0, sizeof nonfinite / sizeof nonfinite[0] - 1)]);
    else
        w->at += snprintf(w->at, 40, "%.9g", x);
}

static void write_axis(struct writer *w, size_t rank, const size_t *shape)
{
    *w->at++ = '[';
    for (size_t i = 0; i < shape[0]; i++) {
        if (i > 0)
            *w->at++ = ',';
        if (rank > 1)
            write_axis(w, rank - 1, shape + 1);
        else
            write_element(w);
    }
    *w->at++ = ']';
}

/* Both ways to read give the same: elements, or error. */
static void check_same(const char *text, size_t bytes, enum dtype dtype, const struct executor *executor, bool *ret_read)
{
    struct extracted extracted;
    struct error wanted_err, err;
    error_init(&wanted_err);
    error_init(&err);
    *ret_read = false;
    if (extracted_init(&extracted, text, bytes) && extracted.extract.array_count > 0) {
        const struct json_array_text *array = &extracted.extract.arrays[0];
        size_t data_bytes = shape_count(array->rank, array->shape) * dtype_bytes(dtype);
        if (data_bytes <= 8 * TEXT_BYTES_MAX) {
            char *wanted = calloc(1, data_bytes + 1), *data = calloc(1, data_bytes + 1);
            assert_non_null(wanted);
            assert_non_null(data);
            bool wanted_read = array_read(&extracted.extract, array, dtype, "/x", wanted, &wanted_err);
            *ret_read = array_read_parallel(&extracted.extract, array, dtype, "/x", executor, data, &err);
            assert_true(*ret_read == wanted_read);
            assert_memory_equal(&err, &wanted_err, sizeof err);
            if (*ret_read)
                assert_memory_equal(data, wanted, data_bytes);
            free(wanted);
            free(data);
        }
    }
    extracted_done(&extracted);
}

struct shape {
    size_t rank, shape[4];
};
static const struct shape shapes[] = {
    {1, {60000}},     {2, {300, 200}},       {2, {60000, 1}},       {2, {1, 60000}},
    {3, {7, 91, 93}}, {4, {2, 3, 100, 101}}, {4, {60000, 1, 1, 1}},
};

static size_t write_text(struct draw *draw, const struct shape *shape, bool bools, char *text)
{
    struct writer w = {.text = text, .at = text, .draw = draw, .bools = bools};
    write_axis(&w, shape->rank, shape->shape);
    return (size_t)(w.at - text);
}

static void arrays_are_the_same(void **state)
{
    (void)state;
    struct draw draw = {11};
    char *text = malloc(TEXT_BYTES_MAX);
    assert_non_null(text);
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof shapes[0]; i += environment_slow() ? 3 : 1) {
        bool read, bools = i % 2 != 0;
        size_t bytes = write_text(&draw, &shapes[i / 2], bools, text);
        assert_true(bytes > ARRAY_READ_PARALLEL_BYTES_MIN && bytes < TEXT_BYTES_MAX);
        struct worker_pool pool;
        worker_pool_init(&pool, 3);
        for (int backwards = 0; backwards < 2; backwards++) {
            pool.backwards = backwards;
            for (enum dtype dtype = bools ? DTYPE_BOOL : DTYPE_F32; dtype <= (bools ? DTYPE_BOOL : DTYPE_F64); dtype++) {
                check_same(text, bytes, dtype, &pool.executor, &read);
                assert_true(read);
            }
        }
        check_same(text, bytes, bools ? DTYPE_F32 : DTYPE_BOOL, &pool.executor, &read);
        assert_false(read);
        check_same(text, bytes, bools ? DTYPE_BOOL : DTYPE_F64, NULL, &read);
        assert_true(read);
    }
    free(text);
}

/* Bytes changed, put in or taken out: whatever that makes of the array, both say the same. */
static void faults_are_the_same(void **state)
{
    (void)state;
    static const char bytes_put[] = ",,][]{\"x0.e-tN \n";
    struct draw draw = {12};
    char *text = malloc(TEXT_BYTES_MAX), *broken = malloc(TEXT_BYTES_MAX);
    assert_non_null(text);
    assert_non_null(broken);
    struct worker_pool pool;
    worker_pool_init(&pool, 3);
    size_t read_count = 0, count = environment_slow() ? 10 : 150;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = write_text(&draw, &shapes[i % (sizeof shapes / sizeof shapes[0])], false, text);
        memcpy(broken, text, bytes);
        for (size_t errors = draw_size(&draw, 1, 3); errors > 0; errors--) {
            size_t at = draw_size(&draw, 1, bytes - 2);
            char put = bytes_put[draw_size(&draw, 0, sizeof bytes_put - 2)];
            size_t kind = draw_size(&draw, 0, 2), from = kind == 2 ? at + 1 : at, to = kind == 1 ? at + 1 : at;
            memmove(broken + to, broken + from, bytes - from);
            bytes = bytes + to - from;
            if (kind != 2)
                broken[at] = put;
        }
        bool read;
        check_same(broken, bytes, i % 2 ? DTYPE_F32 : DTYPE_F64, &pool.executor, &read);
        read_count += read;
    }
    assert_true(read_count > 0 && read_count < count);
    free(broken);
    free(text);
}

static void strings_may_hold_commas(void **state)
{
    (void)state;
    struct draw draw = {13};
    char *text = malloc(TEXT_BYTES_MAX);
    assert_non_null(text);
    struct worker_pool pool;
    worker_pool_init(&pool, 2);
    size_t bytes = write_text(&draw, &shapes[0], false, text);
    memset(text + bytes / 2, ',', 1000);
    text[bytes / 2] = '"';
    text[bytes / 2 + 999] = '"';
    bool read;
    check_same(text, bytes, DTYPE_F32, &pool.executor, &read);
    assert_false(read);
    free(text);
}

static void reading_stops(void **state)
{
    (void)state;
    struct draw draw = {14};
    struct extracted extracted;
    char *text = malloc(TEXT_BYTES_MAX);
    float *data = malloc(60000 * sizeof *data);
    assert_non_null(text);
    assert_non_null(data);
    assert_true(extracted_init(&extracted, text, write_text(&draw, &shapes[0], false, text)));
    for (size_t after = 0; after < 8; after++) {
        struct worker_pool pool;
        struct error err;
        worker_pool_init(&pool, 2);
        pool.stop_after = after;
        error_init(&err);
        bool read =
            array_read_parallel(&extracted.extract, &extracted.extract.arrays[0], DTYPE_F32, "/x", &pool.executor, data, &err);
        assert_true(read || err.code == ERROR_DEADLINE);
        assert_true(after > 0 || !read);
    }
    extracted_done(&extracted);
    free(data);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_are_the_same),
        cmocka_unit_test(faults_are_the_same),
        cmocka_unit_test(strings_may_hold_commas),
        cmocka_unit_test(reading_stops),
    };
    return cmocka_run_group_tests_name("array_read_parallel", tests, NULL, NULL);
}
