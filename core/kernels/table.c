/* table.c: one processor's table of kernels, written in GCC's vector types. Built once per KERNEL_TARGET with that target's flags, and
 * with contraction to fused multiply-adds, without errno and traps: safe here, since nothing reads errno or the exception flags and
 * no step relies on a product being rounded on its own. */
#include "core/kernels/kernels.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/kernels/product_blas.h"

/* In the order in which each needs those before it. */
#include "core/kernels/vector.inc.h"

#include "core/kernels/exp.inc.h"

#include "core/kernels/finite.inc.h"
#include "core/kernels/softcap.inc.h"

#define REAL float
#define LANES lanes_f32
#define NAME(x) x##_f32
#include "core/kernels/mask.inc.h"
#include "core/kernels/rows.inc.h"
#undef REAL
#undef LANES
#undef NAME

#define REAL double
#define LANES lanes_f64
#define NAME(x) x##_f64
#include "core/kernels/mask.inc.h"
#include "core/kernels/rows.inc.h"
#undef REAL
#undef LANES
#undef NAME

/* What fits the registers: ROWS * VECTORS sums, VECTORS vectors of a panel's row, 1 element of the left operand. NEON belongs to
 * every arm64, so there the build says which table is to have products of its own. */
#if defined __AVX512F__
#define VECTOR_BYTES 64 /* 32 registers */
#define VECTORS 2
#define ROWS 12
#elif defined __AVX2__
#define VECTOR_BYTES 32 /* 16 registers */
#define VECTORS 2
#define ROWS 6
#elif defined KERNEL_NEON
#define VECTOR_BYTES 16 /* 32 registers */
#define VECTORS 4
#define ROWS 6
#endif

#ifdef VECTOR_BYTES

#define REAL float
#define INTEGER int32_t
#define LANES (VECTOR_BYTES / sizeof(float))
#define NAME(x) x##_f32
#include "core/kernels/product.inc.h"
#undef REAL
#undef INTEGER
#undef LANES
#undef NAME

#define REAL double
#define INTEGER int64_t
#define LANES (VECTOR_BYTES / sizeof(double))
#define NAME(x) x##_f64
#include "core/kernels/product.inc.h"
#undef REAL
#undef INTEGER
#undef LANES
#undef NAME

#define PRODUCT(precision) product_##precision
#define DOTS(precision) dots_##precision
#define PACK(precision) pack_##precision
#define PANEL_COLUMNS(type) (VECTORS * VECTOR_BYTES / sizeof(type))

#else

#define PRODUCT(precision) product_blas_##precision
#define DOTS(precision) NULL
#define PACK(precision) NULL
#define ROWS 0
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
    .rows_f32 = 2 * ROWS, /* two turns of a panel that is in the first cache */
    .rows_f64 = 2 * ROWS,
    .product_f32 = PRODUCT(f32),
    .product_f64 = PRODUCT(f64),
    .product_tells_max = ROWS != 0,
    .dots_f32 = DOTS(f32),
    .dots_f64 = DOTS(f64),
    .pack_f32 = PACK(f32),
    .pack_f64 = PACK(f64),
    .exp_row_f32 = exp_row_f32,
    .exp_row_f64 = exp_row_f64,
    .exp_finite_row_f32 = exp_finite_row_f32,
    .exp_finite_row_f64 = exp_finite_row_f64,
    .max_row_f32 = max_row_f32,
    .max_row_f64 = max_row_f64,
    .softcap_row_f32 = softcap_row_f32,
    .softcap_row_f64 = softcap_row_f64,
    .alibi_row_f32 = alibi_row_f32,
    .alibi_row_f64 = alibi_row_f64,
    .keep_row_f32 = keep_row_f32,
    .keep_row_f64 = keep_row_f64,
    .add_row_f32 = add_row_f32,
    .add_row_f64 = add_row_f64,
    .scale_row_f32 = scale_row_f32,
    .scale_row_f64 = scale_row_f64,
    .streaming_done = streaming_done,
    .scale_streaming_f32 = scale_streaming_f32,
    .scale_streaming_f64 = scale_streaming_f64,
    .finite_row_f32 = finite_row_f32,
    .finite_row_f64 = finite_row_f64,
};
