#include "core/random.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/size.h"

#define MT_SHIFT 397
#define NORMAL_BLOCK 16 /* elements that torch's fill converts from uniform to normal together */

#define NORMAL_TASK_BLOCKS 1024 /* of a task: about half a millisecond */

#define LANES 4
typedef uint32_t words __attribute__((vector_size(LANES * sizeof(uint32_t)))); /* what every processor computes at once */

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

static words load(const uint32_t *from)
{
    words four;
    memcpy(&four, from, sizeof four);
    return four;
}

static void store(uint32_t *to, words four)
{
    memcpy(to, &four, sizeof four);
}

static words temper(words y)
{
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

/* Words [first, end) of the next state: word i comes from words i and i + 1 of this one, and from word i + ahead. */
static void state_renew_part(uint32_t *state, size_t first, size_t end, ptrdiff_t ahead)
{
    size_t i = first;
    for (; i + LANES < end; i += LANES) {
        words bits = (load(state + i) & 0x80000000U) | (load(state + i + 1) & 0x7fffffffU);
        words twist = (bits >> 1) ^ ((0 - (bits & 1U)) & 0x9908b0dfU);
        store(state + i, load(state + (ptrdiff_t)i + ahead) ^ twist);
    }
    for (; i < end; i++) {
        uint32_t bits = (state[i] & 0x80000000U) | (state[(i + 1) % RANDOM_STATE_WORDS] & 0x7fffffffU);
        state[i] = state[(ptrdiff_t)i + ahead] ^ (bits >> 1) ^ ((0 - (bits & 1U)) & 0x9908b0dfU);
    }
}

/* Where there are no words ahead any more, the next state's are taken. */
static void state_renew(uint32_t *state)
{
    const size_t turn = RANDOM_STATE_WORDS - MT_SHIFT;
    state_renew_part(state, 0, turn, MT_SHIFT);
    state_renew_part(state, turn, RANDOM_STATE_WORDS, -(ptrdiff_t)turn);
}

uint32_t random_u32(struct random *random)
{
    if (random->next == RANDOM_STATE_WORDS) {
        state_renew(random->state);
        random->next = 0;
    }
    return temper((words){random->state[random->next++]})[0];
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

/* From [0, 1) with 24 bits: times `factor`, plus `offset`. */
static void uniforms_f32(struct random *random, size_t count, float factor, float offset, float *out)
{
    typedef int32_t integers __attribute__((vector_size(sizeof(words))));
    typedef float floats __attribute__((vector_size(sizeof(words))));
    size_t i = 0;
    while (i < count) {
        size_t left = RANDOM_STATE_WORDS - random->next;
        if (left < LANES || count - i < LANES) {
            out[i++] = uniform_f32(random) * factor + offset;
            continue;
        }
        for (size_t end = i + size_min(left, count - i) / LANES * LANES; i < end; i += LANES, random->next += LANES) {
            words drawn = temper(load(random->state + random->next)) & 0xffffffU;
            floats uniform = __builtin_convertvector((integers)drawn, floats) * 0x1p-24F * factor + offset;
            memcpy(out + i, &uniform, sizeof uniform);
        }
    }
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

struct normals {
    float *out; /* uniforms, to be normals */
    size_t blocks;
};

static void task_normals(void *argument, size_t task, size_t worker)
{
    const struct normals *normals = argument;
    size_t first = task * NORMAL_TASK_BLOCKS, end = size_min(first + NORMAL_TASK_BLOCKS, normals->blocks);
    (void)worker;
    for (size_t block = first; block < end; block++)
        normal_block(normals->out + block * NORMAL_BLOCK);
}

static void normal_many(struct random *random, size_t count, float *out, const struct executor *executor)
{
    struct normals normals = {out, count / NORMAL_BLOCK};
    size_t tasks = size_pieces(normals.blocks, NORMAL_TASK_BLOCKS);
    uniforms_f32(random, count, 1, 0, out);
    executor_run(tasks > 1 ? executor : NULL, tasks, task_normals, &normals);
    if (count % NORMAL_BLOCK != 0) {
        float *last = out + count - NORMAL_BLOCK;
        uniforms_f32(random, NORMAL_BLOCK, 1, 0, last);
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

void random_normal(struct random *random, const struct tensor *ret, const struct executor *executor)
{
    assert(tensor_is_contiguous(ret) && ret->dtype != DTYPE_BOOL);
    size_t count = tensor_count(ret);
    float *out = float_buffer(ret, count);
    if (count >= NORMAL_BLOCK)
        normal_many(random, count, out, executor);
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
    uniforms_f32(random, count, bound - -bound, -bound, out);
    to_double(ret, count);
}
