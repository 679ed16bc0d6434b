/* number_exhaustive: every float32 is written and must read back bit by bit.
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

#include "api/number_read.h"
#include "api/number_write.h"
#include "tests/draw.h"

#define F32_COUNT (UINT64_C(1) << 32)

/* Non-finite values are words, not numbers: of those only the word is checked. */
static bool survives(uint32_t bits)
{
    char text[NUMBER_F32_BYTES_MAX];
    float x, read;
    memcpy(&x, &bits, sizeof x);
    const char *end = number_write_f32(x, text);
    if (!isfinite(x)) {
        const char *word = isnan(x) ? "\"NaN\"" : x > 0 ? "\"Infinity\"" : "\"-Infinity\"";
        return (size_t)(end - text) == strlen(word) && memcmp(text, word, strlen(word)) == 0;
    }
    return number_read_f32(text, end, &read) == end && memcmp(&read, &x, sizeof x) == 0;
}

int main(int argc, char **argv)
{
    const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : F32_COUNT;
    struct draw draw = {1};
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits = (uint32_t)(argc > 1 ? draw_u64(&draw) : i);
        if (!survives(bits)) {
            printf("1..1\nnot ok 1 - float32 %08" PRIx32 " did not come back\n", bits);
            return 1;
        }
    }
    printf("1..1\nok 1 - %" PRIu64 " float32 written and read back\n", count);
    return 0;
}
