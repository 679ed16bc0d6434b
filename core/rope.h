/* rope.h: rotary position embedding, in place (Su et al. 2021, eq. 34).
 *
 * Pair i of the first `dims` dimensions of a token at position p is rotated by the angle p * frequency[i]:
 *   (a, b) -> f * (a cos - b sin, a sin + b cos)       f = attention_factor
 * interleaved pairs dimensions 2i and 2i+1 (the paper, GPT-J); half pairs i and i + dims/2 (GPT-NeoX, Llama in Hugging Face).
 * Tables give cosines and sines by position instead. With several axes (images: time, height, width) each pair goes by the
 * token's position on one of them.
 *
 * Shapes   t (B,H,T,D), any strides, float32 or float64; positions (axes,B,T), float64, any strides; dims even, <= D
 * Accuracy angles, sines and products in double, rounded once: within 2.2e-7 of the angle up to 2^31, and not beyond.
 * Threads  reentrant. */
#ifndef ATTND_CORE_ROPE_H
#define ATTND_CORE_ROPE_H

#include <stdbool.h>

#include "core/positions.h"
#include "core/tensor.h"

struct rope {
    bool interleaved; /* else half */
    size_t dims;
    const double *frequencies;     /* [dims/2], or [B,dims/2]; NULL: tables */
    bool frequencies_per_item;     /* the latter */
    double attention_factor;       /* of frequencies; tables are taken as they are */
    const double *cosines, *sines; /* tables: [positions,dims/2]; each position is a whole number below their length */
    const unsigned char *axes;     /* [dims/2]: the axis of each pair; NULL: all go by the first */
};

void rope_apply(const struct rope *rope, const struct tensor *t, const struct tensor *positions);

#endif
