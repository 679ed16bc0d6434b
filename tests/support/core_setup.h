/* core_setup.h: core as tests want it: OpenBLAS without threads of its own, and each kernel table in turn. */
#ifndef ATTND_TESTS_SUPPORT_CORE_SETUP_H
#define ATTND_TESTS_SUPPORT_CORE_SETUP_H

#include <stddef.h>
#include <stdlib.h>

#include "core/blas.h"
#include "core/kernels/kernels.h"

/* A cmocka group's set-up: OpenBLAS as the daemon runs it. */
static inline int core_setup(void **state)
{
    (void)state;
    blas_init();
    return 0;
}

/* Has core compute with kernel table k of those that this processor runs, modulo how many there are; 0 is the fastest. */
static inline void kernel_in_turn(size_t k)
{
    size_t count = 1; /* there is always one */
    while (kernels_at(count) != NULL)
        count++;
    if (!kernels_choose(kernels_at(k % count)->name))
        abort();
}

#endif
