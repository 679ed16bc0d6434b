/* The 8- and 16-bit number formats against their definitions: every value of 16 bits both ways, rounding from double, packing in place. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "api/number/element_type.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

/* A format of 16 bits: its fraction's bits, and its smallest normal exponent. The largest is 1 - smallest. */
struct format {
    const char *name;
    int fraction_bits, exponent_min;
    uint16_t (*from)(double);
    double (*to)(uint16_t);
};
static const struct format formats[] = {
    {"F16", 10, -14, element_f16_from, element_f16_to},
    {"BF16", 7, -126, element_bf16_from, element_bf16_to},
};
#define FORMATS (sizeof formats / sizeof formats[0])

/* The value of some bits, by the formats' definition. */
static double value_of(const struct format *format, uint16_t bits)
{
    int fraction = bits & ((1 << format->fraction_bits) - 1);
    int exponent = (bits & 0x7fff) >> format->fraction_bits;
    int exponent_end = (1 << (15 - format->fraction_bits)) - 1;
    double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == exponent_end)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, format->exponent_min - format->fraction_bits);
    return sign * ldexp((1 << format->fraction_bits) + fraction, format->exponent_min + exponent - 1 - format->fraction_bits);
}

/* x rounded to the format: to a multiple of its step there, ties to even, which rint does exactly. */
static double rounded(const struct format *format, double x)
{
    if (x == 0 || !isfinite(x))
        return x;
    int exponent = ilogb(x) < format->exponent_min ? format->exponent_min : ilogb(x);
    int step = exponent - format->fraction_bits;
    double result = copysign(ldexp(rint(ldexp(fabs(x), -step)), step), x);
    return fabs(result) >= ldexp(1, 2 - format->exponent_min) ? copysign(INFINITY, x) : result;
}

static void check_rounding(const struct format *format, double x)
{
    double got = format->to(format->from(x)), want = rounded(format, x);
    if (isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want))
        return;
    fail_msg("%s of %a is %a, where %a is expected", format->name, x, got, want);
}

static void every_value_goes_both_ways(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMATS; f++) {
        for (uint32_t bits = 0; bits < 65536; bits++) {
            double want = value_of(&formats[f], (uint16_t)bits), got = formats[f].to((uint16_t)bits);
            if (isnan(want)) {
                assert_true(isnan(got) && isnan(formats[f].to(formats[f].from(got))));
                continue;
            }
            if (got != want || signbit(got) != signbit(want) || formats[f].from(want) != bits)
                fail_msg("%s %04x: %a, where %a is expected; back to %04x", formats[f].name, bits, got, want,
                         formats[f].from(want));
        }
    }
}

/* Between each two neighbours: the tie, and the doubles next to it, where rounding to float32 first would make a tie of none. */
static void ties_go_to_even_and_only_ties(void **state)
{
    (void)state;
    for (size_t f = 0; f < FORMATS; f++) {
        for (uint32_t bits = 0; bits < 0x8000; bits++) {
            double low = formats[f].to((uint16_t)bits), high = formats[f].to((uint16_t)(bits + 1));
            if (!isfinite(low))
                break;
            if (!isfinite(high)) /* where the next one would be, were there one */
                high = ldexp(1, 2 - formats[f].exponent_min);
            double tie = low + (high - low) / 2;
            const double points[] = {tie, nextafter(tie, 0), nextafter(tie, INFINITY), low + (high - low) / 3, low, high};
            for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
                check_rounding(&formats[f], points[i]);
                check_rounding(&formats[f], -points[i]);
            }
        }
    }
}

static void any_double_rounds(void **state)
{
    (void)state;
    static const double edges[] = {0,        -0.0,     INFINITY, -INFINITY, NAN,     DBL_MAX,   -DBL_MAX,   DBL_MIN,
                                   0x1p-25,  0x1p-24,  65504,    65519.99,  65520,   FLT_MAX,   0x1.ffp127, 0x1p128,
                                   0x1p-133, 0x1p-134, 0x1p-135, 5e-324,    FLT_MIN, -0x1p-149, 0x1p-150,   1e39};
    struct draw draw = {5};
    for (size_t f = 0; f < FORMATS; f++) {
        for (size_t i = 0; i < sizeof edges / sizeof edges[0]; i++)
            check_rounding(&formats[f], edges[i]);
        for (size_t i = 0; i < 400000; i++) {
            double x;
            uint64_t bits = draw_u64(&draw);
            if (i % 2 == 0) /* all of double's; else what the formats hold */
                memcpy(&x, &bits, sizeof x);
            else
                x = ldexp(draw_normal(&draw), (int)draw_integer(&draw, -30, 18));
            if (!isnan(x))
                check_rounding(&formats[f], x);
        }
    }
}

