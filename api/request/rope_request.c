#include "api/request/rope_request.h"

const char *const rope_tensor_names[ROPE_TENSORS + 1] = {
    [ROPE_FREQUENCIES] = "inverse_frequencies",
    [ROPE_COS] = "cos",
    [ROPE_SIN] = "sin",
    [ROPE_QUERY_POSITIONS] = "query_positions",
    [ROPE_KEY_POSITIONS] = "key_positions",
    [ROPE_SHORT_FACTOR] = "scaling.short_factor",
    [ROPE_LONG_FACTOR] = "scaling.long_factor",
    [ROPE_TENSORS] = NULL,
};

const char *const rope_style_names[ROPE_STYLES + 1] = {
    [ROPE_INTERLEAVED] = "interleaved",
    [ROPE_HALF] = "half",
    [ROPE_STYLES] = NULL,
};

const char *const rope_type_names[ROPE_TYPES + 2] = {
    [ROPE_DEFAULT] = "default",   [ROPE_LINEAR] = "linear", [ROPE_DYNAMIC] = "dynamic",           [ROPE_YARN] = "yarn",
    [ROPE_LONGROPE] = "longrope", [ROPE_LLAMA3] = "llama3", [ROPE_PROPORTIONAL] = "proportional", [ROPE_TYPES] = "mrope",
    [ROPE_TYPES + 1] = NULL,
};
