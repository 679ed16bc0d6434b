#include "core/kernels.h"

#include <string.h>

extern const struct kernels kernels_generic;
#ifdef KERNEL_X86_64
extern const struct kernels kernels_avx2, kernels_avx512;
#endif

static const struct kernels *chosen; /* NULL: the fastest */

const struct kernels *kernels_at(size_t i)
{
#ifdef KERNEL_X86_64
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && i-- == 0)
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && i-- == 0)
        return &kernels_avx2;
#endif
    return i == 0 ? &kernels_generic : NULL;
}

const struct kernels *kernels_in_use(void)
{
    return chosen != NULL ? chosen : kernels_at(0);
}

bool kernels_choose(const char *name)
{
    for (size_t i = 0; kernels_at(i) != NULL; i++) {
        if (strcmp(kernels_at(i)->name, name) != 0)
            continue;
        chosen = kernels_at(i);
        return true;
    }
    return false;
}
