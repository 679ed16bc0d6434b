/* Batches of float64: the fast path reads and writes as the functions for one number do, and leaves the rest to them. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/number/batch.h"
#include "api/number/read.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/number_text.h"

#define ROW 64
#define TEXT_BYTES_MAX 48
#define ROW_BYTES_MAX (ROW * (TEXT_BYTES_MAX + 2))
#define LAST                                                                                                                   \
    "0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25" /* so many that whatever stands before is not near to the end */
#define UNTOUCHED '~'

/* Whether `text` is taken from before other numbers; it is read right then. */
static bool is_fast(const char *text)
{
    char row[ROW_BYTES_MAX];
    const char *at = row;
    double x, expected = strtod(text, NULL);
    int bytes = snprintf(row, sizeof row, "%s,%s", text, LAST);
    size_t count = number_batch_read_f64(&at, row + bytes, 1, &x);
    assert_int_equal(count == 1 ? strlen(text) + 1 : 0, at - row);
    if (count == 1 && memcmp(&x, &expected, sizeof x) != 0)
        fail_msg("%s: %a", text, x);
    return count == 1;
}

static void takes_the_fast_path(void **state)
{
    (void)state;
    static const char texts[][TEXT_BYTES_MAX] = {
        "0",
        "-0",
        "1",
        "-7",
        "0.5",
        " -0.1",
        "12.25",
        "0.30000000000000004",
        "-0.69314718055994529",
        "1.4142135623730951",
        "0.012345678901234568",
        "9007199254740993", /* halfway between two, as the three that follow */
        "9007199254740995",
        "562949953421312.0625",
        "562949953421312.1875",
        "123456789012345.6789",
        "999999999999999.9999",
        "0.000000000000000001",
        "9.999999999999999999",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts && is_fast("0.5"); i++)
        if (!is_fast(texts[i]))
            fail_msg("%s", texts[i]);
}

static void leaves_what_is_not(void **state)
{
    (void)state;
    static const char texts[][TEXT_BYTES_MAX] = {
        "",
        "-",
        "1.",
        ".5",
        "+1",
        "01",
        "-00.5",
        "1.2.3",
        "0x1",
        "1e5",
        "NaN",
        "null",
        "[1",
        "1 ",
        "  1",
        "1;2",
        "/1",
        "0.1x",
        /* too many digits */
        "1.0000000000000000000",
        "12345678901234567",
        "12345678901234567.5",
        "0.1234567890123456789012",
        /* too long to see a comma */
        "0.123456789012345678901234567890123",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (is_fast(texts[i]))
            fail_msg("%s", texts[i]);
}

/* At each distance from the end of memory: nothing is read behind it, and what was read is right. */
static void reads_up_to_the_end(void **state)
{
    (void)state;
    const char text[] =
        "0.125,-0.25, 0.5, -1.5,3.5, -12.25, -0.01562512345678,-0.0078125, -100.75, -1, -2, -3,4,5, -6,7, -8,9,10";
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        char *exact = malloc(bytes ? bytes : 1);
        assert_non_null(exact);
        memcpy(exact, text, bytes);
        double row[ROW];
        const char *at = exact, *own = exact;
        size_t count = number_batch_read_f64(&at, exact + bytes, ROW, row);
        for (size_t i = 0; i < count; i++) {
            double x;
            own = number_read_f64(own + (*own == ' '), exact + bytes, &x) + 1;
            assert_memory_equal(&row[i], &x, sizeof x);
        }
        assert_ptr_equal(at, own);
        free(exact);
    }
}

/* A row of texts as anybody writes numbers; each is read by the C library, too. */
static size_t draw_texts(struct draw *draw, char *row, double expected[ROW])
{
    static const char formats[][8] = {"%.*f", "%.*g", " %.*f", "%.*e"};
    char *end = row;
    for (size_t i = 0; i < ROW; i++) {
        double x = draw_normal(draw) * pow(10, (double)draw_size(draw, 0, 9) - 4);
        const size_t kind = draw_size(draw, 0, 40), format = kind < 20 ? 0 : kind < 38 ? 1 : kind - 37;
        int bytes = snprintf(end, TEXT_BYTES_MAX, formats[format], (int)draw_size(draw, 1, 19), x);
        expected[i] = strtod(end, NULL);
        end += bytes;
        *end++ = ',';
    }
    return (size_t)(end - row) + (size_t)snprintf(end, sizeof LAST, "%s", LAST);
}

