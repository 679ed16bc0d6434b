/* job.h: a plan at work: its memory, its numbers read and drawn, its attention computed.
 *
 * job_lay_out walks over every allocation of the job. It is run twice: first with a memory that only sums costs up, then, once
 * the limits have agreed to the sum, with the arena. So the computed cost and what is taken cannot differ.
 *
 * Life     job_lay_out (costs), job_lay_out (arena), job_read, job_compute, then the reply is written from it.
 * Threads  one job belongs to one thread; job_read and job_compute spread over the executor. */
#ifndef ATTND_API_JOB_H
#define ATTND_API_JOB_H

#include "api/plan.h"
#include "core/attention.h"
#include "core/executor.h"

struct job_memory {
    struct arena *arena; /* NULL: only sum up */
    size_t cost_bytes;   /* SIZE_MAX where it overflows */
};

struct job {
    const struct plan *plan;
    const struct lift *lift;

    struct tensor tensors[REQUEST_TENSORS]; /* as the request shapes them; data NULL: absent, or the same as a result */
    struct tensor weights[PROJECTIONS], biases[PROJECTIONS];
    struct tensor heads_output;     /* [B,Tq,H*Dv], before an output projection */
    struct tensor results[RESULTS]; /* data NULL: neither asked for nor needed on the way */
    double *key_length_reals;       /* [B], as read */
    size_t *key_lengths;            /* [B] */
    int64_t *query_offsets;         /* [B] */
    double *alibi_slopes, *sinks;   /* [H] */
    char *text;                     /* the reply's room */

    struct attention_problem problem;
    struct attention_results attention;
    bool mask_looks_boolean; /* numbers, and all of them 0 or 1 */
};

/* Sets every tensor's shape and takes its memory; `text_bytes` is what the reply needs at the most. */
bool job_lay_out(struct job *job, const struct executor *executor, size_t text_bytes, struct job_memory *memory,
                 struct error *err) __attribute__((warn_unused_result));

/* Reads what the body holds. */
bool job_read(struct job *job, const struct executor *executor, struct error *err) __attribute__((warn_unused_result));

/* Draws what it does not, projects, and computes attention. */
bool job_compute(struct job *job, struct arena *arena, const struct executor *executor, struct error *err)
    __attribute__((warn_unused_result));

#endif
