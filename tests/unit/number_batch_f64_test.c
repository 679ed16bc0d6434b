/* Batches of float64: the fast path reads and writes as the functions for one number do, and leaves the rest to them. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/support/draw.h"
#include "tests/support/number_text.h"

#define REAL double
#define TEXT_BYTES_MAX 48

static const char fast_texts[][TEXT_BYTES_MAX] = {
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

static const char other_texts[][TEXT_BYTES_MAX] = {
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

static const char text_to_the_end[] =
    "0.125,-0.25, 0.5, -1.5,3.5, -12.25, -0.01562512345678,-0.0078125, -100.75, -1, -2, -3,4,5, -6,7, -8,9,10";

static double draw_read(struct draw *draw, size_t kind)
{
    (void)kind;
    return draw_normal(draw) * pow(10, (double)draw_size(draw, 0, 9) - 4);
}

static double draw_written(struct draw *draw, bool any_bits)
{
    return any_bits ? number_draw_f64(draw) : draw_normal(draw) * pow(10, (double)draw_size(draw, 0, 20) - 6);
}

static void draw_special(struct draw *draw, double *row)
{
    row[0] = -0.0;
    row[1] = NAN;
    row[2] = -INFINITY;
    row[3] = (double)draw_size(draw, 0, 4000000);
    row[4] = ldexp(1, (int)draw_size(draw, 0, 100) - 50);
    row[5] = (double)draw_size(draw, 1, 1000) / 100;
}

#define NAME(x) x##_f64
#define PARSE strtod
#define NEXT nextafter
#define ONE_BYTES_MAX NUMBER_F64_BYTES_MAX
#define BATCH_BYTES_MAX NUMBER_F64_TEXT_BYTES_MAX
#define ROWS number_cases(40000)
#define SEED 17
#define POWER_MIN (-60)
#define POWER_MAX 59
#define GROUP "number_batch_f64"

#include "tests/unit/number_batch.inc.h"
