/* rope.h: rotary position embedding, in place (Su et al. 2021, eq. 34).
 *
 * At position p, pair i of the first `dims` dimensions is rotated by p * base^(-2i/dims):
 *   (a, b) -> (a cos - b sin, a sin + b cos)
 * interleaved pairs dimensions 2i and 2i+1 (the paper, GPT-J); half pairs i and i + dims/2 (GPT-NeoX, Llama in Hugging Face).
 *
 * Shapes   t (B,H,T,D), any strides, float32 or float64; dims even, <= D
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
    double base;
};

/* Token i of t is token first + i of `positions`. */
void rope_apply(const struct rope *rope, const struct tensor *t, const struct positions *positions, size_t first);

#endif