/* Packing writes over what it reads; what comes out must read back as the rounded numbers. */
static void tensors_are_packed_in_place(void **state)
{
    (void)state;
    enum { COUNT = 1001 };
    static const enum element_type element_types[] = {ELEMENT_F64, ELEMENT_F32, ELEMENT_F16, ELEMENT_BF16};
    double wide[COUNT], packed[COUNT], back[COUNT];
    float single[COUNT];
    const size_t shape[2] = {7, 143};
    struct draw draw = {7};
    for (size_t w = 0; w < sizeof element_types / sizeof element_types[0]; w++) {
        for (size_t i = 0; i < COUNT; i++)
            single[i] = (float)(wide[i] = draw_normal(&draw) * ldexp(1, (int)draw_integer(&draw, -20, 20)));
        memcpy(packed, wide, sizeof wide);
        struct tensor t = tensor_contiguous(packed, DTYPE_F64, 2, shape), read = tensor_contiguous(back, DTYPE_F64, 2, shape);
        struct tensor want = tensor_contiguous(wide, DTYPE_F64, 2, shape);
        assert_int_equal(element_pack(element_types[w], &t), COUNT * element_bytes(element_types[w]));
        assert_int_equal(element_read(element_types[w], packed, &read), COUNT);
        element_round(element_types[w], &want);
        assert_memory_equal(back, wide, sizeof wide);
        if (element_types[w] == ELEMENT_F64)
            continue;
        struct tensor t32 = tensor_contiguous(single, DTYPE_F32, 2, shape);
        for (size_t i = 0; i < COUNT; i++)
            wide[i] = (double)single[i];
        element_round(element_types[w], &want);
        assert_int_equal(element_pack(element_types[w], &t32), COUNT * element_bytes(element_types[w]));
        assert_int_equal(element_read(element_types[w], single, &read), COUNT);
        assert_memory_equal(back, wide, sizeof wide);
    }
}

