/* number_batch.inc.h: the tests of batches of one type, and main. Included once a program, with these defined:
 *
 *   REAL, NAME(x), PARSE, NEXT               the type; x as batch.h, read.h and write.h name it; strtod and nextafter of it
 *   ONE_BYTES_MAX, BATCH_BYTES_MAX           write.h's limits for it
 *   fast_texts, other_texts                  what takes the fast path, and what does not
 *   text_to_the_end                          numbers that are read from memory that ends at any of its bytes
 *   draw_read, draw_written, draw_special    numbers for a row that is read, and for one that is written
 *   ROWS, SEED, POWER_MIN, POWER_MAX, GROUP  how many rows, their seed; powers of 10 and 2; the tests' name */

#include <stdio.h>
#include <string.h>

#include "api/number/batch.h"
#include "api/number/read.h"
#include "tests/support/check.h"

#define ROW 64
#define ROW_BYTES_MAX (ROW * (TEXT_BYTES_MAX + 2))
#define LAST                                                                                                                   \
    "0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25,0.25" /* so many that whatever stands before is not near to the end */
#define UNTOUCHED '~'

/* Whether `text` is taken from before other numbers; it is read right then. */
static bool is_fast(const char *text)
{
    char row[ROW_BYTES_MAX];
    const char *at = row;
    int bytes = snprintf(row, sizeof row, "%s,%s", text, LAST);
    REAL x, expected = PARSE(text, NULL);
    size_t count = NAME(number_batch_read)(&at, row + bytes, 1, &x);
    assert_int_equal(count == 1 ? strlen(text) + 1 : 0, at - row);
    if (count == 1 && memcmp(&x, &expected, sizeof x) != 0)
        fail_msg("%s: %a", text, (double)x);
    return count == 1;
}

/* Without vectors, none is. */
static bool any_is_fast(void)
{
    return is_fast("0.5");
}

static void takes_the_fast_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fast_texts / sizeof *fast_texts && any_is_fast(); i++)
        if (!is_fast(fast_texts[i]))
            fail_msg("%s", fast_texts[i]);
}

static void leaves_what_is_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof other_texts / sizeof *other_texts; i++)
        if (is_fast(other_texts[i]))
            fail_msg("%s", other_texts[i]);
}

/* At each distance from the end of memory: nothing is read behind it, and what was read is right. */
static void reads_up_to_the_end(void **state)
{
    (void)state;
    for (size_t bytes = 0; bytes < sizeof text_to_the_end; bytes++) {
        char *exact = malloc(bytes ? bytes : 1);
        assert_non_null(exact);
        memcpy(exact, text_to_the_end, bytes);
        REAL row[ROW];
        const char *at = exact, *own = exact;
        size_t count = NAME(number_batch_read)(&at, exact + bytes, ROW, row);
        for (size_t i = 0; i < count; i++) {
            REAL x;
            own = NAME(number_read)(own + (*own == ' '), exact + bytes, &x) + 1;
            assert_memory_equal(&row[i], &x, sizeof x);
        }
        assert_ptr_equal(at, own);
        free(exact);
    }
}

/* A row of texts as anybody writes numbers; each is read by the C library, too. */
static size_t draw_texts(struct draw *draw, char *row, REAL expected[ROW])
{
    static const char formats[][8] = {"%.*f", "%.*g", " %.*f", "%.*e"};
    char *end = row;
    for (size_t i = 0; i < ROW; i++) {
        const size_t kind = draw_size(draw, 0, 40), format = kind < 20 ? 0 : kind < 38 ? 1 : kind - 37;
        const double x = draw_read(draw, kind);
        int bytes = snprintf(end, TEXT_BYTES_MAX, formats[format], (int)draw_size(draw, 1, 19), x);
        expected[i] = PARSE(end, NULL);
        end += bytes;
        *end++ = ',';
    }
    return (size_t)(end - row) + (size_t)snprintf(end, sizeof LAST, "%s", LAST);
}

static void reads_rows(void **state)
{
    (void)state;
    struct draw draw = {SEED};
    const size_t rows = ROWS;
    size_t fast = 0;
    for (size_t n = 0; n < rows; n++) {
        char text[ROW_BYTES_MAX + sizeof LAST];
        REAL expected[ROW], row[ROW];
        const char *at = text, *end = text + draw_texts(&draw, text, expected);
        for (size_t i = 0; i < ROW; i++) {
            size_t count = NAME(number_batch_read)(&at, end, ROW - i, row + i);
            fast += count;
            i += count;
            if (i < ROW)
                at = NAME(number_read)(at + (*at == ' '), end, &row[i]) + 1;
        }
        assert_memory_equal(row, expected, sizeof row);
    }
    assert_true(!any_is_fast() || fast > rows * ROW / 2);
}

/* Compares with the writer of one number. */
static void check_written(const REAL *x, size_t count)
{
    char text[ROW * (BATCH_BYTES_MAX + 1) + ONE_BYTES_MAX + 1], one[ONE_BYTES_MAX];
    const size_t touched_bytes_max = count * (BATCH_BYTES_MAX + 1) + ONE_BYTES_MAX;
    memset(text, UNTOUCHED, sizeof text);
    const char *end = NAME(number_batch_write)(x, count, text), *at = text;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = (size_t)(NAME(number_write)(x[i], one) - one);
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
    struct draw draw = {SEED + 1};
    check_written(NULL, 0);
    for (size_t n = 0; n < ROWS; n++) {
        REAL row[ROW];
        for (size_t i = 0; i < ROW; i++)
            row[i] = draw_written(&draw, n % 2 != 0);
        draw_special(&draw, row + 3);
        check_written(row, draw_size(&draw, 1, ROW));
    }
}

/* The numbers around each power of two and of ten: where exponents and digits change. */
static void writes_around_powers(void **state)
{
    (void)state;
    for (int power = POWER_MIN; power <= POWER_MAX; power++) {
        REAL bases[2] = {(REAL)pow(10, power), (REAL)ldexp(1, power)}, row[ROW];
        for (size_t k = 0; k < 2; k++) {
            row[0] = bases[k];
            for (size_t i = 0; i < ROW / 2; i++)
                row[0] = NEXT(row[0], -(REAL)INFINITY);
            for (size_t i = 1; i < ROW; i++)
                row[i] = NEXT(row[i - 1], (REAL)INFINITY);
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
    return cmocka_run_group_tests_name(GROUP, tests, NULL, NULL);
}
