#include "core/projection.h"

#include <assert.h>
#include <cblas.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

#include "core/precision.h"
#include "core/size.h"

#define TOKEN_TILE 128

struct projection {
    const struct tensor *x, *weight, *bias, *out;
    const struct executor *executor;
    size_t T, C, O;
    size_t tile_count; /* of one item */
    bool f32_in_f64;   /* core/precision.h */
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

static void rows_f32_in_f64(const struct projection *p, const float *x, float *out, size_t rows)
{
    const float *weight = p->weight->data, *bias = p->bias->data;
    for (size_t r = 0; r < rows; r++) {
        for (size_t o = 0; o < p->O; o++) {
            double sum = bias == NULL ? 0 : (double)bias[o];
            for (size_t c = 0; c < p->C; c++)
                sum += (double)x[r * p->C + c] * (double)weight[o * p->C + c];
            out[r * p->O + o] = (float)sum;
        }
    }
}

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
    if (p->x->dtype == DTYPE_F32)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, p->weight->data, k, add ? 1 : 0, (float *)out,
                    n);
    else
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, n, k, 1, x, k, p->weight->data, k, add ? 1 : 0, (double *)out,
                    n);
}

bool projection_apply(const struct tensor *x, const struct tensor *weight, const struct tensor *bias,
                      const struct executor *executor, const struct tensor *ret, struct error *err)
{
    struct projection p = {.x = x, .weight = weight, .bias = bias, .out = ret, .executor = executor};
    p.T = x->shape[1];
    p.C = x->shape[2];
    p.O = weight->shape[0];
    assert(x->rank == 3 && weight->rank == 2 && weight->shape[1] == p.C && p.C <= INT_MAX && p.O <= INT_MAX);
    assert(ret->rank == 3 && ret->shape[0] == x->shape[0] && ret->shape[1] == p.T && ret->shape[2] == p.O);
    assert(bias->data == NULL || (bias->rank == 1 && bias->shape[0] == p.O));
    if (tensor_count(ret) == 0)
        return true;
    p.f32_in_f64 = x->dtype == DTYPE_F32 && size_multiply(size_multiply(p.T, p.C), p.O) <= F32_IN_F64_PRODUCTS_MAX;
    p.tile_count = size_pieces(p.T, TOKEN_TILE);
    executor_run(executor, x->shape[0] * p.tile_count, tile_run, &p);
    if (atomic_load(&p.stopped))
        return executor_set_stopped(err);
    return true;
}
