#include "api/request/request.h"

const char *const request_result_names[RESULTS + 1] = {
    "output",  "weights",     "mean_weights",  "scores", "capped_scores", "masked_scores", "lse", "query", "key", "value", "x",
    "context", "present_key", "present_value", NULL,
};

void request_init(struct request *ret)
{
    *ret = (struct request){.window_left = -1, .window_right = -1, .dtype = DTYPE_F32};
}
