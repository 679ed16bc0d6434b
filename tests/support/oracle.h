/* oracle.h: attention and projection the naive way, in double, to hold core against.
 *
 * Written from the formulas in core/attention/attention.h and core/projection.h alone: every stage in its order, one loop an axis,
 * no tile and no shortcut. Inputs of either dtype and any strides; results are plain row-major doubles. */
#ifndef ATTND_TESTS_SUPPORT_ORACLE_H
#define ATTND_TESTS_SUPPORT_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/attention/attention.h"
#include "core/tensor.h"

struct oracle_results {
    double *output;        /* [B,H,Tq,Dv] */
    double *weights;       /* [B,H,Tq,Tk] */
    double *mean_weights;  /* [B,Tq,Tk] */
    double *scores;        /* [B,H,Tq,Tk] */
    double *capped_scores; /* [B,H,Tq,Tk] */
    double *masked_scores; /* [B,H,Tq,Tk] */
    bool *masked;          /* [B,H,Tq,Tk] whether oracle_is_masked */
    double *lse;           /* [B,H,Tq] */
    double *entropy;       /* [B,H,Tq] */
    double *key_sums;      /* [B,H,Tk] */

    /* NULL until oracle_reduce. */
    double *top_indices, *top_weights; /* [B,H,Tq,top] */
    double *pooled_weights;            /* [B,H,m,n] */

    /* [B,H,Tq]: the most that the terms of one score of the row add up to in absolute value, |scale| * sum_d |q_d k_d| +
     * |biases| + |mask| + |alibi|, over the keys that are not masked; at least |sink|. A score's rounding error is proportional
     * to it. */
    double *magnitudes;
    double *pair_magnitudes; /* [B,H,Tq,Tk]: |scale| * sum_d |q_d k_d| + |biases|, of masked keys too */
    size_t masked_row_count;
};

/* `ret` is filled with new arrays; oracle_results_done frees them. */
void oracle_attention(const struct attention_params *params, struct oracle_results *ret);
void oracle_results_done(struct oracle_results *results);

/* Fills top_indices, top_weights and pooled_weights, of m times n cells that hold the largest weight or the mean. */
void oracle_reduce(const struct attention_params *params, size_t top, size_t m, size_t n, bool largest,
                   struct oracle_results *results);

/* Whether a causal mask leaves key j visible to query i wherever they stand: by prefix_lengths, or a span of both. */
bool oracle_extends_causal(const struct attention_params *params, size_t b, size_t i, size_t j);

bool oracle_is_masked(const struct attention_params *params, size_t b, size_t h, size_t i, size_t j);

/* out[b,t,o] into `ret`, and into `ret_magnitudes` sum_c |x w| + |bias|; both are the caller's, [B,T,O]. */
void oracle_projection(const struct tensor *x, const struct tensor *weight, const struct tensor *bias, double *ret,
                       double *ret_magnitudes);

#endif
