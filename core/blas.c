#include "core/blas.h"

#include <cblas.h>
#include <stddef.h>
#include <string.h>

const char *blas_name(void)
{
    return openblas_get_config();
}

void blas_init(void)
{
    openblas_set_num_threads(1);
}

bool blas_knows_processor(void)
{
#ifdef __x86_64__
    static const char *const with_avx2[] = {"Haswell", "Zen", "SkylakeX", "Cooperlake", "Sapphirerapids", "Excavator"};
    for (size_t i = 0; i < sizeof with_avx2 / sizeof *with_avx2; i++)
        if (strcmp(openblas_get_corename(), with_avx2[i]) == 0)
            return true;
    return !__builtin_cpu_supports("avx2");
#else
    return true;
#endif
}
