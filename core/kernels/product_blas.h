/* product_blas.h: the products of kernels.h by OpenBLAS, for processors without kernels of ours. */
#ifndef ATTND_CORE_KERNELS_PRODUCT_BLAS_H
#define ATTND_CORE_KERNELS_PRODUCT_BLAS_H

#include "core/kernels/kernels.h"

void product_blas_f32(const struct kernel_product_f32 *product);
void product_blas_f64(const struct kernel_product_f64 *product);

#endif
