/* precision.h: which float32 items are computed in double.
 *
 * Small ones are, and rounded once at the end: the digits that a person compares by eye are then the nearest ones on every
 * processor, at no cost that could be noticed beside the request itself. An item's size is Tq*Tk*(D+Dv) for attention and T*C*O
 * for a projection. Keys and values are converted and packed whatever Tq is, which takes as long as some tens of queries do:
 * so fewer queries count as F32_IN_F64_QUERIES_MIN, and decoding over more than a few keys is computed in float32. */
#ifndef ATTND_CORE_PRECISION_H
#define ATTND_CORE_PRECISION_H

#include <stddef.h>

#define F32_IN_F64_PRODUCTS_MAX ((size_t)64 * 64 * 128) /* as 64 x 64 x (64+64) */
#define F32_IN_F64_QUERIES_MIN ((size_t)32)

#endif
