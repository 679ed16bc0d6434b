/* Reading decimal numbers, against the C library's exact conversions. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/number/batch.h"
#include "api/number/read.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/number_text.h"

#define TEXT_BYTES_MAX 1200
#define PADDING ", 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]" /* longer than any reader looks ahead */

static void check_reads(const char *text, size_t bytes, size_t length, float f32, double f64)
{
    float read_f32 = -7;
    double read_f64 = -7;
    const char *after_f32 = number_read_f32(text, text + bytes, &read_f32);
    const char *after_f64 = number_read_f64(text, text + bytes, &read_f64);
    const char *after = length ? text + length : NULL;
    if (after_f32 != after || after_f64 != after)
        fail_msg("%.*s: read %td and %td bytes, not %zu", (int)bytes, text, after_f32 ? after_f32 - text : 0,
                 after_f64 ? after_f64 - text : 0, length);
    if (length > 0 && (memcmp(&read_f32, &f32, sizeof f32) != 0 || memcmp(&read_f64, &f64, sizeof f64) != 0))
        fail_msg("%.*s: read %a and %a, not %a and %a", (int)bytes, text, (double)read_f32, read_f64, (double)f32, f64);
}

/* The reader of rows takes the number or leaves it. */
static void check_row_reads(const char *text, const char *end, size_t length, float f32)
{
    const char *at = text;
    float read_f32 = -7;
    if (*text == ' ')
        return; /* it may pass over that */
    if (number_batch_read_f32(&at, end, 1, &read_f32) == 0)
        assert_ptr_equal(at, text);
    else if (length == 0 || text[length] != ',' || at != text + length + 1 || memcmp(&read_f32, &f32, sizeof f32) != 0)
        fail_msg("%.*s: read %td bytes as %a, not %zu as %a", (int)(end - text), text, at - text, (double)read_f32, length,
                 (double)f32);
}

/* Whatever the text is, it reads as the C library reads its longest prefix that is a number: at the end of memory, and
 * with more text behind it. */
static void check_text_bytes(const char *text, size_t bytes)
{
    char number[TEXT_BYTES_MAX], padded[TEXT_BYTES_MAX + sizeof PADDING];
    size_t length = number_bytes(text, bytes);
    memcpy(number, text, length);
    number[length] = '\0';
    float f32 = strtof(number, NULL);
    double f64 = strtod(number, NULL);

    char *exact = malloc(bytes ? bytes : 1);
    assert_non_null(exact);
    memcpy(exact, text, bytes);
    check_reads(exact, bytes, length, f32, f64);
    free(exact);
    memcpy(padded, text, bytes);
    memcpy(padded + bytes, PADDING, sizeof PADDING);
    check_reads(padded, bytes + sizeof PADDING - 1, length, f32, f64);
    check_row_reads(padded, padded + bytes + sizeof PADDING - 1, length, f32);
}

static void check_text(const char *text)
{
    check_text_bytes(text, strlen(text));
}

static void reads_the_longest_number(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } texts[] = {
        {"", 0},      {"-", 0},     {"+1", 0},     {".5", 0},      {"-.5", 0},   {"e5", 0},     {"--1", 0},    {" 1", 0},
        {"NaN", 0},   {"-Inf", 0},  {"/", 0},      {":", 0},       {"\xb1", 0},  {"-x1.5", 0},  {"01", 1},     {"-01", 2},
        {"00.5", 1},  {"1.", 1},    {"-1.", 2},    {"1.e5", 1},    {"1.x", 1},   {"1e", 1},     {"1e+", 1},    {"1E-", 1},
        {"1e+-5", 1}, {"1ex", 1},   {"0x10", 1},   {"1.5.5", 3},   {"1e5.5", 3}, {"1-", 1},     {"1,5", 1},    {"12a", 2},
        {"0.5f", 3},  {"0.25e", 4}, {"0.25e-", 4}, {"0.25e-1", 7}, {"1 5", 1},   {"1_000", 1},  {"1\xb9", 1},  {"0.5\xb9", 3},
        {"0", 1},     {"-0", 2},    {"-0.0", 4},   {"0e0", 3},     {"1e05", 4},  {"1E+005", 6}, {"1e-000", 6}, {"-1.5E3", 6},
        {"0.1/", 3},  {"0.1:", 3},  {"0.12:", 4},  {"-0.12/", 5},  {"-0.,", 2},  {"-0.e", 2},   {"0.e1", 1},   {"9.9e,", 3},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_int_equal(number_bytes(texts[i].text, strlen(texts[i].text)), texts[i].length);
        check_text(texts[i].text);
    }
}

