/* A block in float32. */
#define ELEMENT float
#define REAL float
#define KERNEL(x) x##_f32
#define NAME(x) x##_f32

#include "core/attention/block.inc.h"
