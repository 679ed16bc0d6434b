#include "core/blas.h"

#include <cblas.h>

const char *blas_name(void)
{
    return openblas_get_config();
}

void blas_init(void)
{
    openblas_set_num_threads(1);
}
