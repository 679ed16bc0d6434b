/* kv_cache.h: the keys and values that attention sees where a past is given: the past's, then the new ones.
 *
 * Runs when the new keys are projected and rotated: the past's were when they were new. */
#ifndef ATTND_API_REQUEST_KV_CACHE_H
#define ATTND_API_REQUEST_KV_CACHE_H

#include "api/request/evaluation.h"

/* Copies past and new tokens into the present caches, in the caches' layout. Does nothing where the new ones are the present
 * ones. */
void kv_cache_concatenate(struct evaluation *evaluation);

#endif
