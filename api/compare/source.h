/* source.h: the tensors of a request, read or drawn once, and the request again with each of them in memory: so a changed
 * request is evaluated as any other, without a text to parse.
 *
 * Numbers are float64, whatever the request's precision: what is compared is the convention, not our rounding.
 *
 * Memory   borrows the request, the extract and the body; allocates from the arena.
 * Threads  an executor may help to read; after that the source is read only. */
#ifndef ATTND_API_COMPARE_SOURCE_H
#define ATTND_API_COMPARE_SOURCE_H

#include "api/request/plan.h"
#include "core/executor.h"

struct source {
    const struct extract *extract;
    const struct request *asked; /* as the client wrote it */
    const struct plan *plan;     /* of `request`, in float64 */
    struct request request;      /* its tensors are bytes in memory */
    struct tensor tensors[REQUEST_TENSORS];
    struct tensor weights[PROJECTIONS], biases[PROJECTIONS];
    bool mask_is_flags; /* numbers, all of them 0 or 1 */
};

/* What source_read allocates at most. `plan` is the request's in float64. */
size_t source_cost(const struct plan *plan);

/* Reads and draws. `ret->plan` is `plan`, which stays valid.
 * Fails   as tensor_input_load. */
bool source_read(struct source *ret, const struct request *asked, const struct plan *plan, const struct extract *extract,
                 struct arena *arena, const struct executor *executor, struct error *err) __attribute__((warn_unused_result));

/* What the seed draws, in another order of tensors (request_tensor) and projections: numbers go to `tensors` and `weights`,
 * which are views of the right shapes. `order` holds the projections first to last. */
void source_draw(const struct source *source, const enum request_projection order[PROJECTIONS], bool projections_first,
                 const struct tensor tensors[REQUEST_TENSORS], const struct tensor weights[PROJECTIONS]);

/* True where the seed draws the tensor or projection. */
bool source_draws_tensor(const struct source *source, enum request_tensor which);
bool source_draws_weight(const struct source *source, enum request_projection which);

/* An input of numbers or booleans that lie in memory. */
void source_input(const struct tensor *t, struct tensor_input *ret);

#endif
