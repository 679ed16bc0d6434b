/* table.c: one processor's table of kernels, written in GCC's vector types. Built once per KERNEL_TARGET with that target's
 * flags, and with contraction to fused multiply-adds, without errno and traps: safe here, since nothing reads errno or the
 * exception flags and no step relies on a product being rounded on its own. */
#include "core/kernels/kernels.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/kernels/product_blas.h"
#include "core/kernels/target.inc.h"

#define REAL float
#define INTEGER int32_t
#define NAME(x) x##_f32
#include "core/kernels/operations.inc.h"

#define REAL double
#define REAL_IS_F64
#define INTEGER int64_t
#define NAME(x) x##_f64
#include "core/kernels/operations.inc.h"

#include "core/kernels/columns.inc.h"
#include "core/kernels/softcap.inc.h"

#define ROW_STEP(type) (VECTORS * VECTOR_BYTES / sizeof(type))

#if ROWS > 0
#define PRODUCT(precision) product_##precision
#define DOTS(precision) dots_##precision
#define PACK(precision) pack_##precision
#define PANEL_COLUMNS(type) ROW_STEP(type)
#else
#define PRODUCT(precision) product_blas_##precision
#define DOTS(precision) NULL
#define PACK(precision) NULL
#define PANEL_COLUMNS(type) 0
#endif

#define TARGET_NAME_(target) #target
#define TARGET_NAME(target) TARGET_NAME_(target)
#define TARGET_TABLE_(target) kernels_##target
#define TARGET_TABLE(target) TARGET_TABLE_(target)

extern const struct kernels TARGET_TABLE(KERNEL_TARGET);
const struct kernels TARGET_TABLE(KERNEL_TARGET) = {
    .name = TARGET_NAME(KERNEL_TARGET),
    .panel_columns_f32 = PANEL_COLUMNS(float),
    .panel_columns_f64 = PANEL_COLUMNS(double),
    .row_step_f32 = ROW_STEP(float),
    .row_step_f64 = ROW_STEP(double),
    .rows_f32 = 2 * ROWS, /* a panel is read twice while it is in the first cache */
    .rows_f64 = 2 * ROWS,
    .product_f32 = PRODUCT(f32),
    .product_f64 = PRODUCT(f64),
    .product_is_chain = ROWS > 0,
    .dots_f32 = DOTS(f32),
    .dots_f64 = DOTS(f64),
    .pack_f32 = PACK(f32),
    .pack_f64 = PACK(f64),
    .exp_row_f32 = exp_row_f32,
    .exp_row_f64 = exp_row_f64,
    .exp_finite_row_f32 = exp_finite_row_f32,
    .exp_finite_row_f64 = exp_finite_row_f64,
    .exp_entropy_row_f32 = exp_entropy_row_f32,
    .exp_entropy_row_f64 = exp_entropy_row_f64,
    .add_columns_f32 = add_columns_f32,
    .add_columns_f64 = add_columns_f64,
    .max_columns_f32 = max_columns_f32,
    .max_columns_f64 = max_columns_f64,
    .softcap_row_f32 = softcap_row_f32,
    .softcap_row_f64 = softcap_row_f64,
    .alibi_row_f32 = alibi_row_f32,
    .alibi_row_f64 = alibi_row_f64,
    .mask_row_f32 = mask_row_f32,
    .mask_row_f64 = mask_row_f64,
    .scale_row_f32 = scale_row_f32,
    .scale_row_f64 = scale_row_f64,
    .streaming_done = streaming_done,
    .scale_streaming_f32 = scale_streaming_f32,
    .scale_streaming_f64 = scale_streaming_f64,
    .find_above_f32 = find_above_f32,
    .find_above_f64 = find_above_f64,
    .finite_row_f32 = finite_row_f32,
    .finite_row_f64 = finite_row_f64,
};
