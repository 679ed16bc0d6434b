/* kserve.h: the Open Inference Protocol (KServe V2) over the same attention: a request in the words of the ONNX operator
 * `Attention` (opsets 23 to 25) becomes a request of ours, and our results become its outputs.
 *
 *   Q K V             query, key, value: [B,H,T,D], or [B,T,H*D] with q_num_heads and kv_num_heads
 *   attn_mask         mask; one that holds fewer keys than there are masks the others
 *   past_key, _value  past_key, past_value: [B,Hkv,T,D], whatever Q is
 *   nonpad_kv_seqlen  key_lengths; the last query is at an item's last key
 *   is_causal         causal: from the top left corner, after the past, or as nonpad_kv_seqlen says
 *   scale softcap left_window_size right_window_size q_num_heads kv_num_heads softmax_precision
 *   qk_matmul_output_mode  0 scores, 1 capped_scores, 2 masked_scores, 3 weights, as output qk_matmul_output
 *
 * The binary tensor extension: where Inference-Header-Content-Length says how long the JSON is, an input's numbers may be bytes
 * after it, in the inputs' order, as many as its parameter binary_data_size says; an output is sent in the same way where its
 * parameter binary_data, or the request's binary_data_output, is true.
 *
 * Source   KServe V2 inference protocol; ONNX operator schema, opset 25. */
#ifndef ATTND_API_PROTOCOL_KSERVE_H
#define ATTND_API_PROTOCOL_KSERVE_H

#include "api/protocol/protocol.h"
#include "api/request/evaluation.h"

enum kserve_output_name {
    KSERVE_Y,
    KSERVE_PRESENT_KEY,
    KSERVE_PRESENT_VALUE,
    KSERVE_QK_MATMUL_OUTPUT,
    KSERVE_OUTPUTS,
};

struct kserve_output {
    enum kserve_output_name name;
    enum request_result result;
    enum element_type element_type; /* its datatype */
    bool binary;                    /* sent as bytes after the JSON */
};

/* What a reply holds: request->reply. */
struct kserve_reply {
    const char *id; /* the request's, to be sent back; NULL: none. In the arena */
    size_t output_count;
    struct kserve_output outputs[KSERVE_OUTPUTS]; /* in the request's order */
};

extern const char *const kserve_output_names[KSERVE_OUTPUTS + 1]; /* NULL-terminated */

/* As a pipeline's. */
bool kserve_read(const struct api_request *sent, struct arena *arena, struct extract *extract, struct request *ret,
                 struct error *err) __attribute__((warn_unused_result));
size_t kserve_write_bytes_max(const struct plan *plan);
bool kserve_write(struct evaluation *evaluation, const struct executor *executor, struct api_reply *ret, struct error *err)
    __attribute__((warn_unused_result));

#endif
