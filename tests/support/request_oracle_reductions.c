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
