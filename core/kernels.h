/* kernels.h: the inner loops over one row of scores, compiled for several processors from one source (kernels/rows.c).
 *
 * Every target sums in the same order (ROW_LANES partial sums); targets differ only in fused multiply-adds. So results are
 * the same bits on one machine, and the same to rounding on all.
 * Kernels check nothing: rows are finite or -infinity, counts may be 0. Threads: reentrant. */
#ifndef ATTND_CORE_KERNELS_H
#define ATTND_CORE_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

struct kernels {
    const char *name; /* "avx512", "avx2", "generic" */

    /* row[j] = exp(row[j] - max), with error <= 2 ulp for float32; returns the sum of the new row. `max` is finite and no
     * element is above it. */
    float (*exp_row_f32)(float *row, size_t count, float max);
    double (*exp_row_f64)(double *row, size_t count, double max);

    /* The row's largest element (-infinity for an empty row) in *ret_max; true where all elements are finite. */
    bool (*max_row_f32)(const float *row, size_t count, float *ret_max);
    bool (*max_row_f64)(const double *row, size_t count, double *ret_max);

    /* row[j] *= factor */
    void (*scale_row_f32)(float *row, size_t count, float factor);
    void (*scale_row_f64)(double *row, size_t count, double factor);

    /* True where all elements are finite. */
    bool (*finite_row_f32)(const float *row, size_t count);
    bool (*finite_row_f64)(const double *row, size_t count);
};

/* The fastest table that this processor runs. Static. */
const struct kernels *kernels_best(void);

#endif
