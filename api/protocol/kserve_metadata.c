#include "api/protocol/kserve_metadata.h"

#define TENSOR_4(name) "{\"name\":\"" name "\",\"datatype\":\"FP32\",\"shape\":[-1,-1,-1,-1]}"

const char kserve_metadata_server[] =
    "{\"name\":\"attnd\",\"version\":\"" ATTND_VERSION "\",\"extensions\":[\"binary_tensor_data\",\"statistics\"]}\n";

/* clang-format off */
const char kserve_metadata_model[] =
    "{\"name\":\"attention\",\"versions\":[\"1\"],\"platform\":\"attnd\",\"inputs\":["
    TENSOR_4("Q") "," TENSOR_4("K") "," TENSOR_4("V") "," TENSOR_4("attn_mask") ","
    TENSOR_4("past_key") "," TENSOR_4("past_value") ","
    "{\"name\":\"nonpad_kv_seqlen\",\"datatype\":\"INT64\",\"shape\":[-1]}],\"outputs\":["
    TENSOR_4("Y") "," TENSOR_4("present_key") "," TENSOR_4("present_value") "," TENSOR_4("qk_matmul_output") "]}\n";
/* clang-format on */

const char kserve_metadata_model_ready[] = "{\"name\":\"attention\",\"ready\":true}\n";
