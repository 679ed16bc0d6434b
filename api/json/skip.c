#include "api/json/skip.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/size.h"

/* Every 64-bit processor has vectors of 16 bytes. A block's bytes become the bits of one word. */
typedef signed char lane __attribute__((vector_size(16)));
#define LANE_BYTES 16
#define BLOCK_BYTES 64
#define BLOCK_LANES (BLOCK_BYTES / LANE_BYTES)

/* Hardware prefetching does not keep far enough ahead of a pass this fast: for a text larger than the caches we measured 3 to 5
 * GB/s without this, 6 to 9 with it. */
#define PREFETCH_BYTES 4096

struct block {
    lane lanes[BLOCK_LANES];
};

struct skip {
    size_t depth;         /* of open brackets; the array's own is 1 */
    size_t counted_below; /* commas count at smaller depths: at this depth and deeper the first elements have ended */
    size_t commas[TENSOR_RANK_MAX];
    bool in_string;
    bool escaped; /* the byte before was a backslash in a string */
};

static inline lane lane_of(char c)
{
    signed char s = (signed char)c;
    return (lane){s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s};
}

/* One bit a byte of `truth`, whose bytes are 0 or -1. */
static inline uint64_t lane_bits(lane truth)
{
#ifdef __SSE2__
    typedef char chars __attribute__((vector_size(16)));
    return (uint64_t)(uint32_t)__builtin_ia32_pmovmskb128((chars)truth);
#else
    /* One bit is kept in each byte, and the product's top byte is the sum of all eight. */
    uint64_t halves[2];
    memcpy(halves, &truth, sizeof halves);
    uint64_t low = ((halves[0] & UINT64_C(0x8040201008040201)) * UINT64_C(0x0101010101010101)) >> 56;
    uint64_t high = ((halves[1] & UINT64_C(0x8040201008040201)) * UINT64_C(0x0101010101010101)) >> 56;
    return low | high << 8;
#endif
}

/* '[' and ']' in one comparison; it also matches 'Y' and '_', which no number holds. */
static inline lane lane_brackets(lane bytes)
{
    return (lane)((bytes | lane_of(0x06)) == lane_of(0x5F));
}

static inline uint64_t block_brackets(const struct block *block)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < BLOCK_LANES; i++)
        bits |= lane_bits(lane_brackets(block->lanes[i])) << (i * LANE_BYTES);
    return bits;
}

static inline uint64_t block_equal(const struct block *block, char c)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < BLOCK_LANES; i++)
        bits |= lane_bits((lane)(block->lanes[i] == lane_of(c))) << (i * LANE_BYTES);
    return bits;
}

static inline bool block_has_bracket_or_quote(const struct block *block)
{
    lane any = lane_of(0);
    for (size_t i = 0; i < BLOCK_LANES; i++)
        any |= lane_brackets(block->lanes[i]) | (lane)(block->lanes[i] == lane_of('"'));
    return lane_bits(any) != 0;
}

/* How many bytes are `c`; not by way of bits, since all commas of a flat array are counted. */
static inline size_t block_count(const struct block *block, char c)
{
    lane sums = lane_of(0);
    for (size_t i = 0; i < BLOCK_LANES; i++)
        sums -= (lane)(block->lanes[i] == lane_of(c));
    uint64_t halves[2];
    memcpy(halves, &sums, sizeof halves);
    return (size_t)(((halves[0] + halves[1]) * UINT64_C(0x0101010101010101)) >> 56); /* each byte of the sum is at most 8 */
}

/* Each bit becomes the parity of itself and the bits below it. */
static inline uint64_t parity_of_lower(uint64_t bits)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        bits ^= bits << shift;
    return bits;
}

static inline void count_commas(struct skip *skip, uint64_t commas)
{
    if (skip->depth >= skip->counted_below)
        return;
    for (; commas != 0; commas &= commas - 1) /* few: between two brackets, or in a row's last block */
        skip->commas[skip->depth - 1]++;
}

