/* target.inc.h: the registers of the processor that is compiled for, and what fits them: a panel of VECTORS vectors, ROWS
 * rows of sums for each, and an element of the left operand. Scores, too, are read a panel at a time. NEON belongs to every
 * arm64, so there the build says which table has products of its own. */

#ifdef __x86_64__
#include <immintrin.h>
#endif

#if defined __AVX512F__
#define VECTOR_BYTES 64 /* 32 registers */
#define VECTORS 2
#define ROWS 12
#elif defined __AVX2__
#define VECTOR_BYTES 32 /* 16 registers */
#define VECTORS 2
#define ROWS 6
#elif defined KERNEL_NEON
#define VECTOR_BYTES 16 /* 32 registers */
#define VECTORS 4
#define ROWS 6
#elif defined KERNEL_PORTABLE
#define VECTOR_BYTES 16 /* 16 registers, as every x86-64 has */
#define VECTORS 2
#define ROWS 6
#else
#define VECTOR_BYTES 16
#define VECTORS 4
#define ROWS 0 /* products are OpenBLAS's */
#endif

/* Puts all streaming stores of the thread before those that follow. */
static void streaming_done(void)
{
#if defined __AVX512F__ || defined __AVX2__
    _mm_sfence();
#endif
}
