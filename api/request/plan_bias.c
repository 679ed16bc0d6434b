#include "api/request/plan_bias.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/relative_bias.h"

static bool check_table(const struct plan *plan, struct error *err)
{
    const struct tensor_input *table = &plan->request->relative_bias.table;
    char shape[SHAPE_TEXT_BYTES_MAX];
    if (table->rank == 2 && table->shape[1] == plan->H)
        return true;
    bool transposed = table->rank == 2 && table->shape[0] == plan->H;
    return error_set_at(err, ERROR_INVALID, table->pointer,
                        "shape %s, where [buckets, %zu] is expected: one row per bucket, of one number per query head%s",
                        shape_text(table->rank, table->shape, shape, sizeof shape), plan->H,
                        transposed ? "; transposed it fits" : "");
}

static bool check_buckets(const struct plan *plan, struct error *err)
{
    const struct relative_bias_request *bias = &plan->request->relative_bias;
    size_t buckets = bias->table.shape[0], least = bias->bidirectional ? 4 : 2;
    size_t exact = relative_bias_exact(buckets, bias->bidirectional);
    if (buckets < least || buckets > REQUEST_BUCKETS_MAX)
        return error_set_at(
            err, ERROR_INVALID, bias->table.pointer,
            "a table of %zu row%s, one per bucket, where %zu to %d are expected (a bias of each query and key is "
            "bias)",
            buckets, buckets == 1 ? "" : "s", least, REQUEST_BUCKETS_MAX);
    if (bias->bidirectional && buckets % 2 != 0)
        return error_set_at(
            err, ERROR_INVALID, bias->table.pointer,
            "a table of %zu rows, one per bucket: bidirectional, one half is for keys before the query and the other for keys "
            "after it, so their number is even; T5's decoder has \"bidirectional\": false",
            buckets);
    return bias->max_distance > (int64_t)exact ||
           error_set_at(err, ERROR_INVALID, "/relative_bias/max_distance",
                        "%" PRId64 ", where more than %zu is expected: distances below %zu have a bucket each",
                        bias->max_distance, exact, exact);
}

static bool check_query_scale(const struct plan *plan, struct error *err)
{
    const struct tensor_input *scale = &plan->request->query_scale;
    bool shared = scale->rank == 1 && scale->shape[0] == plan->Tq;
    bool each = plan->has_batch && scale->rank == 2 && scale->shape[0] == plan->B && scale->shape[1] == plan->Tq;
    char shape[SHAPE_TEXT_BYTES_MAX], batched[SHAPE_TEXT_BYTES_MAX] = "";
    if (scale->kind == TENSOR_INPUT_ABSENT || shared || each)
        return true;
    if (plan->has_batch)
        (void)snprintf(batched, sizeof batched, " or [%zu, %zu]", plan->B, plan->Tq);
    return error_set_at(err, ERROR_INVALID, scale->pointer, "shape %s, where [%zu]%s is expected: one factor per query",
                        shape_text(scale->rank, scale->shape, shape, sizeof shape), plan->Tq, batched);
}

bool plan_bias_resolve(const struct plan *plan, struct error *err)
{
    const struct relative_bias_request *bias = &plan->request->relative_bias;
    if (bias->given && bias->table.kind == TENSOR_INPUT_ABSENT)
        return error_set_at(err, ERROR_INVALID, "/relative_bias/table",
                            "table is missing: [buckets, H], the weight of T5's relative_attention_bias");
    if (bias->given && (!check_table(plan, err) || !check_buckets(plan, err)))
        return false;
    return check_query_scale(plan, err);
}
