#include "core/rope.h"

#include <assert.h>
#include <math.h>

static void rotate_f32(float *a, float *b, double cosine, double sine)
{
    double x = (double)*a, y = (double)*b;
    *a = (float)(x * cosine - y * sine);
    *b = (float)(x * sine + y * cosine);
}

static void rotate_f64(double *a, double *b, double cosine, double sine)
{
    double x = *a, y = *b;
    *a = x * cosine - y * sine;
    *b = x * sine + y * cosine;
}

/* Rotates one pair of one token in the items [first_item, end_item) and all heads: the sine is the same for all of them. */
static void rotate_pair(const struct rope *rope, const struct tensor *t, size_t first_item, size_t end_item, size_t token,
                        size_t pair, double angle)
{
    double cosine = cos(angle), sine = sin(angle);
    size_t first = rope->interleaved ? 2 * pair : pair;
    size_t second = rope->interleaved ? 2 * pair + 1 : pair + rope->dims / 2;
    ptrdiff_t a = (ptrdiff_t)first * t->stride[3], b = (ptrdiff_t)second * t->stride[3];
    for (size_t item = first_item; item < end_item; item++) {
        for (size_t h = 0; h < t->shape[1]; h++) {
            void *row = tensor_row(t, item, h, token);
            if (t->dtype == DTYPE_F32)
                rotate_f32((float *)row + a, (float *)row + b, cosine, sine);
            else
                rotate_f64((double *)row + a, (double *)row + b, cosine, sine);
        }
    }
}

void rope_apply(const struct rope *rope, const struct tensor *t, const struct positions *positions, size_t first)
{
    assert(t->rank == 4 && rope->dims % 2 == 0 && rope->dims <= t->shape[3]);
    if (tensor_count(t) == 0)
        return;
    for (size_t pair = 0; pair < rope->dims / 2; pair++) {
        double frequency = pow(rope->base, -2 * (double)pair / (double)rope->dims);
        for (size_t token = 0; token < t->shape[2]; token++) {
            for (size_t item = 0, end; item < t->shape[0]; item = end) { /* items of one position together */
                int64_t position = positions_at(positions, item, first + token);
                for (end = item + 1; end < t->shape[0] && positions_at(positions, end, first + token) == position;)
                    end++;
                rotate_pair(rope, t, item, end, token, pair, (double)position * frequency);
            }
        }
    }
}
