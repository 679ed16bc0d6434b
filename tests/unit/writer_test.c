/* JSON text: strings escaped, integers, tensors nested and flat, and buffers that are large enough for the longest numbers. */
#include <float.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/tensor_write.h"
#include "api/json/writer.h"
#include "api/number/write.h"
#include "core/size.h"
#include "tests/support/check.h"
#include "tests/support/number_text.h"
#include "tests/support/view.h"

/* ---- strings ---- */

static void check_string(const char *string, const char *expected)
{
    char buffer[2000];
    struct writer writer;
    writer_init(&writer, buffer, sizeof buffer);
    writer_string(&writer, string);
    size_t bytes = (size_t)(writer.at - writer.start);
    if (bytes != strlen(expected) || memcmp(buffer, expected, bytes) != 0)
        fail_msg("%.*s, should be %s", (int)bytes, buffer, expected);
    assert_true(bytes <= WRITER_STRING_GROWTH * strlen(string) + 2);
    json_t *json = json_loadb(buffer, bytes, JSON_DECODE_ANY, NULL);
    assert_true(json_is_string(json));
    json_decref(json);
}

static void test_strings(void **state)
{
    (void)state;
    check_string("", "\"\"");
    check_string("plain / text", "\"plain / text\"");
    check_string("\"\\", "\"\\\"\\\\\"");
    check_string("\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\"");
    check_string("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    check_string("\xef\xbf\xbf\xf4\x8f\xbf\xbf", "\"\xef\xbf\xbf\xf4\x8f\xbf\xbf\"");
}

/* Each byte that begins no character becomes U+FFFD; the ones after it are looked at anew. */
static void test_strings_that_are_no_utf8(void **state)
{
    (void)state;
    check_string("a\xff", "\"a\\ufffd\"");
    check_string("\x80z", "\"\\ufffdz\"");
    check_string("\xc3", "\"\\ufffd\"");
    check_string("\xc3z", "\"\\ufffdz\"");
    check_string("\xc0\xaf", "\"\\ufffd\\ufffd\"");
    check_string("\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    check_string("\xe2\x82", "\"\\ufffd\\ufffd\"");
    check_string("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");
    check_string("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    check_string("\xf0\x9f\x98", "\"\\ufffd\\ufffd\\ufffd\"");
    check_string("\xe2\x82\"", "\"\\ufffd\\ufffd\\\"\"");
    for (int byte = 1; byte < 256; byte++) {
        char buffer[40];
        struct writer writer;
        writer_init(&writer, buffer, sizeof buffer);
        writer_string(&writer, (const char[]){(char)byte, (char)byte, '\0'});
        json_t *json = json_loadb(buffer, (size_t)(writer.at - writer.start), JSON_DECODE_ANY, NULL);
        assert_true(json_is_string(json));
        json_decref(json);
    }
}

/* ---- tensors ---- */

/* The text of all elements, in a buffer of just the size that was computed; its length in *ret_bytes. New. */
static char *written(const struct tensor *t, bool flat, int decimals, size_t *ret_bytes)
{
    const struct number_style style = {.digits = t->dtype, .flat = flat, .decimals = decimals};
    size_t count = tensor_count(t);
    size_t buffer_bytes = tensor_write_offset(t->dtype, t->rank, t->shape, style, count) + TENSOR_WRITE_SLACK_BYTES;
    char *buffer = test_alloc(buffer_bytes, 1);
    *ret_bytes = (size_t)(tensor_write(t, style, 0, count, buffer) - buffer);
    assert_true(*ret_bytes <= buffer_bytes);
    return buffer;
}

static void check_tensor(const struct tensor *t, bool flat, int decimals, const char *expected)
{
    size_t bytes;
    char *buffer = written(t, flat, decimals, &bytes);
    if (bytes != strlen(expected) || memcmp(buffer, expected, bytes) != 0)
        fail_msg("%.*s, should be %s", (int)bytes, buffer, expected);
    free(buffer);
}

