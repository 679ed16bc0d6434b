/* Writing floats: the shortest text that reads back, the nearest of those, in the promised form; and rounded. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/number/read.h"
#include "api/number/write.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/number_text.h"

#define PRINTF_BYTES_MAX 400
#define UNTOUCHED '~'

/* Either type's writer behind one interface: a float32 is held as the double of the same value. */
struct writer {
    const char *name;
    size_t touched_bytes_max, text_bytes_max, rounded_bytes_max;
    int digits_max;
    char *(*write)(double x, char *out);
    char *(*write_rounded)(double x, int decimals, char *out);
    double (*read)(const char *text);
};

static char *write_f32(double x, char *out)
{
    return number_write_f32((float)x, out);
}

static char *write_f32_rounded(double x, int decimals, char *out)
{
    return number_write_f32_rounded((float)x, decimals, out);
}

static double read_f32(const char *text)
{
    return (double)strtof(text, NULL);
}

static double read_f64(const char *text)
{
    return strtod(text, NULL);
}

static const struct writer f32_writer = {"float32", NUMBER_F32_BYTES_MAX, 19, 22, 9, write_f32, write_f32_rounded, read_f32};
static const struct writer f64_writer = {"float64",        NUMBER_F64_BYTES_MAX,     24,      30, 17,
                                         number_write_f64, number_write_f64_rounded, read_f64};

/* Makes the text a string. Fails where bytes beyond the promise were touched. */
static size_t finish(const struct writer *writer, char *text, const char *end, size_t bytes_max)
{
    size_t bytes = (size_t)(end - text);
    if (bytes > bytes_max || text[writer->touched_bytes_max] != UNTOUCHED)
        fail_msg("%s: %zu bytes: %.*s", writer->name, bytes, (int)bytes, text);
    text[bytes] = '\0';
    return bytes;
}

static size_t write_one(const struct writer *writer, double x, char text[NUMBER_F64_BYTES_MAX + 1])
{
    memset(text, UNTOUCHED, NUMBER_F64_BYTES_MAX + 1);
    return finish(writer, text, writer->write(x, text), writer->text_bytes_max);
}

/* ---- Shortest ---- */