/* Every text that a number can be cut to. */
static void reads_up_to_the_end(void **state)
{
    (void)state;
    static const char *const texts[] = {"-123.4567890123456789012345678e-12", "0.91222410", "-0.000000000000000000001E+22",
                                        "123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t bytes = 0; bytes <= strlen(texts[i]); bytes++)
            check_text_bytes(texts[i], bytes);
}

static void reads_what_is_hard(void **state)
{
    (void)state;
    static const char *const texts[] = {
        /* Largest, halfway to infinity and just under, infinity. */
        "3.4028235e38",
        "340282356779733661637539395458142568447",
        "340282356779733661637539395458142568448",
        "-1e39",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.797693134862315807e308",
        "1.797693134862315808e308",
        "-1e309",
        /* Smallest, halfway to zero and around, zero. */
        "1.1754943508222875e-38",
        "1.1754942807573643e-38",
        "1.401298464324817e-45",
        "7.006492321624085e-46",
        "7.006492321624086e-46",
        "-7e-46",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "-2e-324",
        "-1e-400",
        /* Ties within 19 digits, up and down, and those next to them. */
        "16777217",
        "16777219",
        "16777217.0",
        "8388608.5",
        "8388609.5",
        "16777216.9999999999",
        "1.00000005960464477539",
        "9007199254740993",
        "9007199254740995",
        "9007199254740993.0",
        "4503599627370496.5",
        "4503599627370497.5",
        "9007199254740992.9",
        "9007199254740993.00000000000000000000000001",
        "9007199254740992.99999999999999999999999999",
        "18446744073709551615",
        "18446744073709551616",
        "1844674407370955161e1",
        "7450580596923828125e-27",
        "8.5e22",
        "89255e-22",
        "1e23",
        "2.2250738585072012e-308",
        "6.631236846766476e-316",
        "9999999999999999999e-1",
        /* Exponents that no integer holds, and what they do not matter for. */
        "1e99999999999999999999",
        "-1e-99999999999999999999",
        "0e99999999999999999999",
        "-0.0e-99999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        check_text(texts[i]);
}

/* The point halfway between two neighbours, what is just above and just below it, and its first digits. */
static void check_halfway(long double halfway, struct draw *draw)
{
    char text[TEXT_BYTES_MAX];
    (void)snprintf(text, sizeof text, "%.800Le", halfway);
    check_text(text);
    char *last = strchr(text, 'e') - 1;
    *last = '1';
    check_text(text);
    *last = '0';
    while (*last == '0')
        *last-- = '9';
    last -= *last == '.';
    --*last;
    check_text(text);
    (void)snprintf(text, sizeof text, "%.*Le", (int)draw_size(draw, 15, 22), halfway);
    check_text(text);
    (void)snprintf(text, sizeof text, "%.*Lf", (int)draw_size(draw, 0, 30), fmodl(halfway, 1e20L));
    check_text(text);
}

static void reads_halfway_points(void **state)
{
    (void)state;
    struct draw draw = {1};
    check_halfway((long double)DBL_MAX + 0x1p970L, &draw);
    for (size_t i = 0; i < number_cases(4000); i++) {
        double x = fabs(number_draw_f64(&draw)), next = nextafter(x, INFINITY);
        float y = fabsf(number_draw_f32(&draw)), next_y = nextafterf(y, INFINITY);
        if (isfinite(next))
            check_halfway((long double)x / 2 + (long double)next / 2, &draw);
        if (isfinite(next_y))
            check_halfway((long double)y / 2 + (long double)next_y / 2, &draw);
    }
}

/* Texts of up to 40 digits, some with a character that does not belong. */
static void reads_random_texts(void **state)
{
    (void)state;
    struct draw draw = {2};
    for (size_t i = 0; i < number_cases(1000000); i++) {
        char text[100], *p = text;
        size_t whole = draw_size(&draw, 1, draw_chance(&draw, 0.7) ? 1 : 20);
        size_t fraction = draw_size(&draw, 0, draw_chance(&draw, 0.7) ? 10 : 20);
        double zeros = draw_chance(&draw, 0.2) ? 0.8 : 0.1;
        if (draw_chance(&draw, 0.5))
            *p++ = '-';
        for (size_t k = 0; k < whole + fraction; k++) {
            if (k == whole)
                *p++ = '.';
            *p++ = draw_chance(&draw, zeros) ? '0' : (char)draw_size(&draw, '0', '9');
        }
        *p = '\0';
        if (draw_chance(&draw, 0.3)) {
            int exponent = (int)draw_integer(&draw, -60, draw_chance(&draw, 0.1) ? 400 : 40);
            p += snprintf(p, 8, "%c%d", draw_chance(&draw, 0.5) ? 'e' : 'E', exponent);
        }
        if (draw_chance(&draw, 0.1))
            text[draw_size(&draw, 0, (size_t)(p - text) - 1)] = "0.eE+-/:, x"[draw_size(&draw, 0, 10)];
        check_text_bytes(text, (size_t)(p - text));
    }
}

/* Every finite value that the writer of C spells out in full. */
static void reads_random_values(void **state)
{
    (void)state;
    struct draw draw = {3};
    for (size_t i = 0; i < number_cases(2000000); i++) {
        char text[40];
        float x = number_draw_f32(&draw), read_x;
        double y = number_draw_f64(&draw), read_y;
        int bytes = snprintf(text, sizeof text, "%.8e", (double)x);
        assert_ptr_equal(number_read_f32(text, text + bytes, &read_x), text + bytes);
        assert_memory_equal(&read_x, &x, sizeof x);
        bytes = snprintf(text, sizeof text, "%.16e", y);
        assert_ptr_equal(number_read_f64(text, text + bytes, &read_y), text + bytes);
        assert_memory_equal(&read_y, &y, sizeof y);
    }
}

static char *put_many(char *p, char c, size_t count)
{
    memset(p, c, count);
    return p + count;
}

/* Ten million characters take the time to look at each a few times: more than linear would not end. */
static void reads_endless_texts(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        char many;
        const char *after;
        bool shift; /* how many were there goes behind `after` */
        double expected;
    } texts[] = {
        {"", '9', "", false, INFINITY},
        {"-0.", '0', "1", false, -0.0},
        {"1", '0', "e-", true, 1},
        {"0.", '0', "25e", true, 0.25},
        {"-1e", '9', "", false, -INFINITY},
        {"1e-", '9', "", false, 0},
        {"2e", '0', "2", false, 200},
        {"2E-", '0', "", false, 2},
        {"9007199254740993.", '0', "", false, 9007199254740992.0},
        {"9007199254740993.", '0', "1", false, 9007199254740994.0},
        {"0.5000000000000000", '1', "", false, 0.5000000000000000111},
    };
    const size_t count = number_cases(10000000);
    char *text = malloc(count + 100);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *many = text + snprintf(text, 50, "%s", texts[i].before);
        char *end = put_many(many, texts[i].many, count);
        end += snprintf(end, 50, "%s", texts[i].after);
        if (texts[i].shift)
            end += snprintf(end, 50, "%zu", count);
        float f32, expected_f32 = (float)texts[i].expected;
        double f64;
        assert_ptr_equal(number_read_f32(text, end, &f32), end);
        assert_ptr_equal(number_read_f64(text, end, &f64), end);
        assert_memory_equal(&f32, &expected_f32, sizeof f32);
        assert_memory_equal(&f64, &texts[i].expected, sizeof f64);
    }
    free(text);
}

