/* request_oracle_reductions.c: what comes of the weights: sums over queries, entropy, the largest, and pooled. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/request_oracle.h"
#include "tests/support/view.h"

/* [B?, H?, rest...], each number allowed to be off by `allowed` times what it is, at least 1. */
static struct json_tensor reduction(const struct request_answer *answer, size_t rest_rank, const size_t *rest,
                                    const double *values, double allowed)
{
    size_t shape[4], rank = 0;
    if (answer->has_batch)
        shape[rank++] = answer->B;
    if (answer->has_heads)
        shape[rank++] = answer->H;
    for (size_t k = 0; k < rest_rank; k++)
        shape[rank++] = rest[k];
    struct json_tensor ret = json_tensor_new(rank, shape);
    memcpy(ret.values, values, ret.count * sizeof *values);
    json_tensor_allow(&ret);
    for (size_t k = 0; k < ret.count; k++)
        ret.allowed[k] = allowed * fmax(1, fabs(values[k]));
    return ret;
}

static size_t integer_at(json_t *array, size_t i)
{
    return (size_t)json_number_value(json_array_get(array, i));
}

void answer_reductions(struct request_answer *answer, const struct attention_params *params, struct oracle_results *oracle)
{
    json_t *top = answer_field(answer, "top"), *pool = answer_field(answer, "pool"), *by = answer_field(answer, "pool_by");
    const size_t Tq = answer->Tq, Tk = answer->Tk, rows = answer->B * answer->H * Tq;
    const size_t cells[2] = {integer_at(pool, 0), integer_at(pool, 1)}, best[2] = {Tq, (size_t)json_number_value(top)};
    double magnitude = 0;
    for (size_t row = 0; row < rows; row++)
        magnitude = fmax(magnitude, oracle->magnitudes[row]);
    double allowed = answer->score_bound = answer_bound(answer, magnitude);
    bool largest = by != NULL && strcmp(json_string_value(by), "max") == 0;
    oracle_reduce(params, best[1], cells[0], cells[1], largest, oracle);
    answer->results[ANSWER_KEY_SUMS] = reduction(answer, 1, &Tk, oracle->key_sums, allowed);
    answer->results[ANSWER_ENTROPY] = reduction(answer, 1, &Tq, oracle->entropy, allowed);
    answer->results[ANSWER_TOP_KEYS] = reduction(answer, 2, best, oracle->top_weights, allowed);
    answer->results[ANSWER_POOLED_WEIGHTS] = reduction(answer, 2, cells, oracle->pooled_weights, allowed);
    answer->top_indices = reduction(answer, 2, best, oracle->top_indices, 0);
    answer->masked_scores = test_alloc(rows * Tk, sizeof(double));
    memcpy(answer->masked_scores, oracle->masked_scores, rows * Tk * sizeof(double));
}

bool answer_names_key(const struct request_answer *answer, double got, size_t k)
{
    const double want = answer->top_indices.values[k];
    const size_t top = answer->top_indices.shape[answer->top_indices.rank - 1];
    const double *scores = answer->masked_scores + k / top * answer->Tk;
    if (got == want)
        return true;
    if (got < 0 || want < 0 || got >= (double)answer->Tk)
        return false;
    double a = scores[(size_t)got], b = scores[(size_t)want];
    return fabs(a - b) <= 2 * answer->score_bound;
}

/* Element k of a result that is cut: its place in the whole. Axes are batch, head, query, key, as far as there are any. */
static size_t place_in_whole(const struct request_answer *answer, const struct json_tensor *whole,
                             const struct json_tensor *part, bool heads, size_t k)
{
    json_t *select = answer_field(answer, "select"), *chosen = json_object_get(select, "heads");
    size_t at = 0, left = part->count, rest = k;
    for (size_t axis = 0; axis < part->rank; axis++) {
        left /= part->shape[axis];
        size_t index = rest / left;
        rest %= left;
        if (axis + 1 == part->rank)
            index += integer_at(json_object_get(select, "keys"), 0);
        else if (axis + 2 == part->rank)
            index += integer_at(json_object_get(select, "queries"), 0);
        else if (heads && axis + 3 == part->rank && json_is_array(chosen))
            index = integer_at(chosen, index);
        at = at * whole->shape[axis] + index;
    }
    return at;
}

static size_t range_length(json_t *range, size_t otherwise)
{
    return json_is_array(range) ? integer_at(range, 1) - integer_at(range, 0) : otherwise;
}

void answer_select(struct request_answer *answer)
{
    json_t *select = answer_field(answer, "select"), *chosen = json_object_get(select, "heads");
    for (enum answer_name name = ANSWER_WEIGHTS; name <= ANSWER_MASKED_SCORES && select != NULL; name++) {
        struct json_tensor whole = answer->results[name];
        bool heads = answer->has_heads && name != ANSWER_MEAN_WEIGHTS;
        size_t shape[4];
        memcpy(shape, whole.shape, sizeof shape);
        shape[whole.rank - 1] = range_length(json_object_get(select, "keys"), answer->Tk);
        shape[whole.rank - 2] = range_length(json_object_get(select, "queries"), answer->Tq);
        if (heads && json_is_array(chosen))
            shape[whole.rank - 3] = json_array_size(chosen);
        struct json_tensor part = json_tensor_new(whole.rank, shape);
        json_tensor_allow(&part);
        for (size_t k = 0; k < part.count; k++) {
            size_t at = place_in_whole(answer, &whole, &part, heads, k);
            part.values[k] = whole.values[at];
            part.allowed[k] = json_tensor_allowed(&whole, at);
        }
        answer->results[name] = part;
        json_tensor_done(&whole);
    }
}