/* Returns true where `c` closes the array. */
static inline bool take_bracket(struct skip *skip, char c)
{
    if (c == '[') {
        skip->depth++;
    } else if (c == ']') {
        if (skip->depth < skip->counted_below)
            skip->counted_below = skip->depth;
        skip->depth--;
    }
    return skip->depth == 0;
}

/* Byte by byte, for blocks with escapes in strings. Returns as skip_block. */
static size_t skip_bytes(struct skip *skip, const char *text)
{
    for (size_t i = 0; i < BLOCK_BYTES; i++) {
        char c = text[i];
        if (skip->in_string) {
            if (skip->escaped)
                skip->escaped = false;
            else if (c == '\\')
                skip->escaped = true;
            else if (c == '"')
                skip->in_string = false;
        } else if (c == '"') {
            skip->in_string = true;
        } else if (c == ',') {
            count_commas(skip, 1);
        } else if (take_bracket(skip, c)) {
            return i + 1;
        }
    }
    return 0;
}

/* Looks at BLOCK_BYTES bytes. Returns how many of them belong to the array if it ends there, else 0. */
static inline size_t skip_block(struct skip *skip, const char *text)
{
    struct block block;
    memcpy(&block, text, sizeof block);
    if (!skip->in_string && !block_has_bracket_or_quote(&block)) {
        if (skip->depth < skip->counted_below)
            skip->commas[skip->depth - 1] += block_count(&block, ',');
        return 0;
    }

    uint64_t quotes = block_equal(&block, '"');
    if ((skip->in_string || quotes != 0) && (skip->escaped || block_equal(&block, '\\') != 0))
        return skip_bytes(skip, text);
    uint64_t strings = parity_of_lower(quotes) ^ (skip->in_string ? UINT64_MAX : 0);
    skip->in_string = strings >> 63 != 0;

    uint64_t brackets = block_brackets(&block) & ~strings;
    uint64_t commas = block_equal(&block, ',') & ~strings;
    for (; brackets != 0; brackets &= brackets - 1) {
        unsigned i = (unsigned)__builtin_ctzll(brackets);
        uint64_t before = (UINT64_C(1) << i) - 1;
        count_commas(skip, commas & before);
        commas &= ~before;
        if (take_bracket(skip, text[i]))
            return i + 1;
    }
    count_commas(skip, commas);
    return 0;
}

bool array_skip(const char *text, const char *end, struct json_array_text *array)
{
    assert(array->rank >= 1 && text < end && *text == '[');
    const size_t counted = size_min(array->rank, TENSOR_RANK_MAX);
    struct skip skip = {.depth = 1, .counted_below = counted + 1};
    const char *at = text + 1;
    size_t ended = 0;
    for (; ended == 0 && end - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
        if (end - at > PREFETCH_BYTES)
            __builtin_prefetch(at + PREFETCH_BYTES);
        ended = skip_block(&skip, at);
    }
    if (ended != 0) {
        at -= BLOCK_BYTES;
    } else {
        char tail[BLOCK_BYTES];
        memset(tail, ' ', sizeof tail);
        memcpy(tail, at, (size_t)(end - at));
        ended = skip_block(&skip, tail);
        if (ended == 0)
            return false;
    }
    array->text_bytes = (size_t)(at - text) + ended;
    for (size_t i = 0; i < counted; i++)
        array->shape[i] = skip.commas[i] + 1;
    if (array->kind == JSON_ARRAY_EMPTY)
        array->shape[counted - 1] = 0;
    return true;
}

size_t array_count_commas(const char *at, const char *end)
{
    size_t count = 0;
    for (; end - at >= BLOCK_BYTES; at += BLOCK_BYTES) {
        struct block block;
        memcpy(&block, at, sizeof block);
        count += block_count(&block, ',');
    }
    for (; at < end; at++)
        count += *at == ',';
    return count;
}
