/* number_exhaustive: every float32 is written and must read back bit by bit: alone, and in a tensor, whose text must be the same.
 *
 *   number_exhaustive     all 2^32 of them
 *   number_exhaustive N   N drawn with a fixed seed
 *
 * Prints TAP with one test. Exit status 1 at the first that was not right. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/extract.h"
#include "api/json/tensor_write.h"
#include "api/number/read.h"
#include "api/number/write.h"
#include "tests/support/draw.h"

#define F32_COUNT (UINT64_C(1) << 32)
#define TENSOR_COUNT ((size_t)4096)
#define TENSOR_TEXT_BYTES_MAX (TENSOR_COUNT * (NUMBER_F32_TEXT_BYTES_MAX + 1) + TENSOR_WRITE_SLACK_BYTES)

/* Non-finite values are words, not numbers: of those only the word is checked. */
static bool survives(float x, const char *text, const char *end)
{
    float read;
    if (!isfinite(x)) {
        const char *word = isnan(x) ? "\"NaN\"" : x > 0 ? "\"Infinity\"" : "\"-Infinity\"";
        return (size_t)(end - text) == strlen(word) && memcmp(text, word, strlen(word)) == 0;
    }
    return number_read_f32(text, end, &read) == end && memcmp(&read, &x, sizeof x) == 0;
}

/* Each of the tensor's numbers stands in `text` as it is written alone. */
static bool is_written(const float *x, const char *text, const char *end)
{
    char one[NUMBER_F32_BYTES_MAX];
    for (size_t i = 0; i < TENSOR_COUNT; i++) {
        const char *one_end = number_write_f32(x[i], one);
        size_t bytes = (size_t)(one_end - one);
        if (!survives(x[i], one, one_end) || text[0] != (i == 0 ? '[' : ',') || memcmp(text + 1, one, bytes) != 0)
            return false;
        text += 1 + bytes;
    }
    return text + 1 == end && *text == ']';
}

static bool is_read(const float *x, const char *text, size_t text_bytes)
{
    static float read[TENSOR_COUNT];
    const struct extract extract = {.text = text, .text_bytes = text_bytes};
    const struct json_array_text array = {
        .text_bytes = text_bytes, .kind = JSON_ARRAY_NUMBERS, .rank = 1, .shape = {TENSOR_COUNT}};
    struct error err = {0};
    if (!array_read(&extract, &array, DTYPE_F32, "", read, &err))
        return false;
    for (size_t i = 0; i < TENSOR_COUNT; i++)
        if (isnan(x[i]) ? !isnan(read[i]) : memcmp(&read[i], &x[i], sizeof x[i]) != 0)
            return false;
    return true;
}

static bool survive(const float *x)
{
    static char text[TENSOR_TEXT_BYTES_MAX];
    const size_t count = TENSOR_COUNT;
    const struct tensor tensor = tensor_contiguous((float *)x, DTYPE_F32, 1, &count);
    const struct number_style style = {.digits = DTYPE_F32, .decimals = -1};
    const char *end = tensor_write(&tensor, style, 0, count, text);
    return is_written(x, text, end) && is_read(x, text, (size_t)(end - text));
}

int main(int argc, char **argv)
{
    static float x[TENSOR_COUNT];
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : F32_COUNT;
    struct draw draw = {1};
    for (uint64_t i = 0; i < count; i += TENSOR_COUNT) {
        for (size_t k = 0; k < TENSOR_COUNT; k++) {
            uint32_t bits = (uint32_t)(argc > 1 ? draw_u64(&draw) : i + k);
            memcpy(&x[k], &bits, sizeof bits);
        }
        if (!survive(x)) {
            printf("1..1\nnot ok 1 - of the float32 from %a on one did not come back\n", (double)x[0]);
            return 1;
        }
    }
    printf("1..1\nok 1 - %" PRIu64 " float32 written and read back\n", count);
    return 0;
}