static void writes_the_promised_form(void **state)
{
    (void)state;
    static const struct {
        double x;
        const char *text;
    } f64[] =
        {
            {0.0, "0.0"},
            {-0.0, "-0.0"},
            {1.0, "1.0"},
            {-1.0, "-1.0"},
            {10.0, "10.0"},
            {0.5, "0.5"},
            {-0.25, "-0.25"},
            {NAN, "\"NaN\""},
            {-NAN, "\"NaN\""},
            {INFINITY, "\"Infinity\""},
            {-INFINITY, "\"-Infinity\""},
            {1e-5, "0.00001"},
            {1.5e-5, "0.000015"},
            {9.9e-6, "9.9e-6"},
            {1e-7, "1e-7"},
            {1.5e-7, "1.5e-7"},
            {-1e-10, "-1e-10"},
            {1e15, "1000000000000000.0"},
            {9007199254740993.0, "9007199254740992.0"},
            {1e16, "1e16"},
            {1.5e16, "1.5e16"},
            {1e22, "1e22"},
            {1e23, "1e23"},
            {-1.25e100, "-1.25e100"},
            {123456789012345680.0, "1.2345678901234568e17"},
            {12345.678, "12345.678"},
            {12345678.9, "12345678.9"},
            {123456789.5, "123456789.5"},
            {0.1 + 0.2, "0.30000000000000004"},
            {DBL_MAX, "1.7976931348623157e308"},
            {DBL_MIN, "2.2250738585072014e-308"},
            {5e-324, "5e-324"},
            {-1.5e-323, "-1.5e-323"},
            {0x1p-44, "5.684341886080802e-14"},
            {0x1p-1022, "2.2250738585072014e-308"},
            {9.5367431640625e-7, "9.5367431640625e-7"},
            {1.2345678901234567e-5, "0.000012345678901234568"},
            {2e-44, "2e-44"},
            {0x1p1023, "8.98846567431158e307"},
        },
      f32[] = {
          {0.0, "0.0"},
          {-0.0, "-0.0"},
          {1.0, "1.0"},
          {-1.0, "-1.0"},
          {0.66976154, "0.66976154"},
          {-0.91222410, "-0.9122241"},
          {1e-5, "0.00001"},
          {1e-7, "1e-7"},
          {1.5e-7, "1.5e-7"},
          {1e15, "1000000000000000.0"},
          {1e16, "1e16"},
          {1.2345679e15, "1234568000000000.0"},
          {16777216.0, "16777216.0"},
          {123456789.0, "123456790.0"},
          {12345.678, "12345.678"},
          {0x1.fffffep127, "3.4028235e38"},
          {0x1p-126, "1.1754944e-38"},
          {0x1p-149, "1e-45"},
          {0x1p-148, "3e-45"},
          {1.25e-5, "0.0000125"},
          {0x1p-96, "1.2621775e-29"},
          {NAN, "\"NaN\""},
          {-INFINITY, "\"-Infinity\""},
          {33554432.0, "33554432.0"},
          {0.3, "0.3"},
      };
    char text[NUMBER_F64_BYTES_MAX + 1];
    for (size_t i = 0; i < sizeof f64 / sizeof *f64; i++) {
        (void)write_one(&f64_writer, f64[i].x, text);
        assert_string_equal(text, f64[i].text);
    }
    for (size_t i = 0; i < sizeof f32 / sizeof *f32; i++) {
        (void)write_one(&f32_writer, f32[i].x, text);
        assert_string_equal(text, f32[i].text);
    }
}

static void writes_what_reads_back(void **state)
{
    (void)state;
    struct draw draw = {1};
    for (size_t i = 0; i < number_cases(2000000); i++) {
        char text[NUMBER_F64_BYTES_MAX + 1];
        float x = number_draw_f32(&draw), read_x;
        double y = number_draw_f64(&draw), read_y;
        size_t bytes = write_one(&f32_writer, (double)x, text);
        if (strtof(text, NULL) != x || number_read_f32(text, text + bytes, &read_x) != text + bytes || read_x != x)
            fail_msg("%a: %s", (double)x, text);
        bytes = write_one(&f64_writer, y, text);
        if (strtod(text, NULL) != y || number_read_f64(text, text + bytes, &read_y) != text + bytes || read_y != y)
            fail_msg("%a: %s", y, text);
    }
}

/* True where the number of `count` digits nearest to x, or one of the two next to it, reads back as x. */
static bool reads_back_with(const struct writer *writer, double x, size_t count)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.*e", (int)count - 1, x);
    struct number_digits digits;
    number_digits_init(&digits, text, strlen(text));
    char padded[40];
    (void)snprintf(padded, sizeof padded, "%.*s%.*s", (int)digits.count, digits.digits, (int)(count - digits.count),
                   "00000000000000000");
    long long nearest = strtoll(padded, NULL, 10);
    for (long long candidate = nearest - 1; candidate <= nearest + 1; candidate++) {
        (void)snprintf(text, sizeof text, "%s%llde%d", x < 0 ? "-" : "", candidate, digits.exponent - (int)count + 1);
        if (writer->read(text) == x)
            return true;
    }
    return false;
}

