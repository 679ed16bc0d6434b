#include "api/protocol/kserve_metadata.h"

#define TENSOR_4(name) "{\"name\":\"" name "\",\"datatype\":\"FP32\",\"shape\":[-1,-1,-1,-1]}"

const char kserve_metadata_server[] = "{\"name\":\"attnd\",\"version\":\"" ATTND_VERSION
                                      "\",\"extensions\":[\"binary_tensor_data\",\"model_configuration\",\"statistics\"]}\n";

/* clang-format off */
const char kserve_metadata_model[] =
    "{\"name\":\"attention\",\"versions\":[\"1\"],\"platform\":\"attnd\",\"inputs\":["
    TENSOR_4("Q") "," TENSOR_4("K") "," TENSOR_4("V") "," TENSOR_4("attn_mask") ","
    TENSOR_4("past_key") "," TENSOR_4("past_value") ","
    "{\"name\":\"nonpad_kv_seqlen\",\"datatype\":\"INT64\",\"shape\":[-1]}],\"outputs\":["
    TENSOR_4("Y") "," TENSOR_4("present_key") "," TENSOR_4("present_value") "," TENSOR_4("qk_matmul_output") "]}\n";
/* clang-format on */

#define INPUT(name, type, dims, optional)                                                                                      \
    "{\"name\":\"" name "\",\"data_type\":\"" type "\",\"format\":\"FORMAT_NONE\",\"dims\":" dims                              \
    ",\"is_shape_tensor\":false,\"allow_ragged_batch\":false,\"optional\":" optional "}"
#define OUTPUT(name)                                                                                                           \
    "{\"name\":\"" name                                                                                                        \
    "\",\"data_type\":\"TYPE_FP32\",\"dims\":[-1,-1,-1,-1],\"label_filename\":\"\",\"is_shape_tensor\":false}"
#define INPUT_4(name, optional) INPUT(name, "TYPE_FP32", "[-1,-1,-1,-1]", optional)

/* max_batch_size 0: a batch is an axis of the tensors, and nothing is batched here. */
/* clang-format off */
const char kserve_metadata_config[] =
    "{\"name\":\"attention\",\"platform\":\"attnd\",\"backend\":\"attnd\",\"version_policy\":{\"specific\":{\"versions\":[1]}},"
    "\"max_batch_size\":0,\"input\":["
    INPUT_4("Q", "false") "," INPUT_4("K", "false") "," INPUT_4("V", "false") "," INPUT_4("attn_mask", "true") ","
    INPUT_4("past_key", "true") "," INPUT_4("past_value", "true") "," INPUT("nonpad_kv_seqlen", "TYPE_INT64", "[-1]", "true")
    "],\"output\":[" OUTPUT("Y") "," OUTPUT("present_key") "," OUTPUT("present_value") "," OUTPUT("qk_matmul_output") "],"
    "\"batch_input\":[],\"batch_output\":[],\"instance_group\":[],\"default_model_filename\":\"\",\"cc_model_filenames\":{},"
    "\"metric_tags\":{},\"parameters\":{},\"model_warmup\":[]}\n";
/* clang-format on */

const char kserve_metadata_model_ready[] = "{\"name\":\"attention\",\"ready\":true}\n";