static void reads_rows(void **state)
{
    (void)state;
    struct draw draw = {17};
    size_t usual = 0, all = 0;
    for (size_t n = 0; n < number_cases(40000); n++) {
        char text[ROW_BYTES_MAX + sizeof LAST];
        double expected[ROW], row[ROW];
        const char *at = text, *end = text + draw_texts(&draw, text, expected);
        for (size_t i = 0; i < ROW; i++) {
            size_t count = number_batch_read_f64(&at, end, ROW - i, row + i);
            usual += count;
            i += count;
            if (i < ROW)
                at = number_read_f64(at + (*at == ' '), end, &row[i]) + 1;
        }
        all += ROW;
        assert_memory_equal(row, expected, sizeof row);
    }
    assert_true(!is_fast("0.5") || usual > all / 2);
}

/* Compares with the writer of one number. */
static void check_written(const double *x, size_t count)
{
    char text[ROW * (NUMBER_F64_TEXT_BYTES_MAX + 1) + NUMBER_F64_BYTES_MAX + 1], one[NUMBER_F64_BYTES_MAX];
    const size_t touched_bytes_max = count * (NUMBER_F64_TEXT_BYTES_MAX + 1) + NUMBER_F64_BYTES_MAX;
    memset(text, UNTOUCHED, sizeof text);
    const char *end = number_batch_write_f64(x, count, text), *at = text;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = (size_t)(number_write_f64(x[i], one) - one);
        if (*at != ',' || memcmp(at + 1, one, bytes) != 0)
            fail_msg("%a: %.*s, not %.*s", x[i], (int)bytes + 1, at, (int)bytes, one);
        at += 1 + bytes;
    }
    assert_ptr_equal(at, end);
    for (size_t i = touched_bytes_max; i < sizeof text; i++)
        assert_int_equal(text[i], UNTOUCHED);
}

static void writes_rows(void **state)
{
    (void)state;
    struct draw draw = {18};
    check_written(NULL, 0);
    for (size_t n = 0; n < number_cases(40000); n++) {
        double row[ROW];
        for (size_t i = 0; i < ROW; i++)
            row[i] = n % 2 ? number_draw_f64(&draw) : draw_normal(&draw) * pow(10, (double)draw_size(&draw, 0, 20) - 6);
        row[3] = -0.0;
        row[4] = NAN;
        row[5] = -INFINITY;
        row[6] = (double)draw_size(&draw, 0, 4000000);
        row[7] = ldexp(1, (int)draw_size(&draw, 0, 100) - 50);
        row[8] = (double)draw_size(&draw, 1, 1000) / 100;
        check_written(row, draw_size(&draw, 1, ROW));
    }
}

/* The doubles around each power of two and of ten: where exponents and digits change. */
static void writes_around_powers(void **state)
{
    (void)state;
    for (int power = -60; power < 60; power++) {
        double bases[2] = {pow(10, power), ldexp(1, power)}, row[ROW];
        for (size_t k = 0; k < 2; k++) {
            row[0] = bases[k];
            for (size_t i = 0; i < ROW / 2; i++)
                row[0] = nextafter(row[0], -INFINITY);
            for (size_t i = 1; i < ROW; i++)
                row[i] = nextafter(row[i - 1], INFINITY);
            check_written(row, ROW);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_fast_path), cmocka_unit_test(leaves_what_is_not), cmocka_unit_test(reads_up_to_the_end),
        cmocka_unit_test(reads_rows),          cmocka_unit_test(writes_rows),        cmocka_unit_test(writes_around_powers),
    };
    return cmocka_run_group_tests_name("number_batch_f64", tests, NULL, NULL);
}