/* ---- Locale ---- */

/* LC_NUMERIC of a locale with a decimal comma, in the file format of the C library: hardly a machine has one installed. */
static const char comma_numeric[] = "\x14\x11\x03\x20"
                                    "\6\0\0\0"
                                    "\x20\0\0\0"
                                    "\x22\0\0\0"
                                    "\x23\0\0\0"
                                    "\x24\0\0\0"
                                    "\x28\0\0\0"
                                    "\x2c\0\0\0"
                                    ",\0"
                                    "\0"
                                    "\0"
                                    ","
                                    "\0\0\0"
                                    "\0\0\0\0"
                                    "UTF-8";

static bool set_comma_locale(void)
{
    char root[] = "/tmp/attnd-locale-XXXXXX", folder[64], path[80];
    assert_non_null(mkdtemp(root));
    (void)snprintf(folder, sizeof folder, "%s/comma", root);
    (void)snprintf(path, sizeof path, "%s/LC_NUMERIC", folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(comma_numeric, 1, sizeof comma_numeric, file), sizeof comma_numeric);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(setenv("LOCPATH", root, 1), 0);
    bool set = setlocale(LC_NUMERIC, "comma") != NULL;
    (void)unsetenv("LOCPATH");
    (void)unlink(path);
    (void)rmdir(folder);
    (void)rmdir(root);
    return set;
}

/* Where the C library reads and writes a comma, we do not: also where the digits go through the C library. */
static void reads_a_point_in_any_locale(void **state)
{
    (void)state;
    static const char texts[][60] = {"0.5", "12.5e-1", "1.00000005960464477539062500000000000000001",
                                     "1.000000000000000111022302462515654042363166809082031249"};
    static const struct {
        float f32;
        double f64;
    } expected[] = {{0.5F, 0.5}, {1.25F, 1.25}, {0x1.000002p0F, 0x1.000001p0}, {1, 1}};
    assert_true(set_comma_locale());
    bool has_comma = strtod("1,5", NULL) == 1.5, right = true;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *end = texts[i] + strlen(texts[i]);
        float f32;
        double f64;
        right &= number_read_f32(texts[i], end, &f32) == end && f32 == expected[i].f32;
        right &= number_read_f64(texts[i], end, &f64) == end && f64 == expected[i].f64;
    }
    assert_non_null(setlocale(LC_NUMERIC, "C"));
    assert_true(has_comma);
    assert_true(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_longest_number), cmocka_unit_test(reads_up_to_the_end),
        cmocka_unit_test(reads_what_is_hard),       cmocka_unit_test(reads_halfway_points),
        cmocka_unit_test(reads_random_texts),       cmocka_unit_test(reads_random_values),
        cmocka_unit_test(reads_endless_texts),      cmocka_unit_test(reads_a_point_in_any_locale),
    };
    return cmocka_run_group_tests_name("number_read", tests, NULL, NULL);
}