static void bytes_are_read_at_any_alignment(void **state)
{
    (void)state;
    static const struct {
        enum element_type element_type;
        unsigned char bytes[8];
        double value;
    } cases[] = {
        {ELEMENT_F64, {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, -1.5},
        {ELEMENT_F32, {0, 0, 0xc0, 0xbf}, -1.5},
        {ELEMENT_F16, {0, 0xbe}, -1.5},
        {ELEMENT_BF16, {0xc0, 0xbf}, -1.5},
        {ELEMENT_I64, {0xfe, 255, 255, 255, 255, 255, 255, 255}, -2},
        {ELEMENT_I64, {0, 0, 0, 0, 0, 0, 0x20, 0}, 0x1p53},
        {ELEMENT_I32, {0xfe, 255, 255, 255}, -2},
        {ELEMENT_I32, {0, 0, 0, 0x40}, 0x1p30},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        for (size_t offset = 0; offset < 8; offset++) {
            unsigned char buffer[16] = {0};
            double wide[1];
            float single[1];
            const size_t one = 1;
            struct tensor t64 = tensor_contiguous(wide, DTYPE_F64, 1, &one),
                          t32 = tensor_contiguous(single, DTYPE_F32, 1, &one);
            memcpy(buffer + offset, cases[c].bytes, element_bytes(cases[c].element_type));
            assert_int_equal(element_read(cases[c].element_type, buffer + offset, &t64), 1);
            assert_int_equal(element_read(cases[c].element_type, buffer + offset, &t32), 1);
            assert_true(wide[0] == cases[c].value && single[0] == (float)cases[c].value);
        }
    }
    unsigned char bools[5] = {0, 1, 2, 255, 0}, read[5];
    const size_t five = 5;
    struct tensor t = tensor_contiguous(read, DTYPE_BOOL, 1, &five);
    assert_int_equal(element_read(ELEMENT_BOOL, bools, &t), 5);
    assert_memory_equal(read, "\0\1\1\1\0", 5);
}

/* Half a step past a format's largest number is the first that overflows; infinities and NaN never do. */
static void finite_numbers_that_overflow_are_found(void **state)
{
    (void)state;
    enum { COUNT = 10007 };
    static double wide[COUNT];
    static float single[COUNT];
    const size_t count = COUNT;
    struct tensor t64 = tensor_contiguous(wide, DTYPE_F64, 1, &count), t32 = tensor_contiguous(single, DTYPE_F32, 1, &count);
    static const struct {
        enum element_type element_type;
        double first;
    } edges[] = {{ELEMENT_F32, 0x1.ffffffp127}, {ELEMENT_F16, 65520}, {ELEMENT_BF16, 0x1.ffp127}};
    for (size_t i = 0; i < COUNT; i++)
        wide[i] = i % 3 == 0 ? -INFINITY : i % 3 == 1 ? NAN : INFINITY;
    assert_int_equal(element_read(ELEMENT_F64, wide, &t32), COUNT);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(isnan(wide[i]) ? isnan(single[i]) : (double)single[i] == wide[i]);
    for (size_t e = 0; e < sizeof edges / sizeof edges[0]; e++) {
        for (size_t place = 0; place < COUNT; place += 1 + place / 3) {
            double kept = wide[place];
            wide[place] = nextafter(-edges[e].first, 0);
            assert_int_equal(element_overflow(edges[e].element_type, &t64), COUNT);
            if (edges[e].element_type == ELEMENT_F32)
                assert_int_equal(element_read(ELEMENT_F64, wide, &t32), COUNT);
            wide[place] = place % 2 == 0 ? edges[e].first : -DBL_MAX;
            assert_int_equal(element_overflow(edges[e].element_type, &t64), place);
            assert_int_equal(element_overflow(ELEMENT_F64, &t64), COUNT);
            bool past_float = fabs(wide[place]) >= edges[0].first;
            assert_int_equal(element_read(ELEMENT_F64, wide, &t32), past_float ? place : COUNT);
            assert_true(element_number(ELEMENT_F64, wide, place) == wide[place]);
            wide[place] = kept;
        }
    }
    single[7] = FLT_MAX;
    assert_int_equal(element_overflow(ELEMENT_F16, &t32), 7);
    assert_int_equal(element_overflow(ELEMENT_F32, &t32), COUNT);
}

static void dtypes_have_names(void **state)
{
    (void)state;
    assert_string_equal(element_dtype_name(DTYPE_F32), "float32");
    assert_string_equal(element_dtype_name(DTYPE_F64), "float64");
    assert_string_equal(element_dtype_name(DTYPE_BOOL), "bool");
}

/* Each naming has a name for each element type, and ends in NULL. */
static void every_type_has_names(void **state)
{
    (void)state;
    for (size_t naming = 0; naming < ELEMENT_NAMINGS; naming++) {
        for (size_t type = 0; type < ELEMENT_TYPES; type++)
            assert_non_null(element_names[naming][type]);
        assert_null(element_names[naming][ELEMENT_TYPES]);
    }
    assert_string_equal(element_names[ELEMENT_NAMES_SAFETENSORS][ELEMENT_BF16], "BF16");
    assert_string_equal(element_names[ELEMENT_NAMES_KSERVE][ELEMENT_F16], "FP16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_goes_both_ways),
        cmocka_unit_test(ties_go_to_even_and_only_ties),
        cmocka_unit_test(any_double_rounds),
        cmocka_unit_test(tensors_are_packed_in_place),
        cmocka_unit_test(bytes_are_read_at_any_alignment),
        cmocka_unit_test(finite_numbers_that_overflow_are_found),
        cmocka_unit_test(dtypes_have_names),
        cmocka_unit_test(every_type_has_names),
    };
    return cmocka_run_group_tests_name("element_type", tests, NULL, NULL);
}
