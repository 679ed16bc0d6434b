/* Batches of float32: the fast path reads and writes as the functions for one number do, and leaves the rest to them. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "tests/support/draw.h"
#include "tests/support/number_text.h"

#define REAL float
#define TEXT_BYTES_MAX 40

static const char fast_texts[][TEXT_BYTES_MAX] = {
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

static const char other_texts[][TEXT_BYTES_MAX] = {
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

static const char text_to_the_end[] =
    "0.125,-0.25, 0.5, -1.5, -2.5,3.5, -12.25, -0.015625,-0.0078125, -100.75, -1, -2, -3,4,5, -6,7, "
    "-8,9,10, -11, -12,13, -14,15,16";

/* A number as anybody computes it; of four one is about halfway between two float32. */
static double draw_read(struct draw *draw, size_t kind)
{
    double x = draw_normal(draw) * pow(10, (double)draw_size(draw, 0, 9) - 5);
    float below = (float)x;
    return kind % 4 == 0 ? ((double)below + (double)nextafterf(below, INFINITY)) / 2 : x;
}

static float draw_written(struct draw *draw, bool any_bits)
{
    return any_bits ? number_draw_f32(draw) : (float)(draw_normal(draw) * pow(10, (double)draw_size(draw, 0, 12) - 6));
}

/* What else is in each row that is written: from number 3 on. */
static void draw_special(struct draw *draw, float *row)
{
    row[0] = -0.0F;
    row[1] = NAN;
    row[2] = -INFINITY;
    row[3] = (float)draw_size(draw, 0, 4000000);
    row[4] = ldexpf(1, (int)draw_size(draw, 0, 60) - 30);
}

#define NAME(x) x##_f32
#define PARSE strtof
#define NEXT nextafterf
#define ONE_BYTES_MAX NUMBER_F32_BYTES_MAX
#define BATCH_BYTES_MAX NUMBER_F32_TEXT_BYTES_MAX
#define ROWS number_cases(40000)
#define SEED 7
#define POWER_MIN (-48)
#define POWER_MAX 39
#define GROUP "number_batch"

#include "tests/unit/number_batch.inc.h"
