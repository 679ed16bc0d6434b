#include "api/number/element_type.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/round_to_odd.h"
#include "core/size.h"

#define BLOCK_NUMBERS ((size_t)4096) /* converted before one look at whether any overflowed */

/* clang-format off */
const char *const element_names[ELEMENT_NAMINGS][ELEMENT_TYPES + 1] = {
    /* as enum element_type: F64        F32        F16        BF16        BOOL    I64      I32 */
    [ELEMENT_NAMES_PLAIN] = {"float64", "float32", "float16", "bfloat16", "bool", "int64", "int32", NULL},
    [ELEMENT_NAMES_SAFETENSORS] = {"F64", "F32",   "F16",     "BF16",     "BOOL", "I64",   "I32",   NULL},
    [ELEMENT_NAMES_KSERVE] = {"FP64",   "FP32",    "FP16",    "BF16",     "BOOL", "INT64", "INT32", NULL},
};
/* clang-format on */

size_t element_bytes(enum element_type element_type)
{
    static const size_t bytes[ELEMENT_TYPES] = {
        [ELEMENT_F32] = 4,  [ELEMENT_F64] = 8, [ELEMENT_F16] = 2, [ELEMENT_BF16] = 2,
        [ELEMENT_BOOL] = 1, [ELEMENT_I64] = 8, [ELEMENT_I32] = 4,
    };
    return bytes[element_type];
}

bool element_is_float(enum element_type element_type)
{
    return element_type != ELEMENT_BOOL && !element_is_integer(element_type);
}

bool element_is_integer(enum element_type element_type)
{
    return element_type == ELEMENT_I64 || element_type == ELEMENT_I32;
}

enum element_type element_of_dtype(enum dtype dtype)
{
    static const enum element_type types[] = {
        [DTYPE_F32] = ELEMENT_F32, [DTYPE_F64] = ELEMENT_F64, [DTYPE_BOOL] = ELEMENT_BOOL, [DTYPE_I64] = ELEMENT_I64};
    return types[dtype];
}

const char *element_dtype_name(enum dtype dtype)
{
    return element_names[ELEMENT_NAMES_PLAIN][element_of_dtype(dtype)];
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint16_t element_f16_from(double x)
{
    uint32_t bits = bits_of(round_to_odd(x));
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000U);
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U) /* NaN */
        return sign | 0x7e00U;
    if (magnitude >= 0x477ff000U) /* 65520 and more */
        return sign | 0x7c00U;
    if (magnitude <= 0x33000000U) /* up to half the smallest subnormal */
        return sign;
    if (magnitude < 0x38800000U) { /* below 2^-14: subnormal, in steps of 2^-24 */
        uint32_t shift = 126U - (magnitude >> 23);
        uint32_t significand = (magnitude & 0x7fffffU) | 0x800000U;
        uint32_t rest = significand & ((1U << shift) - 1), half = 1U << (shift - 1);
        uint32_t steps = significand >> shift;
        steps += rest > half || (rest == half && (steps & 1U) != 0);
        return (uint16_t)(sign | steps);
    }
    magnitude += 0xfffU + (magnitude >> 13 & 1U);
    return (uint16_t)(sign | (magnitude - 0x38000000U) >> 13);
}

double element_f16_to(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000U) << 16;
    uint32_t exponent = bits >> 10 & 0x1fU, fraction = bits & 0x3ffU;
    if (exponent == 0) {
        double magnitude = (double)fraction * 0x1p-24;
        return sign != 0 ? -magnitude : magnitude;
    }
    uint32_t wide = exponent == 0x1fU ? 0x7f800000U : (exponent + 112) << 23;
    return (double)float_of(sign | wide | fraction << 13);
}

