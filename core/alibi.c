#include "core/alibi.h"

#include <math.h>

void alibi_slopes(size_t heads, enum dtype dtype, double *ret)
{
    size_t power = 1;
    while (power * 2 <= heads)
        power *= 2;
    for (size_t h = 0; h < heads; h++) {
        double step = h < power ? (double)(h + 1) : (double)(h - power) + 0.5;
        double slope = exp2(-8 * step / (double)power);
        ret[h] = dtype == DTYPE_F32 ? (double)(float)slope : slope;
    }
}
