/* Batches of float32: the fast path reads and writes as the functions for one number do, and leaves the rest to them. */
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
#define TEXT_BYTES_MAX 40
#define ROW_BYTES_MAX (ROW * (TEXT_BYTES_MAX + 2))
#define LAST                                                                                                                   \
    "0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25" /* so many that whatever stands before is not near to the end */
#define UNTOUCHED '~'

/* Whether `text` is taken from before other numbers; it is read right then. */
static bool is_fast(const char *text, float *ret)
{
    char row[ROW_BYTES_MAX];
    const char *at = row;
    int bytes = snprintf(row, sizeof row, "%s,%s", text, LAST);
    size_t count = number_batch_read_f32(&at, row + bytes, 1, ret);
    assert_int_equal(count == 1 ? strlen(text) + 1 : 0, at - row);
    return count == 1;
}

/* Without vectors, none is. */
static bool any_is_fast(void)
{
    float x;
    return is_fast("0.5", &x);
}

static void takes_the_fast_path(void **state)
{
    (void)state;
    static const char texts[][TEXT_BYTES_MAX] = {
        "0",
        "-0",
        "1",
        "-7",
        "10",
        "0.0",
        "-0.0",
        "0.5",
        "-1.5",
        "12.25",
        "1234567.5",
        " 0.1",
        " -0.1",
        "0.69314718",
        "0.6931471824645996",
        "-0.69314718246459961",
        "1.4142135381698608",
        "0.0019531250000001",
        "0.0123456789012345678",
        "123456789012345.6",
        "1234567890123456",
        "9999999999999999",
        "0.1000000000000000000000000000",
        "-12345.678901234567890123456",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts && any_is_fast(); i++) {
        float x, expected = strtof(texts[i], NULL);
        if (!is_fast(texts[i], &x) || memcmp(&x, &expected, sizeof x) != 0)
            fail_msg("%s: %a", texts[i], (double)x);
    }
}

static void leaves_what_is_not(void **state)
{
    (void)state;
    static const char texts[][TEXT_BYTES_MAX] = {
        "",
        "-",
        ".",
        "-.",
        "1.",
        "-1.",
        ".5",
        "-.5",
        "+1",
        "--1",
        "- 1",
        "01",
        "-01",
        "00",
        "01.5",
        "00.5",
        "1.2.3",
        "1..2",
        "0x1",
        "1e5",
        "1E5",
        "1.5e-3",
        "NaN",
        "Infinity",
        "\"NaN\"",
        "null",
        "true",
        "[1",
        "1]",
        "1 ",
        "1\t",
        "  1",
        "\t1",
        "1 2",
        "1;2",
        "1:",
        "/1",
        "1/2",
        "12345678901234567",
        "12345678901234567.5",
        "123456789012345678901234567890",
        "0.1x",
        "0.1234567890123456x",
        /* halfway between two, and what cannot be told from it */
        "16777217",
        "16777217.0",
        "-16777219",
        "1.00000005960464477539062500",
        "1.00000005960464470",
        "1.0000000596046448",
        /* too many digits of a number too small */
        "0.00195312499999999",
        /* too long to see a comma */
        "0.123456789012345678901234567890",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        float x;
        if (is_fast(texts[i], &x))
            fail_msg("%s: %a", texts[i], (double)x);
    }
}

/* At each distance from the end of memory: nothing is read behind it, and what was read is right. */
static void reads_up_to_the_end(void **state)
{
    (void)state;
    const char text[] = "0.125,-0.25, 0.5, -1.5, -2.5,3.5, -12.25, -0.015625,-0.0078125, -100.75, -1, -2, -3,4,5, -6,7, "
                        "-8,9,10, -11, -12,13, -14,15,16";
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        char *exact = malloc(bytes ? bytes : 1);
        assert_non_null(exact);
        memcpy(exact, text, bytes);
        float row[ROW];
        const char *at = exact, *own = exact;
        size_t count = number_batch_read_f32(&at, exact + bytes, ROW, row);
        for (size_t i = 0; i < count; i++) {
            float x;
            own = number_read_f32(own + (*own == ' '), exact + bytes, &x) + 1;
            assert_memory_equal(&row[i], &x, sizeof x);
        }
        assert_ptr_equal(at, own);
        free(exact);
    }
}

