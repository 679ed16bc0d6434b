/* safetensors.h: requests and replies as safetensors files.
 *
 *   8 bytes     n, little endian
 *   n bytes     JSON: {"query": {"dtype": "F32", "shape": [2, 4], "data_offsets": [0, 32]}, ..,
 *                      "__metadata__": {"request": "{\"causal\": true}"}}
 *   the rest    the tensors' numbers, little endian, without gaps or overlaps
 *
 * A request's tensors are named as the fields of POST /attention are (a projection's as "projection.query",
 * "projection.query.weight", "projection.query.bias"); its other fields are one JSON object, the text of __metadata__.request.
 * A reply's are named as `return` names them; `applied` and `warnings` are JSON texts in __metadata__.
 *
 * Source   the safetensors format's description; dtypes F64 F32 F16 BF16 BOOL I64. */
#ifndef ATTND_API_PROTOCOL_SAFETENSORS_H
#define ATTND_API_PROTOCOL_SAFETENSORS_H

#include "api/protocol/attention_read.h"
#include "api/protocol/protocol.h"
#include "api/protocol/safetensors_file.h"
#include "api/request/evaluation.h"

/* Reads a request's tensors and fields. `ret` borrows the body and *ret_reply; `extract` becomes the one of
 * __metadata__.request.
 * Fails   malformed: bounds, offsets, overlaps, gaps; invalid: names, dtypes, a field given twice. */
bool safetensors_read(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                      struct attention_reply *ret_reply, struct error *err) __attribute__((warn_unused_result));

/* What the file of a comparison holds besides: tensors "expected.output" and so on, and the JSON text __metadata__.compare. */
struct safetensors_comparison {
    struct tensor_input expected[RESULTS]; /* of RESULT_OUTPUT to RESULT_LSE */
    const char *options;                   /* in the arena; NULL: there is none */
    size_t options_bytes;
    bool is_compared; /* there is a text __metadata__.comparison: a case, sent again */
};

/* The same, with what a comparison holds. */
bool safetensors_read_comparison(const struct api_request *sent, struct arena *arena, struct extract *extract,
                                 struct request *ret, struct attention_reply *ret_reply,
                                 struct safetensors_comparison *ret_comparison, struct error *err)
    __attribute__((warn_unused_result));

/* As a pipeline's write_bytes_max and write. */
size_t safetensors_write_bytes_max(const struct plan *plan);
void safetensors_write(struct evaluation *evaluation, struct api_reply *ret);

#endif
