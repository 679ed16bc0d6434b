/* operations.inc.h: the operations of a table in one precision, each in a file that may use those before it. Included with REAL, INTEGER
 * (as wide), NAME(x) and, for float64, REAL_IS_F64 defined; undefines all of them. */
#include "core/kernels/vector.inc.h"

#ifdef REAL_IS_F64
#include "core/kernels/exp_f64.inc.h"
#else
#include "core/kernels/exp_f32.inc.h"
#endif
#include "core/kernels/exp_row.inc.h"
#include "core/kernels/mask_row.inc.h"
#include "core/kernels/rows.inc.h"
#if ROWS > 0
#include "core/kernels/dots.inc.h"
#include "core/kernels/pack.inc.h"
#include "core/kernels/product.inc.h"
#endif

#undef REAL
#undef INTEGER
#undef NAME
#undef REAL_IS_F64
#undef LANES
#undef PANEL
