#include "core/kernels/kernels.h"

#include <string.h>

extern const struct kernels kernels_generic;
#if defined __x86_64__
extern const struct kernels kernels_avx2, kernels_avx512;
#elif defined __aarch64__
extern const struct kernels kernels_neon;
#endif

static const struct kernels *chosen; /* NULL: the fastest */

const struct kernels *kernels_at(size_t i)
{
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && i-- == 0)
        return &kernels_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && i-- == 0)
        return &kernels_avx2;
#elif defined __aarch64__
    if (i-- == 0) /* every arm64 has NEON */
        return &kernels_neon;
#endif
    return i == 0 ? &kernels_generic : NULL;
}

const struct kernels *kernels_in_use(void)
{
    return chosen != NULL ? chosen : kernels_at(0);
}

const struct kernels *kernels_row_invariant(void)
{
    const struct kernels *kernels = kernels_in_use();
    return kernels->product_is_chain ? kernels : &kernels_portable;
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
