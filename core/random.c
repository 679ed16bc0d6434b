#include "core/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define MT_SHIFT 397
#define NORMAL_BLOCK 16 /* elements that torch's fill converts from uniform to normal together */

void random_init(struct random *random, uint64_t seed)
{
    random->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < RANDOM_STATE_WORDS; i++) {
        uint32_t before = random->state[i - 1];
        random->state[i] = 1812433253U * (before ^ (before >> 30)) + i;
    }
    random->next = RANDOM_STATE_WORDS;
    random->cached_normal = 0;
    random->has_cached_normal = false;
}

static void state_renew(uint32_t *state)
{
    for (size_t i = 0; i < RANDOM_STATE_WORDS; i++) {
        uint32_t bits = (state[i] & 0x80000000U) | (state[(i + 1) % RANDOM_STATE_WORDS] & 0x7fffffffU);
        uint32_t twist = (bits >> 1) ^ ((bits & 1U) != 0 ? 0x9908b0dfU : 0U);
        state[i] = state[(i + MT_SHIFT) % RANDOM_STATE_WORDS] ^ twist;
    }
}

uint32_t random_u32(struct random *random)
{
    if (random->next == RANDOM_STATE_WORDS) {
        state_renew(random->state);
        random->next = 0;
    }
    uint32_t y = random->state[random->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

/* [0, 1) with 24 bits, and with 53. */
static float uniform_f32(struct random *random)
{
    return (float)(random_u32(random) & 0xffffffU) * 0x1p-24F;
}

static double uniform_f64(struct random *random)
{
    uint64_t high = random_u32(random);
    uint64_t bits = (high << 32 | random_u32(random)) & ((UINT64_C(1) << 53) - 1);
    return (double)bits * 0x1p-53;
}

/* 16 uniforms to 16 normals, in place: element j is paired with element j + 8. */
static void normal_block(float *block)
{
    for (size_t j = 0; j < NORMAL_BLOCK / 2; j++) {
        float u1 = 1 - block[j];
        float u2 = block[j + NORMAL_BLOCK / 2];
        float radius = sqrtf(-2 * logf(u1));
        float theta = 2 * (float)M_PI * u2;
        block[j] = radius * cosf(theta);
        block[j + NORMAL_BLOCK / 2] = radius * sinf(theta);
    }
}

static void normal_many(struct random *random, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = uniform_f32(random);
    for (size_t i = 0; i + NORMAL_BLOCK <= count; i += NORMAL_BLOCK)
        normal_block(out + i);
    if (count % NORMAL_BLOCK != 0) {
        float *last = out + count - NORMAL_BLOCK;
        for (size_t i = 0; i < NORMAL_BLOCK; i++)
            last[i] = uniform_f32(random);
        normal_block(last);
    }
}

static double normal_one(struct random *random)
{
    if (random->has_cached_normal) {
        random->has_cached_normal = false;
        return random->cached_normal;
    }
    double u1 = uniform_f64(random);
    double u2 = uniform_f64(random);
    double radius = sqrt(-2 * log1p(-u2));
    double theta = 2 * M_PI * u1;
    random->cached_normal = radius * sin(theta);
    random->has_cached_normal = true;
    return radius * cos(theta);
}

/* Where `ret` is float64 the floats are drawn into its second half and converted from the front: element i is read at
 * float 2n - (n - i) before the doubles reach it. */
static float *float_buffer(const struct tensor *ret, size_t count)
{
    return (float *)ret->data + (ret->dtype == DTYPE_F64 ? count : 0);
}

static void to_double(const struct tensor *ret, size_t count)
{
    if (ret->dtype != DTYPE_F64)
        return;
    const char *from = (const char *)float_buffer(ret, count);
    char *to = ret->data;
    for (size_t i = 0; i < count; i++) {
        float drawn;
        memcpy(&drawn, from + i * sizeof drawn, sizeof drawn);
        double x = (double)drawn;
        memcpy(to + i * sizeof x, &x, sizeof x);
    }
}

void random_normal(struct random *random, const struct tensor *ret)
{
    assert(tensor_is_contiguous(ret) && ret->dtype != DTYPE_BOOL);
    size_t count = tensor_count(ret);
    float *out = float_buffer(ret, count);
    if (count >= NORMAL_BLOCK)
        normal_many(random, count, out);
    else
        for (size_t i = 0; i < count; i++)
            out[i] = (float)normal_one(random);
    to_double(ret, count);
}

void random_linear(struct random *random, const struct tensor *ret)
{
    assert(tensor_is_contiguous(ret) && ret->dtype != DTYPE_BOOL && ret->rank == 2);
    size_t count = tensor_count(ret);
    float *out = float_buffer(ret, count);
    float bound = (float)(1 / sqrt((double)ret->shape[1]));
    for (size_t i = 0; i < count; i++)
        out[i] = uniform_f32(random) * (bound - -bound) + -bound;
    to_double(ret, count);
}