static void test_tensors(void **state)
{
    (void)state;
    float f32[] = {1, -0.0F, 0.1F, 1e-7F, 16777216, (float)NAN};
    double f64[] = {1, -0.0, 0.1, 1e-7, 1e300, -(double)INFINITY};
    struct tensor t = tensor_contiguous(f32, DTYPE_F32, 2, (const size_t[]){2, 3});
    check_tensor(&t, false, -1, "[[1.0,-0.0,0.1],[1e-7,16777216.0,\"NaN\"]]");
    check_tensor(&t, true, -1, "[1.0,-0.0,0.1,1e-7,16777216.0,\"NaN\"]");
    check_tensor(&t, false, 1, "[[1.0,0.0,0.1],[0.0,16777216.0,\"NaN\"]]");
    t = tensor_contiguous(f64, DTYPE_F64, 3, (const size_t[]){1, 3, 2});
    check_tensor(&t, false, -1, "[[[1.0,-0.0],[0.1,1e-7],[1e300,\"-Infinity\"]]]");
    t = tensor_contiguous(f64, DTYPE_F64, 1, (const size_t[]){1});
    check_tensor(&t, false, -1, "[1.0]");
    int64_t i64[] = {0, -1, INT64_MAX, INT64_MIN};
    t = tensor_contiguous(i64, DTYPE_I64, 2, (const size_t[]){2, 2});
    check_tensor(&t, false, -1, "[[0,-1],[9223372036854775807,-9223372036854775808]]");
    check_tensor(&t, true, 2, "[0,-1,9223372036854775807,-9223372036854775808]");
}

static void test_empty_tensors(void **state)
{
    static const struct {
        size_t rank, shape[4];
        const char *nested;
    } empty[] = {
        {1, {0}, "[]"},
        {2, {0, 3}, "[]"},
        {2, {2, 0}, "[[],[]]"},
        {3, {2, 0, 3}, "[[],[]]"},
        {3, {1, 2, 0}, "[[[],[]]]"},
        {4, {1, 1, 0, 2147483647}, "[[[]]]"},
    };
    (void)state;
    float unused = 0;
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct tensor t = tensor_contiguous(&unused, DTYPE_F32, empty[i].rank, empty[i].shape);
        check_tensor(&t, false, -1, empty[i].nested);
        check_tensor(&t, true, -1, "[]");
    }
}

/* ---- bounds ---- */

/* The longest texts there are: of each length of digits and each exponent, with a sign. */
static double long_number(enum dtype dtype, size_t k)
{
    static const double digits[] = {1.2345678901234567, 9.8765432109876543, 1.1754943508222875, 1.7976931348623157,
                                    3.4028234663852886};
    int power_max = dtype == DTYPE_F32 ? 38 : 307, power_min = dtype == DTYPE_F32 ? -44 : -322;
    int power = power_min + (int)(k / 5 % (size_t)(power_max - power_min + 1));
    double x = -digits[k % 5] * pow(10, power);
    return dtype == DTYPE_F32 ? fmax(x, -(double)FLT_MAX) : x;
}

static void test_longest_numbers(void **state)
{
    (void)state;
    struct draw draw = {1};
    char text[NUMBER_F64_BYTES_MAX];
    size_t longest_f32 = 0, longest_f64 = 0;
    for (size_t k = 0; k < number_cases(3000000); k++) {
        float f32 = k < 5000 ? (float)long_number(DTYPE_F32, k) : number_draw_f32(&draw);
        double f64 = k < 5000 ? long_number(DTYPE_F64, k) : number_draw_f64(&draw);
        longest_f32 = size_max(longest_f32, (size_t)(number_write_f32(f32, text) - text));
        longest_f64 = size_max(longest_f64, (size_t)(number_write_f64(f64, text) - text));
    }
    assert_int_equal(longest_f32, NUMBER_F32_TEXT_BYTES_MAX);
    assert_int_equal(longest_f64, NUMBER_F64_TEXT_BYTES_MAX);
}

/* Tensors of nothing but one number, in a buffer of just the size that was computed. */
static void check_buffer(enum dtype dtype, double x, size_t rank, const size_t *shape)
{
    struct view_pool pool = {0};
    struct tensor t = view_contiguous(&pool, dtype, rank, shape);
    size_t count = tensor_count(&t);
    double *values = test_alloc(count, sizeof *values);
    for (size_t k = 0; k < count; k++)
        values[k] = x;
    view_store(&t, values);
    for (int decimals = -1; decimals <= NUMBER_DECIMALS_MAX; decimals++) {
        for (int flat = 0; flat <= 1; flat++) {
            size_t bytes;
            char *buffer = written(&t, flat != 0, decimals, &bytes);
            json_t *json = json_loadb(buffer, bytes, JSON_DECODE_ANY, NULL);
            assert_true(json_is_array(json));
            json_decref(json);
            free(buffer);
        }
    }
    free(values);
    view_pool_done(&pool);
}

