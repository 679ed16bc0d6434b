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

/* What a pair turns by. */
struct turn {
    double cosine, sine;
};

static struct turn turn_at(const struct rope *rope, size_t item, size_t pair, double position)
{
    size_t pairs = rope->dims / 2;
    if (rope->frequencies == NULL) {
        size_t at = (size_t)position * pairs + pair;
        return (struct turn){rope->cosines[at], rope->sines[at]};
    }
    double angle = position * rope->frequencies[(rope->frequencies_per_item ? item * pairs : 0) + pair];
    return (struct turn){rope->attention_factor * cos(angle), rope->attention_factor * sin(angle)};
}

static double position_of(const struct tensor *positions, size_t axis, size_t item, size_t token)
{
    ptrdiff_t at = (ptrdiff_t)axis * positions->stride[0] + (ptrdiff_t)item * positions->stride[1] +
                   (ptrdiff_t)token * positions->stride[2];
    return ((const double *)positions->data)[at];
}

/* Rotates a pair of one token of an item in all heads. */
static void rotate_pair(const struct rope *rope, const struct tensor *t, size_t item, size_t token, size_t pair,
                        struct turn turn)
{
    size_t first = rope->interleaved ? 2 * pair : pair;
    size_t second = rope->interleaved ? 2 * pair + 1 : pair + rope->dims / 2;
    ptrdiff_t a = (ptrdiff_t)first * t->stride[3], b = (ptrdiff_t)second * t->stride[3];
    for (size_t h = 0; h < t->shape[1]; h++) {
        void *row = tensor_row(t, item, h, token);
        if (t->dtype == DTYPE_F32)
            rotate_f32((float *)row + a, (float *)row + b, turn.cosine, turn.sine);
        else
            rotate_f64((double *)row + a, (double *)row + b, turn.cosine, turn.sine);
    }
}

void rope_apply(const struct rope *rope, const struct tensor *t, const struct tensor *positions)
{
    assert(t->rank == 4 && rope->dims % 2 == 0 && rope->dims <= t->shape[3] && positions->rank == 3);
    if (tensor_count(t) == 0)
        return;
    for (size_t pair = 0; pair < rope->dims / 2; pair++) {
        size_t axis = rope->axes == NULL ? 0 : rope->axes[pair];
        for (size_t token = 0; token < t->shape[2]; token++) {
            struct turn turn = {1, 0};
            double turned = NAN; /* the position that `turn` is for: most items stand at the same */
            for (size_t item = 0; item < t->shape[0]; item++) {
                double position = position_of(positions, axis, item, token);
                if (position != turned || rope->frequencies_per_item)
                    turn = turn_at(rope, item, pair, position);
                turned = position;
                rotate_pair(rope, t, item, token, pair, turn);
            }
        }
    }
}
