/* each_kernel.h: every kernel table that this processor runs takes its turn, case by case. */
#ifndef ATTND_TESTS_SUPPORT_EACH_KERNEL_H
#define ATTND_TESTS_SUPPORT_EACH_KERNEL_H

#include <stddef.h>
#include <stdlib.h>

#include "core/kernels/kernels.h"

/* Lets core compute with table k, modulo how many there are; 0 is the fastest. */
static inline void each_kernel(size_t k)
{
    size_t count = 1; /* there is always one */
    while (kernels_at(count) != NULL)
        count++;
    if (!kernels_choose(kernels_at(k % count)->name))
        abort();
}

#endif