uint16_t element_bf16_from(double x)
{
    uint32_t bits = bits_of(round_to_odd(x));
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return (uint16_t)(bits >> 16 | 0x40U);
    return (uint16_t)((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

double element_bf16_to(uint16_t bits)
{
    return (double)float_of((uint32_t)bits << 16);
}

static double round_one(enum element_type element_type, double x)
{
    switch (element_type) {
    case ELEMENT_F32:
        return (double)(float)x;
    case ELEMENT_F16:
        return element_f16_to(element_f16_from(x));
    case ELEMENT_BF16:
        return element_bf16_to(element_bf16_from(x));
    default:
        return x;
    }
}

/* Each of the tensor's numbers can be held as it is: the element type is theirs, or a wider one. */
static bool holds_all(enum element_type element_type, const struct tensor *t)
{
    return element_type == ELEMENT_F64 || (element_type == ELEMENT_F32 && t->dtype == DTYPE_F32);
}

void element_round(enum element_type element_type, const struct tensor *t)
{
    size_t count = holds_all(element_type, t) || t->data == NULL ? 0 : tensor_count(t);
    for (size_t i = 0; i < count; i++) {
        if (t->dtype == DTYPE_F32)
            ((float *)t->data)[i] = (float)round_one(element_type, (double)((const float *)t->data)[i]);
        else
            ((double *)t->data)[i] = round_one(element_type, ((const double *)t->data)[i]);
    }
}

/* From this magnitude on a number rounds to infinity: half a step past the largest, which ties to even. */
static double overflow_from(enum element_type element_type)
{
    switch (element_type) {
    case ELEMENT_F32:
        return 0x1.ffffffp127;
    case ELEMENT_F16:
        return 65520;
    case ELEMENT_BF16:
        return 0x1.ffp127;
    default:
        return INFINITY;
    }
}

static bool overflows(double x, double from)
{
    return fabs(x) >= from && fabs(x) <= DBL_MAX;
}

size_t element_overflow(enum element_type element_type, const struct tensor *t)
{
    const double from = overflow_from(element_type);
    const enum element_type own = element_of_dtype(t->dtype);
    size_t count = tensor_count(t), i = holds_all(element_type, t) || from > DBL_MAX ? count : 0;
    while (i < count && !overflows(element_number(own, t->data, i), from))
        i++;
    return i;
}

static double read_one(enum element_type element_type, const char *from)
{
    uint16_t half;
    int64_t integer;
    int32_t small_integer;
    float single;
    double wide;
    switch (element_type) {
    case ELEMENT_F16:
    case ELEMENT_BF16:
        memcpy(&half, from, sizeof half);
        return element_type == ELEMENT_F16 ? element_f16_to(half) : element_bf16_to(half);
    case ELEMENT_F32:
        memcpy(&single, from, sizeof single);
        return (double)single;
    case ELEMENT_I64:
        memcpy(&integer, from, sizeof integer);
        return (double)integer;
    case ELEMENT_I32:
        memcpy(&small_integer, from, sizeof small_integer);
        return (double)small_integer;
    case ELEMENT_F64:
        memcpy(&wide, from, sizeof wide);
        return wide;
    default:
        return *from != 0;
    }
}

double element_number(enum element_type element_type, const void *bytes, size_t index)
{
    return read_one(element_type, (const char *)bytes + index * element_bytes(element_type));
}

int64_t element_integer(enum element_type element_type, const void *bytes, size_t index)
{
    int64_t integer;
    int32_t small_integer;
    const char *from = (const char *)bytes + index * element_bytes(element_type);
    if (element_type == ELEMENT_I64) {
        memcpy(&integer, from, sizeof integer);
        return integer;
    }
    memcpy(&small_integer, from, sizeof small_integer);
    return small_integer;
}

/* float64 to float32, the only conversion of bytes that can overflow, without a branch on the numbers. */
static bool narrow(const char *from, size_t count, float *ret)
{
    const double overflow = overflow_from(ELEMENT_F32);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        double x;
        memcpy(&x, from + i * sizeof x, sizeof x);
        any |= (fabs(x) >= overflow) & (fabs(x) <= DBL_MAX);
        ret[i] = (float)x;
    }
    return !any;
}

static size_t narrow_all(const char *from, size_t count, float *ret)
{
    for (size_t i = 0; i < count; i += BLOCK_NUMBERS) {
        if (narrow(from + i * sizeof(double), size_min(BLOCK_NUMBERS, count - i), ret + i))
            continue;
        while (!overflows(read_one(ELEMENT_F64, from + i * sizeof(double)), overflow_from(ELEMENT_F32)))
            i++;
        return i;
    }
    return count;
}

size_t element_read(enum element_type element_type, const void *bytes, const struct tensor *ret)
{
    const char *from = bytes;
    size_t count = tensor_count(ret), step = element_bytes(element_type);
    bool same =
        element_type == element_of_dtype(ret->dtype) && ret->dtype != DTYPE_BOOL; /* whose bytes may be others than 0 and 1 */
    if (same && count > 0) {
        memcpy(ret->data, from, count * step);
        return count;
    }
    if (element_type == ELEMENT_F64 && ret->dtype == DTYPE_F32)
        return narrow_all(from, count, ret->data);
    for (size_t i = 0; i < count; i++) {
        double x = read_one(element_type, from + i * step);
        if (ret->dtype == DTYPE_BOOL)
            ((unsigned char *)ret->data)[i] = x != 0;
        else if (ret->dtype == DTYPE_F32)
            ((float *)ret->data)[i] = (float)x;
        else
            ((double *)ret->data)[i] = x;
    }
    return count;
}

/* Numbers only shrink, so each is written at or before where it was read. */
size_t element_pack(enum element_type element_type, const struct tensor *t)
{
    size_t count = tensor_count(t), step = element_bytes(element_type);
    bool same = element_type == element_of_dtype(t->dtype);
    for (size_t i = 0; i < count && !same; i++) {
        char *to = (char *)t->data + i * step;
        double x = t->dtype == DTYPE_F32 ? (double)((const float *)t->data)[i] : ((const double *)t->data)[i];
        float single = (float)x;
        uint16_t half = element_type == ELEMENT_F16 ? element_f16_from(x) : element_bf16_from(x);
        if (element_type == ELEMENT_F32)
            memcpy(to, &single, sizeof single);
        else
            memcpy(to, &half, sizeof half);
    }
    return count * step;
}
