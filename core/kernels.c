#include "core/kernels.h"

extern const struct kernels kernels_generic;
#ifdef KERNEL_X86_64
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

const struct kernels *kernels_best(void)
{
#ifdef KERNEL_X86_64
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &kernels_avx2;
#endif
    return &kernels_generic;
}
