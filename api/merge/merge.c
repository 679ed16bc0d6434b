/* merge.c: POST /attention/merge: the output and lse of several parts of the keys, as those of all of them.
 *
 * All lse are read first and become weights; then each part's output is read in turn, to the same memory, and added. So a merge takes
 * memory for two outputs, however many parts there are. */
#include "core/merge.h"
#include "api/json/array_check.h"
#include "api/json/document.h"
#include "api/merge/merge_read.h"
#include "api/merge/merge_shapes.h"
#include "api/merge/merge_write.h"
#include "api/protocol/problem.h"
#include "core/size.h"

static bool accepts(const struct api_request *sent, struct error *err)
{
    return api_protocol_attention.accepts(sent, err);
}

/* A call, from its body to its reply. */
struct call {
    struct merge *merge;
    size_t row_count;
    double *lse;        /* (parts, rows): read, then weights */
    double *merged_lse; /* [rows] */
    double *part, *sum; /* an output each */
    char *reply_buffer;
    struct merged merged;
};

static size_t output_bytes(const struct merge *merge)
{
    return size_multiply(sizeof(double), shape_count(merge->parts[0].output.rank, merge->parts[0].output.shape));
}

/* Has the limits grant what the merge needs, and allocates it. */
static bool allocate(struct call *c, const struct api_limits *limits, struct api_call *call, struct error *err)
{
    const struct merge *merge = c->merge;
    c->row_count = shape_count(merge->parts[0].lse.rank, merge->parts[0].lse.shape);
    const size_t lse_bytes = size_multiply(sizeof(double), c->row_count),
                 all_bytes = size_multiply(lse_bytes, merge->part_count);
    const size_t bytes = output_bytes(merge), reply_bytes = merge_write_bytes_max(merge);
    const struct api_cost cost = {
        .memory_bytes = size_add(size_add(arena_cost(all_bytes), arena_cost(lse_bytes)),
                                 size_add(size_multiply(2, arena_cost(bytes)), arena_cost(reply_bytes))),
        .products = size_multiply(merge->part_count, size_add(c->row_count, bytes / sizeof(double))),
    };
    if (!protocol_reserve(limits, &cost, call, err))
        return false;
    c->lse = arena_alloc(&call->arena, all_bytes, err);
    c->merged_lse = arena_alloc(&call->arena, lse_bytes, err);
    c->part = arena_alloc(&call->arena, bytes, err);
    c->sum = arena_alloc(&call->arena, bytes, err);
    c->reply_buffer = arena_alloc(&call->arena, reply_bytes, err);
    return err->code == ERROR_NONE;
}

static bool read_lse(const struct call *c, const struct executor *executor, struct error *err)
{
    const struct merge *merge = c->merge;
    for (size_t p = 0; p < merge->part_count; p++) {
        const struct tensor_input *input = &merge->parts[p].lse;
        const struct tensor t = tensor_contiguous(c->lse + p * c->row_count, DTYPE_F64, input->rank, input->shape);
        if (!tensor_input_load(merge->extract, input, executor, &t, err))
            return false;
    }
    return true;
}

static bool add_parts(const struct call *c, const struct executor *executor, struct error *err)
{
    const struct merge *merge = c->merge;
    const struct tensor sum = merge_view(merge, c->sum);
    for (size_t i = 0; i < output_bytes(merge) / sizeof(double); i++)
        c->sum[i] = 0;
    for (size_t p = 0; p < merge->part_count; p++) {
        const struct tensor_input *input = &merge->parts[p].output;
        const void *in_place = tensor_input_in_place(input, DTYPE_F64);
        void *data = in_place != NULL ? (void *)(uintptr_t)in_place : c->part;
        const struct tensor t = tensor_contiguous(data, DTYPE_F64, input->rank, input->shape), view = merge_view(merge, data);
        if (!tensor_input_load(merge->extract, input, executor, &t, err))
            return false;
        merge_add(&view, c->lse + p * c->row_count, &sum, executor);
        if (executor_stopped(executor))
            return executor_set_stopped(err);
    }
    return true;
}

/* Rounds a result to the reply's precision, in place. */
static bool round_result(const struct merge *merge, const char *name, const struct tensor_input *like, double *data,
                         struct tensor *ret, struct error *err)
{
    *ret = tensor_contiguous(data, DTYPE_F64, like->rank, like->shape);
    if (merge->request.dtype == DTYPE_F64)
        return true;
    const size_t overflowed = element_overflow(ELEMENT_F32, ret);
    if (overflowed < tensor_count(ret))
        return error_set_at(err, ERROR_INVALID, "/parts",
                            "the merged %s holds %.9g, which overflows float32: ask for \"precision\": \"float64\"", name,
                            data[overflowed]);
    (void)element_pack(ELEMENT_F32, ret);
    ret->dtype = DTYPE_F32;
    return true;
}

static bool compute(struct call *c, const struct executor *executor, struct error *err)
{
    const struct merge *merge = c->merge;
    c->merged.masked_row_count =
        merge_weights(c->lse, merge->part_count, c->row_count, merge->request.lse_base_2, c->merged_lse);
    return add_parts(c, executor, err) &&
           round_result(merge, "output", &merge->parts[0].output, c->sum, &c->merged.output, err) &&
           round_result(merge, "lse", &merge->parts[0].lse, c->merged_lse, &c->merged.lse, err);
}

static bool answer(const struct api_request *sent, const struct api_limits *limits, const struct executor *executor,
                   struct api_call *call, struct error *err)
{
    struct call c = {0};
    double since_ms = protocol_now_ms();
    call->arena.cap_bytes += size_add(merge_read_cost(), arena_cost(sizeof *c.merge));
    c.merge = arena_alloc(&call->arena, sizeof *c.merge, err);
    bool read = c.merge != NULL && merge_read(sent, &call->arena, c.merge, err) && allocate(&c, limits, call, err) &&
                read_lse(&c, executor, err);
    call->timings.parse_ms = protocol_lap_ms(&since_ms);
    bool computed = read && compute(&c, executor, err);
    call->timings.compute_ms = protocol_lap_ms(&since_ms);
    if (!computed) {
        if (c.merge != NULL)
            array_check_explain_text(c.merge->extract, &call->arena, executor, err);
        return false;
    }
    bool written = merge_write(c.merge, &c.merged, c.reply_buffer, executor, &call->reply, err);
    call->timings.encode_ms = protocol_lap_ms(&since_ms);
    return written;
}

const struct api_protocol api_protocol_merge = {
    .name = "/attention/merge",
    .accepts = accepts,
    .answer = answer,
    .error_type = "application/problem+json",
    .write_error = problem_write,
};
