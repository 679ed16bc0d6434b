/* blas.h: the one setting of the BLAS library that core relies on. */
#ifndef ATTND_CORE_BLAS_H
#define ATTND_CORE_BLAS_H

#include <stdbool.h>

/* Each BLAS call runs on its caller's thread alone from now on; core's own tasks are what runs in parallel. Call once,
 * before any computation, from one thread. */
void blas_init(void);

/* The library's version and the kernels it runs with. Static. */
const char *blas_name(void);

/* False where this processor has AVX2 but the library does not know it, and takes it for one without: projections of large inputs are
 * several times as slow then. Which kernels it takes can be said by OPENBLAS_CORETYPE alone, before the program starts. */
bool blas_knows_processor(void);

#endif
