/* blas_setup.h: a cmocka group's set-up: OpenBLAS without threads of its own, as the daemon runs it. */
#ifndef ATTND_TESTS_SUPPORT_BLAS_SETUP_H
#define ATTND_TESTS_SUPPORT_BLAS_SETUP_H

#include "core/blas.h"

static inline int blas_setup(void **state)
{
    (void)state;
    blas_init();
    return 0;
}

#endif
