#include "core/attention_plan.h"

#define ELEMENT float
#define REAL double
#define KERNEL(x) x##_f64
#define NAME(x) x##_wide

#include "core/attention_block.inc.h"
