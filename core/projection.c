#include "core/projection.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "core/kernels/kernels.h"
#include "core/precision.h"
#include "core/size.h"

#define TOKEN_TILE 128
#define OUTPUTS_AT_ONCE 8 /* of a row computed in double */
#define INPUTS_AT_ONCE 64

/* By the kernels' product: the tile's rows fold into a quarter as many lines of its left operand. */
#define INPUTS_OF_CHUNK (KERNEL_DEPTH_MAX / 4)
#define TILE_LINES (TOKEN_TILE / 4)
#define PANEL_COLUMNS_MAX 32

/* Projections of fewer products (B*T*C*O) run on the caller alone: handing them to other threads would take longer. */
#define PARALLEL_PRODUCTS_MIN ((size_t)1 << 18)

#define PAIRS (OUTPUTS_AT_ONCE / 2)
typedef double pair __attribute__((vector_size(2 * sizeof(double)))); /* what every processor adds at once */

struct projection {
    const struct tensor *x, *weight, *bias, *out;
    const struct executor *executor;
    size_t T, C, O;
    size_t tile_count;             /* of one item */
    bool f32_in_f64;               /* core/precision.h */
    const struct kernels *kernels; /* NULL: products are OpenBLAS's */
    atomic_bool stopped;
};

/* Fills rows with the bias, or leaves them for a product that overwrites. Returns whether the product is to be added. */
static bool rows_start(const struct projection *p, char *out, size_t rows)
{
    size_t row_bytes = p->O * dtype_bytes(p->x->dtype);
    if (p->bias->data != NULL)
        for (size_t r = 0; r < rows; r++)
            memcpy(out + r * row_bytes, p->bias->data, row_bytes);
    else if (p->C == 0)
        memset(out, 0, rows * row_bytes);
    return p->bias->data != NULL;
}

/* A block of weights as columns of doubles: of outputs [first_output, ...) and inputs [first, first + count). Missing
 * outputs are 0. */
static void weights_transpose(const struct projection *p, size_t first_output, size_t first, size_t count,
                              double columns[INPUTS_AT_ONCE][OUTPUTS_AT_ONCE])
{
    const float *weight = p->weight->data;
    for (size_t k = 0; k < OUTPUTS_AT_ONCE; k++)
        for (size_t c = 0; c < count; c++)
            columns[c][k] = first_output + k < p->O ? (double)weight[(first_output + k) * p->C + first + c] : 0;
}

/* sums += x * columns, for `count` inputs of one row and those of the next, `stride` behind them: twice the work for each column
 * that is loaded. */
static void outputs_add(const float *x, size_t stride, double columns[INPUTS_AT_ONCE][OUTPUTS_AT_ONCE], size_t count,
                        double (*sums)[OUTPUTS_AT_ONCE])
{
    pair sum[2 * PAIRS], column[PAIRS];
    memcpy(sum, sums, sizeof sum);
    for (size_t c = 0; c < count; c++) {
        memcpy(column, columns[c], sizeof column);
        double first = (double)x[c], second = (double)x[stride + c];
#pragma GCC unroll 4
        for (size_t k = 0; k < PAIRS; k++) {
            sum[k] += first * column[k];
            sum[PAIRS + k] += second * column[k];
        }
    }
    memcpy(sums, sum, sizeof sum);
}

/* Several outputs at once, since additions of one wait for each other: each is summed in the order of the inputs all the
 * same. */