/* x != 0. */
static void check_shortest(const struct writer *writer, double x)
{
    char text[NUMBER_F64_BYTES_MAX + 1], expected[PRINTF_BYTES_MAX];
    struct number_digits digits, nearest;
    size_t bytes = write_one(writer, x, text);
    number_digits_init(&digits, text, bytes);
    (void)number_digits_text(&digits, expected);
    if (strcmp(text, expected) != 0)
        fail_msg("%s %a: %s has not the form %s", writer->name, x, text, expected);
    if (digits.count > 1 && reads_back_with(writer, x, digits.count - 1))
        fail_msg("%s %a: %s is not the shortest", writer->name, x, text);

    char printed[PRINTF_BYTES_MAX];
    (void)snprintf(printed, sizeof printed, "%.*e", (int)digits.count - 1, x);
    number_digits_init(&nearest, printed, strlen(printed));
    (void)number_digits_text(&nearest, expected);
    if (writer->read(printed) == x && strcmp(text, expected) != 0)
        fail_msg("%s %a: %s is not the nearest, %s is", writer->name, x, text, expected);
}

static void writes_the_shortest(void **state)
{
    (void)state;
    struct draw draw = {2};
    for (size_t i = 0; i < number_cases(150000); i++) {
        check_shortest(&f32_writer, (double)number_draw_f32(&draw));
        check_shortest(&f64_writer, number_draw_f64(&draw));
        check_shortest(&f32_writer, (double)(float)draw_normal(&draw));
        check_shortest(&f64_writer, (double)draw_integer(&draw, 1, 1 << 20) / (double)draw_integer(&draw, 1, 1000));
    }
}

/* Where the gap below is half the gap above, and their neighbours; and all powers of ten. */
static void writes_powers(void **state)
{
    (void)state;
    for (int exponent = -1074; exponent < 1024; exponent++) {
        double x = ldexp(1, exponent);
        check_shortest(&f64_writer, x);
        check_shortest(&f64_writer, nextafter(x, INFINITY));
        if (exponent > -1074)
            check_shortest(&f64_writer, nextafter(x, 0));
        if (exponent < -149 || exponent > 127)
            continue;
        check_shortest(&f32_writer, x);
        check_shortest(&f32_writer, (double)nextafterf((float)x, INFINITY));
        if (exponent > -149)
            check_shortest(&f32_writer, (double)nextafterf((float)x, 0));
    }
    for (int exponent = -323; exponent <= 308; exponent++) {
        char text[8];
        (void)snprintf(text, sizeof text, "1e%d", exponent);
        check_shortest(&f64_writer, strtod(text, NULL));
        if (exponent >= -45 && exponent <= 38)
            check_shortest(&f32_writer, (double)strtof(text, NULL));
    }
}

/* ---- Rounded ---- */

static void check_rounded(const struct writer *writer, double x, int decimals)
{
    char text[NUMBER_F64_BYTES_MAX + 1], printed[PRINTF_BYTES_MAX], expected[PRINTF_BYTES_MAX];
    struct number_digits digits;
    if (fabs(x) < 1e16) {
        int bytes = snprintf(printed, sizeof printed, "%.*f", decimals, x);
        number_digits_init(&digits, printed, (size_t)bytes);
        digits.negative &= digits.count > 0;
        (void)number_digits_text(&digits, expected);
    } else {
        *writer->write(x, expected) = '\0';
    }
    memset(text, UNTOUCHED, sizeof text);
    (void)finish(writer, text, writer->write_rounded(x, decimals, text), writer->rounded_bytes_max);
    if (strcmp(text, expected) != 0)
        fail_msg("%s %a to %d decimals: %s, not %s", writer->name, x, decimals, text, expected);
}

static void rounds_exactly(void **state)
{
    (void)state;
    struct draw draw = {3};
    for (size_t i = 0; i < number_cases(400000); i++) {
        int decimals = (int)draw_size(&draw, 0, NUMBER_DECIMALS_MAX);
        double y =
            draw_chance(&draw, 0.1) ? number_draw_f64(&draw) : ldexp(draw_normal(&draw), (int)draw_integer(&draw, -70, 54));
        check_rounded(&f64_writer, y, decimals);
        check_rounded(&f32_writer, (double)(float)y, decimals);
    }
}

