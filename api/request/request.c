#include "api/request/request.h"

const char *const request_tensor_names[REQUEST_TENSORS + 1] = {
    [REQUEST_X] = "x",
    [REQUEST_CONTEXT] = "context",
    [REQUEST_VALUE_CONTEXT] = "value_context",
    [REQUEST_KEY] = "key",
    [REQUEST_QUERY] = "query",
    [REQUEST_VALUE] = "value",
    [REQUEST_PAST_KEY] = "past_key",
    [REQUEST_PAST_VALUE] = "past_value",
    [REQUEST_MASK] = "mask",
    [REQUEST_BIAS] = "bias",
    [REQUEST_TENSORS] = NULL,
};

const char *const request_projection_names[PROJECTIONS + 1] = {
    [PROJECTION_KEY] = "key",       [PROJECTION_QUERY] = "query", [PROJECTION_VALUE] = "value",
    [PROJECTION_OUTPUT] = "output", [PROJECTIONS] = NULL,
};

const char *const request_result_names[RESULTS + 1] = {
    [RESULT_OUTPUT] = "output",
    [RESULT_WEIGHTS] = "weights",
    [RESULT_MEAN_WEIGHTS] = "mean_weights",
    [RESULT_SCORES] = "scores",
    [RESULT_CAPPED_SCORES] = "capped_scores",
    [RESULT_MASKED_SCORES] = "masked_scores",
    [RESULT_LSE] = "lse",
    [RESULT_KEY_SUMS] = "key_sums",
    [RESULT_ENTROPY] = "entropy",
    [RESULT_TOP_KEYS] = "top_keys",
    [RESULT_POOLED_WEIGHTS] = "pooled_weights",
    [RESULT_QUERY] = "query",
    [RESULT_KEY] = "key",
    [RESULT_VALUE] = "value",
    [RESULT_X] = "x",
    [RESULT_CONTEXT] = "context",
    [RESULT_VALUE_CONTEXT] = "value_context",
    [RESULT_PRESENT_KEY] = "present_key",
    [RESULT_PRESENT_VALUE] = "present_value",
    [RESULTS] = NULL,
};

const struct integers_field request_integers_fields[REQUEST_INTEGERS] = {
    [INTEGERS_QUERY_OFFSET] = {"query_offset", NULL, INTEGERS_ONE_OR_PER_ITEM, -REQUEST_POSITION_MAX},
    [INTEGERS_QUERY_LENGTHS] = {"query_lengths", NULL, INTEGERS_PER_ITEM, 0},
    [INTEGERS_KEY_LENGTHS] = {"key_lengths", NULL, INTEGERS_PER_ITEM, 0},
    [INTEGERS_QUERY_POSITIONS] = {"query_positions", NULL, INTEGERS_PER_QUERY, -REQUEST_POSITION_MAX},
    [INTEGERS_KEY_POSITIONS] = {"key_positions", NULL, INTEGERS_PER_KEY, -REQUEST_POSITION_MAX},
    [INTEGERS_PREFIX_LENGTH] = {"prefix_length", NULL, INTEGERS_ONE_OR_PER_ITEM, -REQUEST_POSITION_MAX},
    [INTEGERS_QUERY_SEGMENTS] = {"segment_ids", "query", INTEGERS_PER_QUERY, -REQUEST_POSITION_MAX},
    [INTEGERS_KEY_SEGMENTS] = {"segment_ids", "key", INTEGERS_PER_KEY, -REQUEST_POSITION_MAX},
    [INTEGERS_QUERY_SPANS] = {"span_ids", "query", INTEGERS_PER_QUERY, -REQUEST_POSITION_MAX},
    [INTEGERS_KEY_SPANS] = {"span_ids", "key", INTEGERS_PER_KEY, -REQUEST_POSITION_MAX},
    [INTEGERS_QUERY_BOUNDARIES] = {"cu_seqlens", "query", INTEGERS_BOUNDARIES, 0},
    [INTEGERS_KEY_BOUNDARIES] = {"cu_seqlens", "key", INTEGERS_BOUNDARIES, 0},
};

const char *const request_layout_names[LAYOUTS + 1] = {
    [LAYOUT_BHTD] = "bhtd",
    [LAYOUT_BTHD] = "bthd",
    [LAYOUT_THD] = "thd",
    [LAYOUTS] = NULL,
};

const char *const request_causal_names[CAUSALS + 1] = {
    [CAUSAL_FALSE] = "false", [CAUSAL_TRUE] = "true", [CAUSAL_TOP_LEFT] = "top_left", [CAUSAL_BOTTOM_RIGHT] = "bottom_right",
    [CAUSALS] = NULL,
};

void request_init(struct request *ret)
{
    *ret = (struct request){.window_left = -1,
                            .window_right = -1,
                            .relative_bias = {.bidirectional = true, .max_distance = 128}, /* as T5's encoder */
                            .dtype = DTYPE_F32};
}