static void rows_f32_in_f64(const struct projection *p, const float *x, float *out, size_t rows)
{
    const float *bias = p->bias->data;
    for (size_t first_output = 0; first_output < p->O; first_output += OUTPUTS_AT_ONCE) {
        size_t outputs = size_min(OUTPUTS_AT_ONCE, p->O - first_output);
        double columns[INPUTS_AT_ONCE][OUTPUTS_AT_ONCE],
            sums[TOKEN_TILE + 1][OUTPUTS_AT_ONCE]; /* of an odd row's missing next */
        for (size_t r = 0; r <= rows; r++)
            for (size_t k = 0; k < OUTPUTS_AT_ONCE; k++)
                sums[r][k] = bias != NULL && k < outputs ? (double)bias[first_output + k] : 0;
        for (size_t first = 0; first < p->C; first += INPUTS_AT_ONCE) {
            size_t count = size_min(INPUTS_AT_ONCE, p->C - first);
            weights_transpose(p, first_output, first, count, columns);
            for (size_t r = 0; r < rows; r += 2)
                outputs_add(x + r * p->C + first, r + 1 < rows ? p->C : 0, columns, count, sums + r);
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t k = 0; k < outputs; k++)
                out[r * p->O + first_output + k] = (float)sums[r][k];
    }
}

#define REAL float
#define KERNEL(x) x##_f32
#define NAME(x) x##_f32
#include "core/projection_tile.inc.h"

#define REAL double
#define KERNEL(x) x##_f64
#define NAME(x) x##_f64
#include "core/projection_tile.inc.h"

static void tile_run(void *argument, size_t task, size_t worker)
{
    (void)worker;
    struct projection *p = argument;
    if (executor_stopped(p->executor))
        atomic_store(&p->stopped, true);
    if (atomic_load(&p->stopped))
        return;
    size_t first = task % p->tile_count * TOKEN_TILE;
    size_t rows = size_min(TOKEN_TILE, p->T - first);
    size_t token = task / p->tile_count * p->T + first;
    size_t real = dtype_bytes(p->x->dtype);
    const void *x = (const char *)p->x->data + token * p->C * real;
    char *out = (char *)p->out->data + token * p->O * real;
    if (p->f32_in_f64) {
        rows_f32_in_f64(p, x, (float *)(void *)out, rows);
        return;
    }
    bool add = rows_start(p, out, rows);
    int m = (int)rows, n = (int)p->O, k = (int)p->C;
    if (k == 0)
        return;
    if (p->kernels != NULL && p->x->dtype == DTYPE_F32)
        tile_product_f32(p, x, (float *)(void *)out, rows, add);
    else if (p->kernels != NULL)
        tile_product_f64(p, x, (double *)(void *)out, rows, add);
    else if (p->x->dtype == DTYPE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, p->weight->data, k, add ? 1 : 0, (float *)out,
                    n);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, p->weight->data, k, add ? 1 : 0, (double *)out,
                    n);
}

bool projection_apply(const struct tensor *x, const struct tensor *weight, const struct tensor *bias, bool row_invariant,
                      const struct executor *executor, const struct tensor *ret, struct error *err)
{
    struct projection p = {.x = x, .weight = weight, .bias = bias, .out = ret, .executor = executor};
    p.kernels = row_invariant ? kernels_row_invariant() : NULL;
    p.T = x->shape[1];
    p.C = x->shape[2];
    p.O = weight->shape[0];
    assert(x->rank == 3 && weight->rank == 2 && weight->shape[1] == p.C && p.C <= INT_MAX && p.O <= INT_MAX);
    assert(ret->rank == 3 && ret->shape[0] == x->shape[0] && ret->shape[1] == p.T && ret->shape[2] == p.O);
    assert(bias->data == NULL || (bias->rank == 1 && bias->shape[0] == p.O));
    if (tensor_count(ret) == 0)
        return true;
    size_t products = size_multiply(size_multiply(p.T, p.C), p.O);
    bool parallel = size_multiply(x->shape[0], products) >= PARALLEL_PRODUCTS_MIN;
    p.f32_in_f64 = x->dtype == DTYPE_F32 && products <= F32_IN_F64_PRODUCTS_MAX && !row_invariant;
    size_t items = x->shape[0];
    if (p.f32_in_f64) { /* each token is computed by itself, so items need not have tiles of their own */
        p.T *= items;
        items = 1;
    }
    p.tile_count = size_pieces(p.T, TOKEN_TILE);
    executor_run(parallel ? executor : NULL, items * p.tile_count, tile_run, &p);
    if (atomic_load(&p.stopped))
        return executor_set_stopped(err);
    return true;
}