/* k / 2^n: halfway at n - 1 decimals. */
static void rounds_ties_to_even(void **state)
{
    (void)state;
    for (int shift = 0; shift <= NUMBER_DECIMALS_MAX + 1; shift++) {
        for (int k = -40; k <= 40; k++) {
            for (int decimals = 0; decimals <= NUMBER_DECIMALS_MAX; decimals++) {
                double x = ldexp(k, -shift);
                check_rounded(&f64_writer, x, decimals);
                check_rounded(&f32_writer, x, decimals);
                check_rounded(&f64_writer, nextafter(x, INFINITY), decimals);
                check_rounded(&f64_writer, nextafter(x, -INFINITY), decimals);
            }
        }
    }
}

/* The longest texts, and the edges of both forms. */
static void rounds_at_the_edges(void **state)
{
    (void)state;
    static const double edges[] = {1e16,   1e15,     0x1p53,          0x1p52, 0x1p46,   0x1p43,   0x1p36,  0x1p35,
                                   0x1p24, 0x1p22,   0x1p14,          0x1p6,  1e-5,     1e-7,     1e-17,   0.5,
                                   9.9999, 99999999, 999999999999999, 5e-324, 0x1p-127, 0x1p-128, 0x1p-149};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        for (int decimals = 0; decimals <= NUMBER_DECIMALS_MAX; decimals++) {
            float x = (float)edges[i];
            check_rounded(&f64_writer, -edges[i], decimals);
            check_rounded(&f64_writer, -nextafter(edges[i], 0), decimals);
            check_rounded(&f64_writer, -nextafter(edges[i], INFINITY), decimals);
            check_rounded(&f32_writer, (double)-x, decimals);
            check_rounded(&f32_writer, (double)-nextafterf(x, 0), decimals);
            check_rounded(&f32_writer, (double)-nextafterf(x, INFINITY), decimals);
        }
    }
}

static void rounds_to_the_promised_form(void **state)
{
    (void)state;
    static const struct {
        double x;
        int decimals;
        const char *text;
    } cases[] = {
        {0.25, 4, "0.25"},
        {1, 4, "1.0"},
        {-0.00001, 4, "0.0"},
        {-0.0, 4, "0.0"},
        {0.5, 0, "0.0"},
        {1.5, 0, "2.0"},
        {2.5, 0, "2.0"},
        {0.125, 2, "0.12"},
        {0.375, 2, "0.38"},
        {-0.996, 2, "-1.0"},
        {99999.9999, 2, "100000.0"},
        {1e22, 4, "1e22"},
        {1.6e-7, 7, "2e-7"},
        {0.00001, 5, "0.00001"},
        {1.5e-9, 10, "1.5e-9"},
        {13.302385, 4, "13.3024"},
        {NAN, 3, "\"NaN\""},
        {INFINITY, 0, "\"Infinity\""},
        {-INFINITY, 17, "\"-Infinity\""},
        {0.1, 17, "0.10000000000000001"},
        {5e-324, 17, "0.0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[NUMBER_F64_BYTES_MAX + 1];
        *number_write_f64_rounded(cases[i].x, cases[i].decimals, text) = '\0';
        assert_string_equal(text, cases[i].text);
    }
    char text[NUMBER_F32_BYTES_MAX + 1];
    *number_write_f32_rounded(0.1F, 17, text) = '\0';
    assert_string_equal(text, "0.10000000149011612");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_the_promised_form), cmocka_unit_test(writes_what_reads_back),
        cmocka_unit_test(writes_the_shortest),      cmocka_unit_test(writes_powers),
        cmocka_unit_test(rounds_exactly),           cmocka_unit_test(rounds_ties_to_even),
        cmocka_unit_test(rounds_at_the_edges),      cmocka_unit_test(rounds_to_the_promised_form),
    };
    return cmocka_run_group_tests_name("number_write", tests, NULL, NULL);
}
