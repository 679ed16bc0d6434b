#include "core/blas.h"

#include <cblas.h>

void blas_init(void)
{
    openblas_set_num_threads(1);
}
