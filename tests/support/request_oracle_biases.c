/* request_oracle_biases.c: what is added to the scores before the softcap, and the queries' own scales. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/request_oracle.h"
#include "tests/support/view.h"

size_t answer_broadcast_at(const struct request_answer *answer, const struct json_tensor *t, size_t pair)
{
    const size_t full[4] = {answer->B, answer->H, answer->Tq, answer->Tk};
    const size_t index[4] = {pair / full[3] / full[2] / full[1], pair / full[3] / full[2] % full[1], pair / full[3] % full[2],
                             pair % full[3]};
    size_t axes[4] = {0}, rank = 0, at = 0; /* of `full`, those that the weights have */
    for (size_t axis = 0; axis < 4; axis++)
        if (axis >= 2 || (axis == 0 ? answer->has_batch : answer->has_heads))
            axes[rank++] = axis;
    assert_true(t->rank <= rank);
    for (size_t axis = 0; axis < t->rank; axis++)
        at = at * t->shape[axis] + (t->shape[axis] == 1 ? 0 : index[axes[rank - t->rank + axis]]);
    return at;
}

/* T5's bucket of a relative position, memory - context, step by step as its authors have it, in float where they have float. */
static int64_t t5_bucket(int64_t relative, bool bidirectional, int64_t buckets, int64_t max_distance)
{
    int64_t bucket = 0, distance = relative;
    if (bidirectional) {
        buckets /= 2;
        bucket = relative > 0 ? buckets : 0;
        distance = relative < 0 ? -relative : relative;
    } else {
        distance = relative > 0 ? 0 : -relative;
    }
    int64_t exact = buckets / 2;
    if (distance < exact)
        return bucket + distance;
    float large = logf((float)distance / (float)exact) / (float)log((double)max_distance / (double)exact);
    int64_t far = exact + (int64_t)(large * (float)(buckets - exact));
    return bucket + (far < buckets - 1 ? far : buckets - 1);
}

static void add_relative(const struct request_answer *answer, json_t *json, double *sums)
{
    const size_t H = answer->H, Tq = answer->Tq, Tk = answer->Tk;
    struct json_tensor table = json_tensor_read(json_object_get(json, "table"), answer->is_f32);
    json_t *both = json_object_get(json, "bidirectional"), *max = json_object_get(json, "max_distance");
    bool bidirectional = both == NULL || json_is_null(both) || json_is_true(both);
    int64_t max_distance = json_is_number(max) ? (int64_t)json_number_value(max) : 128;
    for (size_t pair = 0; pair < answer->B * H * Tq * Tk; pair++) {
        size_t b = pair / Tk / Tq / H, h = pair / Tk / Tq % H, i = pair / Tk % Tq, j = pair % Tk;
        int64_t relative = answer->key_positions[b * Tk + j] - answer->query_positions[b * Tq + i];
        size_t bucket = (size_t)t5_bucket(relative, bidirectional, (int64_t)table.shape[0], max_distance);
        sums[pair] += table.values[bucket * H + h];
    }
    json_tensor_done(&table);
}

double *answer_bias(const struct request_answer *answer)
{
    json_t *relative = answer_field(answer, "relative_bias");
    struct json_tensor bias = json_tensor_read(answer_field(answer, "bias"), answer->is_f32);
    size_t pairs = answer->B * answer->H * answer->Tq * answer->Tk;
    double *sums = bias.present || relative != NULL ? test_alloc(pairs, sizeof *sums) : NULL;
    for (size_t pair = 0; bias.present && pair < pairs; pair++)
        sums[pair] = bias.values[answer_broadcast_at(answer, &bias, pair)];
    if (relative != NULL)
        add_relative(answer, relative, sums);
    json_tensor_done(&bias);
    return sums;
}

double *answer_query_scales(const struct request_answer *answer)
{
    struct json_tensor given = json_tensor_read(answer_field(answer, "query_scale"), answer->is_f32);
    double *ret = given.present ? test_alloc(answer->B * answer->Tq, sizeof *ret) : NULL;
    for (size_t k = 0; given.present && k < answer->B * answer->Tq; k++)
        ret[k] = given.values[given.rank == 2 ? k : k % answer->Tq];
    json_tensor_done(&given);
    return ret;
}
