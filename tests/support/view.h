/* view.h: strided views over fresh memory, and their values as plain doubles.
 *
 * Each view has a block of its own that ends where its last element ends, so a sanitizer sees a read or a write past it.
 * The bytes between the elements hold VIEW_GAP_BYTE, NaN in both precisions: a stray read shows, and view_gaps_untouched
 * finds a stray write. */
#ifndef ATTND_TESTS_SUPPORT_VIEW_H
#define ATTND_TESTS_SUPPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tensor.h"
#include "tests/support/draw.h"

#define VIEW_GAP_BYTE 0xff
#define VIEW_COUNT_MAX 24

struct view_pool {
    unsigned char *blocks[VIEW_COUNT_MAX]; /* owned */
    size_t block_bytes[VIEW_COUNT_MAX];
    size_t count;
};

/* A contiguous view; its elements hold VIEW_GAP_BYTE. */
struct tensor view_contiguous(struct view_pool *pool, enum dtype dtype, size_t rank, const size_t *shape);

/* As view_contiguous, but with a drawn layout: axes permuted, gaps, negative strides, an unaligned start; and some of the
 * first `repeatable` axes with stride 0. */
struct tensor view_drawn(struct view_pool *pool, enum dtype dtype, size_t rank, const size_t *shape, struct draw *draw,
                         size_t repeatable);

void view_pool_done(struct view_pool *pool);

/* The values, row-major, as doubles. New: the caller frees them. Never NULL. */
double *view_values(const struct tensor *view);

/* Writes row-major values, rounded to the view's dtype. */
void view_store(const struct tensor *view, const double *values);

/* Fills with normal numbers, mean 0 and variance 1. */
void view_store_normal(const struct tensor *view, struct draw *draw);

/* One element's address: [i0, i1, ...] with as many indices as the view has axes. */
void *view_at(const struct tensor *view, const size_t *index);

/* The part of axis `axis` from `first` on, `length` long. */
struct tensor view_slice(const struct tensor *view, size_t axis, size_t first, size_t length);

/* True where every byte of the view's block that belongs to no element still holds VIEW_GAP_BYTE. Overwrites the
 * view's elements. */
bool view_gaps_untouched(struct view_pool *pool, const struct tensor *view);

/* calloc that never fails and never returns NULL, for arrays the tests index by hand. */
void *test_alloc(size_t count, size_t element_bytes);

#endif
