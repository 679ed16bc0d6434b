/* slice_buffers.h: what a slice holds, for slice.c to fill and finish.c to finish. */
#ifndef ATTND_API_COMPARE_SLICE_BUFFERS_H
#define ATTND_API_COMPARE_SLICE_BUFFERS_H

#include "api/compare/variant.h"

struct slice {
    bool wanted[RESULTS];     /* of RESULT_OUTPUT to RESULT_LSE */
    double *buffers[RESULTS]; /* scores and masked scores always; others where wanted */
    double *heads;            /* (B,n,H*Dv): the output of all heads beside each other */
    size_t numbers[RESULTS];  /* that each buffer holds */
    size_t heads_numbers;
    int64_t *query_offsets; /* [B]: where the slice begins */
    size_t *query_lengths;  /* [B]: of the slice */
    size_t scratch_bytes;   /* core's, at most */

    /* What it holds now. */
    struct variant *variant;
    size_t first, count;
};

#endif
