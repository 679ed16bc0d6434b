/* alibi.h: the slopes of ALiBi (Press et al. 2022): what a key's score loses for each position between it and the query.
 *
 * A geometric sequence from 2^(-8/n); where the number of heads is not a power of two, that of the power below it, then every other one
 * of the power above. Threads: reentrant. */
#ifndef ATTND_CORE_ALIBI_H
#define ATTND_CORE_ALIBI_H

#include <stddef.h>

#include "core/tensor.h"

/* Writes one slope a head, rounded to `dtype`. */
void alibi_slopes(size_t heads, enum dtype dtype, double *ret);

#endif
