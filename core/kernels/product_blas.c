#include "core/kernels/product_blas.h"

#include <cblas.h>
#include <string.h>

void product_blas_f32(const struct kernel_product_f32 *p)
{
    /* BLAS skips the product where alpha is 0, and with it a NaN; 1 keeps it, the factor comes after. */
    float alpha = p->alpha == 0 ? 1 : p->alpha;
    for (size_t column = 0; column < p->columns; column += p->panel_columns) {
        const float *panel = p->panels + column / p->panel_columns * p->panel_stride;
        float *c = p->c + column;
        for (size_t r = 0; r < p->rows && p->depth == 0 && !p->add; r++)
            memset(c + r * p->c_stride, 0, p->panel_columns * sizeof *c);
        if (p->depth == 0)
            continue;
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)p->rows, (int)p->panel_columns, (int)p->depth, alpha, p->a,
                    KERNEL_ROW_STRIDE, panel, (int)p->panel_row_stride, p->add ? 1 : 0, c, (int)p->c_stride);
        for (size_t r = 0; r < p->rows && p->alpha == 0; r++)
            for (size_t j = 0; j < p->panel_columns; j++)
                c[r * p->c_stride + j] *= 0;
    }
}

void product_blas_f64(const struct kernel_product_f64 *p)
{
    /* BLAS skips the product where alpha is 0, and with it a NaN; 1 keeps it, the factor comes after. */
    double alpha = p->alpha == 0 ? 1 : p->alpha;
    for (size_t column = 0; column < p->columns; column += p->panel_columns) {
        const double *panel = p->panels + column / p->panel_columns * p->panel_stride;
        double *c = p->c + column;
        for (size_t r = 0; r < p->rows && p->depth == 0 && !p->add; r++)
            memset(c + r * p->c_stride, 0, p->panel_columns * sizeof *c);
        if (p->depth == 0)
            continue;
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)p->rows, (int)p->panel_columns, (int)p->depth, alpha, p->a,
                    KERNEL_ROW_STRIDE, panel, (int)p->panel_row_stride, p->add ? 1 : 0, c, (int)p->c_stride);
        for (size_t r = 0; r < p->rows && p->alpha == 0; r++)
            for (size_t j = 0; j < p->panel_columns; j++)
                c[r * p->c_stride + j] *= 0;
    }
}
