/* A block in float64. */
#define ELEMENT double
#define REAL double
#define KERNEL(x) x##_f64
#define NAME(x) x##_f64

#include "core/attention/block.inc.h"