static void test_rooms(void **state)
{
    static const double numbers[] = {
        -1.2345679e15, -3.4028234663852886e38, -1.1754944e-38, -0.000012345679, -1e-45, NAN, -INFINITY, 0, 0.1};
    static const double wide[] = {-2.2250738585072014e-308, -1.7976931348623157e308, -0.000012345678901234567,
                                  -1234567890123456.7};
    static const size_t shapes[][4] = {{1, 1, 1, 1}, {5, 4, 3, 1}, {1, 2, 30, 7}, {40, 1, 1, 1}, {2, 3, 0, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t rank = 1; rank <= 4; rank++) {
            for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
                check_buffer(DTYPE_F32, numbers[k], rank, shapes[i]);
                check_buffer(DTYPE_F64, numbers[k], rank, shapes[i]);
            }
            for (size_t k = 0; k < sizeof wide / sizeof *wide; k++)
                check_buffer(DTYPE_F64, wide[k], rank, shapes[i]);
        }
    }
}

static void test_bounds_do_not_wrap(void **state)
{
    (void)state;
    const size_t longest = 2147483647;
    const size_t shape[4] = {longest, longest, longest, longest}, hollow[4] = {longest, longest, longest, 0};
    const struct number_style nested = {.digits = DTYPE_F32, .decimals = -1},
                              flat = {.digits = DTYPE_F32, .flat = true, .decimals = 17};
    assert_true(tensor_write_offset(DTYPE_F32, 4, shape, nested, SIZE_MAX) == SIZE_MAX);
    assert_true(tensor_write_offset(DTYPE_F64, 4, shape, flat, SIZE_MAX) == SIZE_MAX);
    assert_true(tensor_write_offset(DTYPE_F32, 4, hollow, nested, 0) == SIZE_MAX);
    assert_true(tensor_write_offset(DTYPE_F32, 4, hollow, flat, 0) < 100);
}

/* ---- integers, and thousandths ---- */

static void check_written(const struct writer *writer, const char *expected)
{
    size_t bytes = (size_t)(writer->at - writer->start);
    if (bytes != strlen(expected) || memcmp(writer->start, expected, bytes) != 0)
        fail_msg("%.*s, should be %s", (int)bytes, writer->start, expected);
}

static void check_integer(int64_t value)
{
    char buffer[21], expected[32];
    struct writer writer;
    (void)snprintf(expected, sizeof expected, "%" PRId64, value);
    writer_init(&writer, buffer, sizeof buffer);
    writer_signed(&writer, value);
    check_written(&writer, expected);
    (void)snprintf(expected, sizeof expected, "%" PRIu64, (uint64_t)value);
    writer_init(&writer, buffer, sizeof buffer);
    writer_unsigned(&writer, (uint64_t)value);
    check_written(&writer, expected);
}

static void test_integers(void **state)
{
    (void)state;
    check_integer(0);
    check_integer(INT64_MAX);
    check_integer(INT64_MIN);
    for (int64_t power = 1; power <= INT64_C(1000000000000000000) / 10; power *= 10) {
        check_integer(power);
        check_integer(power - 1);
        check_integer(-power);
    }
}

static void check_thousandths(double value, const char *expected)
{
    char buffer[24];
    struct writer writer;
    writer_init(&writer, buffer, sizeof buffer);
    writer_thousandths(&writer, value);
    check_written(&writer, expected);
}

static void test_thousandths(void **state)
{
    (void)state;
    check_thousandths(0, "0.000");
    check_thousandths(0.0004, "0.000");
    check_thousandths(0.0006, "0.001");
    check_thousandths(0.9996, "1.000");
    check_thousandths(12.34567, "12.346");
    check_thousandths(100, "100.000");
    check_thousandths(-1, "0.000");
    check_thousandths((double)NAN, "0.000");
    check_thousandths((double)INFINITY, "9000000000000000.000");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_strings_that_are_no_utf8),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_empty_tensors),
        cmocka_unit_test(test_longest_numbers),
        cmocka_unit_test(test_rooms),
        cmocka_unit_test(test_bounds_do_not_wrap),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_thousandths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
