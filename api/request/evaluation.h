/* evaluation.h: a plan being carried out: its memory, its numbers read and drawn, its attention computed.
 *
 * evaluation_allocate makes every allocation of an evaluation. It runs twice: first with a memory that only adds costs up,
 * then, once the limits have granted the sum, with the arena. So the computed cost and what is allocated cannot differ.
 *
 * Life     evaluation_allocate (cost), evaluation_allocate (arena), evaluation_read, evaluation_compute; then the reply is
 *          written from it.
 * Threads  an evaluation belongs to one thread; evaluation_read and evaluation_compute run on the executor. */
#ifndef ATTND_API_REQUEST_EVALUATION_H
#define ATTND_API_REQUEST_EVALUATION_H

#include "api/request/plan.h"
#include "core/attention/attention.h"
#include "core/executor.h"

struct evaluation_memory {
    struct arena *arena; /* NULL: only add up */
    size_t cost_bytes;   /* SIZE_MAX where it overflows */
};

/* Of rotary positions, core/rope.h; as many of each as the plan needs. */
struct evaluation_rope {
    double *frequencies, *lengths; /* [sets,dims/2]; [sets]: the lengths that they are for */
    double *short_factors, *long_factors;
    double *cosines, *sines;                      /* [rows,dims/2] */
    unsigned char *axes;                          /* [dims/2] */
    struct tensor query_positions, key_positions; /* (axes,B,T); data NULL: not rotated */
};

/* What a mask of numbers, which are added to the scores, was perhaps meant as. */
enum mask_look {
    MASK_LOOKS_ADDITIVE,
    MASK_LOOKS_BOOLEAN,  /* all of them 0 or 1, with a 1 */
    MASK_LOOKS_SEGMENTS, /* all of them integers from -1 on, with one above 1 */
};

struct evaluation {
    const struct plan *plan;
    const struct extract *extract;

    struct tensor tensors[REQUEST_TENSORS]; /* as the request shapes them; data NULL: absent, or a result (evaluation_tensor) */
    struct tensor weights[PROJECTIONS], biases[PROJECTIONS];
    struct tensor heads_output;                  /* [B,Tq,H*Dv], before an output projection */
    struct tensor results[RESULTS];              /* data NULL: neither asked for nor needed for another */
    struct tensor top_indices;                   /* int64, beside the weights that results[RESULT_TOP_KEYS] holds */
    int64_t *integers[REQUEST_INTEGERS];         /* of lists, as the request shapes them; NULL: not given, or one integer */
    size_t *query_lengths, *key_lengths;         /* [B]; NULL: all */
    int64_t *query_offsets, *prefix_lengths;     /* [B], or one a packed sequence; prefix_lengths NULL: none */
    struct attention_sequence *sequences;        /* packed; NULL: none are */
    int64_t *packed_positions[2];                /* of their queries and keys, which begin anew in each */
    double *alibi_slopes, *sinks;                /* [H] */
    double *query_scales;                        /* as the request shapes them; NULL: none */
    double *relative_table;                      /* [buckets,H]; NULL: none */
    struct relative_bias_range *relative_ranges; /* [buckets] */
    size_t *head_places;                         /* [H], of the selection; NULL: all heads */
    struct attention_selection selection;
    struct evaluation_rope rope;
    double *norm_weights[2]; /* of queries, of keys; NULL: 1 */
    char *reply_buffer;      /* for the protocol to write to */

    struct attention_params params;
    struct attention_results attention;
    enum mask_look mask_look;
};

/* Where the numbers of a request's tensor are: query, key and value are results at the same time. */
static inline struct tensor *evaluation_tensor(struct evaluation *evaluation, enum request_tensor which)
{
    switch (which) {
    case REQUEST_QUERY:
        return &evaluation->results[RESULT_QUERY];
    case REQUEST_KEY:
        return &evaluation->results[RESULT_KEY];
    case REQUEST_VALUE:
        return &evaluation->results[RESULT_VALUE];
    default:
        return &evaluation->tensors[which];
    }
}

/* What the reply holds of the results asked for: one tensor each, two of top_keys. */
struct result_part {
    enum request_result result;
    const char *member; /* "indices" or "weights" of top_keys; NULL: it is the result */
    const struct tensor *tensor;
};
#define RESULT_PARTS_MAX (RESULTS + 1)

/* Returns how many, in the order of enum request_result. */
size_t evaluation_result_parts(const struct evaluation *evaluation, struct result_part ret[RESULT_PARTS_MAX]);

/* Memory for `bytes`, or while costs are added up an address that is not to be used. */
void *evaluation_take(struct evaluation_memory *memory, size_t bytes, struct error *err);

/* Sets every tensor's shape and allocates it; `reply_bytes_max` is the size of the reply buffer. */
bool evaluation_allocate(struct evaluation *evaluation, const struct executor *executor, size_t reply_bytes_max,
                         struct evaluation_memory *memory, struct error *err) __attribute__((warn_unused_result));

/* Reads what the body holds. */
bool evaluation_read(struct evaluation *evaluation, const struct executor *executor, struct error *err)
    __attribute__((warn_unused_result));

/* Steps of evaluation_read, once the numbers they depend on are read: a mask's polarity, and what its numbers look
 * like; where queries and keys stand (params.query_positions, params.key_positions), and how many of them there are, a mask that
 * ends early considered. */
void evaluation_resolve_mask(struct evaluation *evaluation);
void evaluation_resolve_selection(struct evaluation *evaluation);
bool evaluation_resolve_positions(struct evaluation *evaluation, struct error *err) __attribute__((warn_unused_result));

/* Where a call of attention finds what rules count by: known before anything is read, and needed for its cost. */
void evaluation_set_rules(struct evaluation *evaluation);

/* The lists of integers. */
bool evaluation_read_integers(struct evaluation *evaluation, const struct executor *executor, struct error *err)
    __attribute__((warn_unused_result));

/* Numbers of which every one has to be finite, rounded to the precision; nothing where the input is absent. */
bool evaluation_read_finite(const struct evaluation *evaluation, const struct tensor_input *input, double *ret,
                            struct error *err) __attribute__((warn_unused_result));

/* Draws what the body does not hold, projects, and computes attention. `arena` is for scratch memory. */
bool evaluation_compute(struct evaluation *evaluation, struct arena *arena, const struct executor *executor, struct error *err)
    __attribute__((warn_unused_result));

#endif
