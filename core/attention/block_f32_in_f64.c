/* A block in float32 computed in double. */
#define ELEMENT float
#define REAL double
#define KERNEL(x) x##_f64
#define NAME(x) x##_f32_in_f64

#include "core/attention/block.inc.h"