/* A row of texts as anybody writes numbers; each is read by the C library, too. */
static size_t draw_texts(struct draw *draw, char *row, float expected[ROW])
{
    static const char formats[][8] = {"%.*f", "%.*g", " %.*f", "%.*e"};
    char *end = row;
    for (size_t i = 0; i < ROW; i++) {
        double x = draw_normal(draw) * pow(10, (double)draw_size(draw, 0, 9) - 5);
        size_t kind = draw_size(draw, 0, 40);
        if (kind % 4 == 0) { /* about halfway between two */
            float below = (float)x;
            x = ((double)below + (double)nextafterf(below, INFINITY)) / 2;
        }
        int bytes = snprintf(end, TEXT_BYTES_MAX,
                             formats[kind < 20   ? 0
                                     : kind < 38 ? 1
                                                 : kind - 37],
                             (int)draw_size(draw, 1, 19), x);
        expected[i] = strtof(end, NULL);
        end += bytes;
        *end++ = ',';
    }
    return (size_t)(end - row) + (size_t)snprintf(end, sizeof LAST, "%s", LAST);
}

static void reads_rows(void **state)
{
    (void)state;
    struct draw draw = {7};
    size_t usual = 0, all = 0;
    for (size_t n = 0; n < number_cases(40000); n++) {
        char text[ROW_BYTES_MAX + sizeof LAST];
        float expected[ROW], row[ROW];
        const char *at = text, *end = text + draw_texts(&draw, text, expected);
        for (size_t i = 0; i < ROW; i++) {
            size_t count = number_batch_read_f32(&at, end, ROW - i, row + i);
            usual += count;
            i += count;
            if (i < ROW)
                at = number_read_f32(at + (*at == ' '), end, &row[i]) + 1;
        }
        all += ROW;
        assert_memory_equal(row, expected, sizeof row);
    }
    assert_true(!any_is_fast() || usual > all / 2);
}

/* Compares with the writer of one number. */
static void check_written(const float *x, size_t count)
{
    char text[ROW * (NUMBER_F32_TEXT_BYTES_MAX + 1) + NUMBER_F32_BYTES_MAX + 1], one[NUMBER_F32_BYTES_MAX];
    const size_t touched_bytes_max = count * (NUMBER_F32_TEXT_BYTES_MAX + 1) + NUMBER_F32_BYTES_MAX;
    memset(text, UNTOUCHED, sizeof text);
    const char *end = number_batch_write_f32(x, count, text), *at = text;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = (size_t)(number_write_f32(x[i], one) - one);
        if (*at != ',' || memcmp(at + 1, one, bytes) != 0)
            fail_msg("%a: %.*s, not %.*s", (double)x[i], (int)bytes + 1, at, (int)bytes, one);
        at += 1 + bytes;
    }
    assert_ptr_equal(at, end);
    for (size_t i = touched_bytes_max; i < sizeof text; i++)
        assert_int_equal(text[i], UNTOUCHED);
}

static void writes_rows(void **state)
{
    (void)state;
    struct draw draw = {8};
    check_written(NULL, 0);
    for (size_t n = 0; n < number_cases(40000); n++) {
        float row[ROW];
        for (size_t i = 0; i < ROW; i++)
            row[i] =
                n % 2 ? number_draw_f32(&draw) : (float)(draw_normal(&draw) * pow(10, (double)draw_size(&draw, 0, 12) - 6));
        row[3] = -0.0F;
        row[4] = NAN;
        row[5] = -INFINITY;
        row[6] = (float)draw_size(&draw, 0, 4000000);
        row[7] = ldexpf(1, (int)draw_size(&draw, 0, 60) - 30);
        check_written(row, draw_size(&draw, 1, ROW));
    }
}

/* The floats around each power of two and of ten: where exponents and digits change. */
static void writes_around_powers(void **state)
{
    (void)state;
    for (int power = -48; power < 40; power++) {
        float bases[2] = {(float)pow(10, power), ldexpf(1, power)}, row[ROW];
        for (size_t k = 0; k < 2; k++) {
            row[0] = bases[k];
            for (size_t i = 0; i < ROW / 2; i++)
                row[0] = nextafterf(row[0], -INFINITY);
            for (size_t i = 1; i < ROW; i++)
                row[i] = nextafterf(row[i - 1], INFINITY);
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
    return cmocka_run_group_tests_name("number_batch", tests, NULL, NULL);
}
