#include "api/json/library_names.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define RENAMED(theirs, ours)                                                                                                  \
    {                                                                                                                          \
        theirs, ours, NULL, LIBRARY_NAME_RENAMED                                                                               \
    }
#define RENAMED_BUT(theirs, ours, advice)                                                                                      \
    {                                                                                                                          \
        theirs, ours, advice, LIBRARY_NAME_RENAMED                                                                             \
    }
#define ANSWERED(theirs, ours, advice)                                                                                         \
    {                                                                                                                          \
        theirs, ours, advice, LIBRARY_NAME_ANSWERED                                                                            \
    }

/* What several names are answered with. */
#define TORCH_MASK                                                                                                             \
    "In torch's scaled_dot_product_attention, in ONNX and in Keras true means \"may see\", as here; in torch's "               \
    "MultiheadAttention true means masked: add \"mask_semantics\": \"drop\", and write a mask of [B*H, Tq, Tk] as [B, H, Tq, " \
    "Tk]"
#define TORCH_TOKEN_MASK "In torch true means masked: add \"mask_semantics\": \"drop\"; a mask of [T, T] keeps its shape"
#define TORCH_PADDING                                                                                                          \
    "In torch true means padding, the other way round: add \"mask_semantics\": \"drop\", and write [B, Tk] as [B, 1, 1, Tk] "  \
    "where there are heads, else as [B, 1, Tk]; or send key_lengths"
#define PADDING_KEPT                                                                                                           \
    "Write [B, Tk] as [B, 1, 1, Tk] where there are heads, else as [B, 1, Tk], and 1 and 0 as true and false: numbers are "    \
    "added to the scores"
#define NO_DROPOUT "attention is computed as at inference, without dropout: leave it out"
#define NOTHING_RANDOM "nothing here is random but what a seed draws: leave it out"
#define OWN_KERNELS "it chooses how another library computes, not what: leave it out"
#define NARROW "16-bit types are those of safetensors files; what is written as JSON is read as float32 or float64"
#define FROM_SHAPES "it follows from the shapes: leave it out"
#define NOT_PAGED                                                                                                              \
    "caches in pages are not read: gather the pages in order, and send them as key and value, or past_key and past_value"
#define LEFT_PADDING "send key_positions, which are negative for padding on the left, and mask those keys with false in mask"
#define ROPE_TABLES                                                                                                            \
    "send \"rope\": {\"style\": \"half\" or \"interleaved\", \"cos\": .., \"sin\": ..}, one column per pair; Hugging Face's "  \
    "hold "                                                                                                                    \
    "each angle twice: cos[..., :dims // 2]"
#define ROPE_PASTED "Paste it into rope.scaling: {\"style\": \"half\", \"scaling\": ..}"
#define NORM_WEIGHTS "Its weights are \"qk_norm\": {\"query\": [..], \"key\": [..]}; Gemma's are 1 + weight"
#define PACKED                                                                                                                 \
    "send \"cu_seqlens\": {\"query\": [0, ..], \"key\": [0, ..]}, or one array where both are equal, with \"layout\": "        \
    "\"thd\" for [T, H, D]"
#define SEGMENTS "send \"segment_ids\": {\"query\": [..], \"key\": [..]}"
#define RETURN_WEIGHTS "ask for weights with \"return\": [\"output\", \"weights\"]"
#define RETURN_LSE "ask for it with \"return\": [\"output\", \"lse\"]"
#define SCALE_SENSE "scale is multiplied, and where it is left out it is 1/sqrt(D)"
#define WEIGHT_ADVICE(which)                                                                                                   \
    "send it as \"projection\": {\"" which                                                                                     \
    "\": ..}, [out, in] as torch's Linear stores it, with x in place of query, key and "                                       \
    "value"
#define WEIGHT_TENSOR(which) "name the tensor projection." which ".weight; its bias is projection." which ".bias"
#define IN_PROJECTION                                                                                                          \
    "split it into three equal parts along its first axis, in this order: query, key and value of \"projection\", each "       \
    "{\"weight\": .., \"bias\": ..}"
#define MERGED "send \"parts\": [{\"output\": .., \"lse\": ..}, ..], one for each output and its lse"
#define LANGUAGE_MODEL "attnd computes attention over vectors, it runs no language model: send query, key and value, or x"

const struct library_name library_names[] = {
    /* Query, key, value and tokens. */
    RENAMED("q", "query"),
    RENAMED("k", "key"),
    RENAMED("v", "value"),
    RENAMED("queries", "query"),
    RENAMED("keys", "key"),
    RENAMED("values", "value"),
    RENAMED("query_states", "query"),
    RENAMED("key_states", "key"),
    RENAMED("value_states", "value"),
    RENAMED("query_layer", "query"),
    RENAMED("key_layer", "key"),
    RENAMED("value_layer", "value"),
    ANSWERED("qkv", "query",
             "send query, key and value as three fields: q, k, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2] of "
             "FlashAttention's [B, T, 3, H, D], with \"layout\": \"bthd\""),
    ANSWERED("kv", "value",
             "send key and value as two fields: k, v = kv[:, :, 0], kv[:, :, 1] of FlashAttention's [B, T, 2, H, D], "
             "with \"layout\": \"bthd\""),
    RENAMED("kv", "key"), /* of a pair, as JAX's SegmentIds(q, kv) */
    RENAMED_BUT("hidden_states", "x", "With x goes \"projection\", the weights of the layer, or \"identity\""),
    RENAMED_BUT("input", "x", "With x goes \"projection\", the weights of the layer, or \"identity\""),
    RENAMED_BUT("inputs_q", "x",
                "With x goes \"projection\"; Flax's inputs_k and inputs_v are context. A kernel of Flax is [in, "
                "heads, size]: reshape it to [in, heads*size] and transpose it to [out, in]"),
    RENAMED_BUT("inputs_kv", "context", "It goes with x and \"projection\""),
    RENAMED_BUT("inputs_k", "context", "It goes with x and \"projection\""),
    RENAMED_BUT("inputs_v", "context", "It goes with x and \"projection\""),
    RENAMED_BUT("inputs_embeds", "x", "With x goes \"projection\", the weights of the layer, or \"identity\""),
    RENAMED_BUT("embeddings", "x", "With x goes \"projection\", the weights of the layer, or \"identity\""),
    RENAMED_BUT("src", "x", "With x goes \"projection\", the weights of the layer, or \"identity\""),
    RENAMED_BUT("tgt", "x", "With x goes \"projection\", the weights of the layer, or \"identity\""),
    RENAMED_BUT("memory", "context", "It goes with x: keys and values are projected from it"),
    RENAMED_BUT("encoder_hidden_states", "context", "It goes with x: keys and values are projected from it"),
    RENAMED_BUT("key_value_states", "context", "It goes with x: keys and values are projected from it"),
    ANSWERED("input_ids", "x", "these are token ids, and there are no embeddings here: send the tokens' vectors as x"),
    ANSWERED("token_type_ids", "x", "there are no embeddings here: add them to the tokens' vectors, and send those as x"),
    ANSWERED("prompt", "x", LANGUAGE_MODEL),
    ANSWERED("messages", "x", LANGUAGE_MODEL),
    ANSWERED("model", "x", LANGUAGE_MODEL),
    ANSWERED("max_tokens", "x", LANGUAGE_MODEL),
    ANSWERED("text", "x", LANGUAGE_MODEL),
    ANSWERED("jsonrpc", "x", "there is no JSON-RPC here: send what \"params\" holds, alone"),

    /* Causal. */
    RENAMED_BUT("is_causal", "causal", "With fewer queries than keys torch, ONNX, JAX and Keras mean \"top_left\""),
    RENAMED("use_causal_mask", "causal"),
    RENAMED("causal_mask", "causal"),
    RENAMED("apply_causal_mask", "causal"),
    RENAMED("autoregressive", "causal"),
    RENAMED_BUT("unidirectional", "causal", "Send true or false, not 1 or 0"),
    RENAMED_BUT("attn_mask_type", "causal",
                "\"causal\" is true, \"causal_bottom_right\" is \"bottom_right\", \"no_mask\" false; "
                "for \"padding\" send key_lengths"),
    RENAMED_BUT("diagonal_alignment", "causal", "TOP_LEFT is \"top_left\", BOTTOM_RIGHT is \"bottom_right\""),
    RENAMED_BUT("sparse_mode", "causal", "2 is \"top_left\", 3 is \"bottom_right\"; for 4 add \"window\""),

    /* Masks. */
    RENAMED_BUT("attn_mask", "mask", TORCH_MASK),
    RENAMED_BUT(
        "attention_mask", "mask",
        "In Keras true means \"may see\", as here. Of Hugging Face's, one of numbers with 4 axes is sent as it is; write "
        "the tokenizer's [B, Tk] of 1 and 0 as booleans [B, 1, 1, Tk] where there are heads, else [B, 1, Tk]: numbers "
        "are added to the scores"),
    RENAMED_BUT("encoder_attention_mask", "mask", PADDING_KEPT),
    RENAMED_BUT("key_padding_mask", "mask", TORCH_PADDING),
    RENAMED_BUT("src_key_padding_mask", "mask", TORCH_PADDING),
    RENAMED_BUT("tgt_key_padding_mask", "mask", TORCH_PADDING),
    RENAMED_BUT("memory_key_padding_mask", "mask", TORCH_PADDING),
    RENAMED_BUT("src_mask", "mask", TORCH_TOKEN_MASK),
    RENAMED_BUT("tgt_mask", "mask", TORCH_TOKEN_MASK),
    RENAMED_BUT("memory_mask", "mask", TORCH_TOKEN_MASK),
    RENAMED_BUT("value_mask", "mask", "In Keras true means a token to see. " PADDING_KEPT),
    RENAMED_BUT("key_mask", "mask", "In Keras true means a token to see. " PADDING_KEPT),
    RENAMED_BUT(
        "padding_mask", "mask",
        "Say which way round: where true means padding add \"mask_semantics\": \"drop\". [B, Tk] is written as [B, 1, 1, "
        "Tk] where there are heads, else as [B, 1, Tk]; or send key_lengths"),
    RENAMED_BUT("custom_mask", "mask", "In FlashInfer true means \"may see\", as here; write its flat mask as [Tq, Tk]"),
    RENAMED_BUT("packed_custom_mask", "mask", "Write its bits as booleans of [Tq, Tk], true for \"may see\""),
    RENAMED_BUT("atten_mask", "mask", "In Ascend's operators true means masked: add \"mask_semantics\": \"drop\""),
    RENAMED_BUT("mask_index", "mask",
                "ONNX Runtime's [B, Tk] of 1 and 0 is written as booleans [B, 1, 1, Tk]; its [B] of lengths "
                "is key_lengths"),
    ANSWERED("query_mask", "mask", "rows of padding queries do no harm to others: leave it out, and ignore their output"),
    ANSWERED("head_mask", "mask",
             "for a head that is switched off send a mask with false for it, of shape [H, 1, 1]; a factor other "
             "than 0 and 1 multiplies that head's output"),
    ANSWERED("layer_head_mask", "mask",
             "for a head that is switched off send a mask with false for it, of shape [H, 1, 1]; a factor "
             "other than 0 and 1 multiplies that head's output"),
    ANSWERED("cross_attn_head_mask", "mask",
             "for a head that is switched off send a mask with false for it, of shape [H, 1, 1]; a "
             "factor other than 0 and 1 multiplies that head's output"),
    ANSWERED("block_mask", "mask",
             "a function cannot be sent: send what it says as booleans in mask, true for \"may see\" "
             "(torch's create_mask makes them), or as causal, window, segment_ids, prefix_length or chunk_size"),
    ANSWERED("mask_mod", "mask",
             "a function cannot be sent: send what it says as booleans in mask, true for \"may see\" (torch's "
             "create_mask makes them), or as causal, window, segment_ids, prefix_length or chunk_size"),
    ANSWERED("score_mod", "bias",
             "a function cannot be sent: send what it adds to the scores as bias, or use scale, softcap, "
             "relative_bias or alibi"),
    ANSWERED("mask_filter_value", "mask", "what is masked has weight 0 exactly: leave it out"),

    /* What is added to scores. */
    RENAMED_BUT("attn_bias", "bias", "It is added to the scores after the scale"),
    RENAMED_BUT("attention_bias", "bias",
                "Hugging Face's attention_bias says that the projections have biases: those are in "
                "\"projection\""),
    RENAMED_BUT("position_bias", "bias", "It is added to the scores after the scale; or send relative_bias, the table itself"),
    RENAMED_BUT("relative_position_bias", "bias",
                "It is added to the scores after the scale; or send relative_bias, the table itself"),
    RENAMED("core_attention_bias", "bias"),
    RENAMED("pse", "bias"),
    RENAMED_BUT("relative_attention_bias", "relative_bias", "{\"table\": [buckets, H], ..}"),
    ANSWERED("relative_attention_num_buckets", "relative_bias", "the table of relative_bias says how many buckets there are"),
    ANSWERED("relative_attention_max_distance", "relative_bias", "it is relative_bias.max_distance"),
    RENAMED_BUT("rel_pos_bias", "bias", "It is added to the scores after the scale; or send relative_bias, the table itself"),
    ANSWERED("relative_position_bias_table", "bias", "send what the table holds for each query and key, [H, Tq, Tk], as bias"),
    RENAMED_BUT("alibi_slopes", "alibi",
                "One slope per head; FlashAttention counts distances from the bottom right: with fewer queries than keys add "
                "\"query_offset\": Tk - Tq"),
    RENAMED_BUT("use_alibi_mask", "alibi", "true takes the paper's slopes"),
    RENAMED_BUT("pos_encoding_mode", "rope", "For \"ROPE_LLAMA\" send rope, for \"ALIBI\" send alibi, for \"NONE\" neither"),

    /* Scale and softcap. */
    RENAMED("softmax_scale", "scale"),
    RENAMED("sm_scale", "scale"),
    RENAMED("attn_scale", "scale"),
    RENAMED("scale_value", "scale"),
    RENAMED("scaling", "scale"),
    RENAMED("qk_scale", "scale"),
    RENAMED("scale_factor", "scale"),
    ANSWERED("temperature", "scale", "send \"scale\": 1 / (temperature * sqrt(D)); " SCALE_SENSE),
    ANSWERED("query_pre_attn_scalar", "scale", "send \"scale\": 1 / sqrt(query_pre_attn_scalar)"),
    ANSWERED("use_scale", "scale", "send \"scale\": 1 for Keras' use_scale=False, else the layer's scale; " SCALE_SENSE),
    ANSWERED("score_mode", "scale",
             "for Keras' \"dot\" leave it out, and add \"scale\": 1; its \"concat\", additive attention, is not computed here"),
    RENAMED("attention_multiplier", "scale"),
    ANSWERED("inv_scale", "scale", "send \"scale\": 1 / inv_scale"),
    RENAMED("soft_cap", "softcap"),
    RENAMED("softcapping", "softcap"),
    RENAMED("logit_cap", "softcap"),
    RENAMED("logits_cap", "softcap"),
    RENAMED("logits_soft_cap", "softcap"),
    RENAMED("logit_softcapping", "softcap"),
    RENAMED("attn_logits_soft_cap", "softcap"),
    RENAMED("attn_logit_softcapping", "softcap"),

    /* Windows. */
    RENAMED_BUT("window_size", "window", "[left, right], as FlashAttention's pair; -1 for no bound"),
    RENAMED_BUT("local_window_size", "window",
                "[left, right], as JAX's pair: one number n of JAX is [n, n], and ONNX Runtime's n is [n - 1, 0]"),
    RENAMED_BUT(
        "sliding_window", "window",
        "[left, right], without the position itself: Hugging Face's sliding_window n is \"causal\": true and \"window\": "
        "[n - 1, 0]"),
    RENAMED_BUT("attention_window", "window", "[left, right]: Longformer's n is [n/2, n/2]"),
    RENAMED_BUT("max_attention_window_size", "window", "[left, right], without the position itself: n is [n - 1, 0]"),
    RENAMED_BUT("left_window_size", "window", "[left, right]; -1 for no bound"),
    RENAMED_BUT("right_window_size", "window", "[left, right]; -1 for no bound"),
    RENAMED_BUT("window_left", "window", "FlashInfer's n is \"window\": [n, -1]"),
    RENAMED_BUT("window_right", "window", "[left, right]; -1 for no bound"),
    RENAMED_BUT("pre_tokens", "window", "[pre_tokens, next_tokens]"),
    RENAMED_BUT("next_tokens", "window", "[pre_tokens, next_tokens]"),
    RENAMED_BUT("diagonal_band_left_bound", "window",
                "[left, right], without the position itself: cuDNN's n on the left is n - 1"),
    RENAMED_BUT("diagonal_band_right_bound", "window", "[left, right]; -1 for no bound"),

    /* Lengths and positions. */
    RENAMED("nonpad_kv_seqlen", "key_lengths"),
    RENAMED("kv_lengths", "key_lengths"),
    RENAMED("key_value_seq_lengths", "key_lengths"),
    RENAMED("kv_seq_lens", "key_lengths"),
    RENAMED("seq_len_kv", "key_lengths"),
    RENAMED("seqused_k", "key_lengths"),
    RENAMED("seq_lens", "key_lengths"),
    RENAMED("context_lens", "key_lengths"),
    RENAMED("valid_lens", "key_lengths"),
    RENAMED_BUT("lengths", "key_lengths", "Keys at and after an item's length are masked"),
    RENAMED_BUT("seqlens_k", "key_lengths", "ONNX Runtime's seqlens_k is one less than the length: send seqlens_k + 1"),
    RENAMED_BUT(
        "cache_seqlens", "key_lengths",
        "They count the new keys, too: where FlashAttention is given k, send cache_seqlens plus the number of new keys. "
        "Its causal is \"bottom_right\" of each length: \"query_offset\" is the length minus Tq"),
    ANSWERED("total_sequence_length", "key_lengths", FROM_SHAPES),
    ANSWERED("seq_len", "key_lengths", FROM_SHAPES " (key_lengths, where an item's keys end early)"),
    ANSWERED("batch_size", "key_lengths", FROM_SHAPES),
    RENAMED("offset", "query_offset"),
    RENAMED("q_offset", "query_offset"),
    RENAMED("start_pos", "query_offset"),
    RENAMED("q_start", "query_offset"),
    RENAMED("past_sequence_length", "query_offset"),
    RENAMED("past_length", "query_offset"),
    RENAMED("past_kv_length", "query_offset"),

    RENAMED("query_seq_lengths", "query_lengths"),
    RENAMED("seq_len_q", "query_lengths"),
    RENAMED("seqused_q", "query_lengths"),
    RENAMED("q_lens", "query_lengths"),
    ANSWERED("position_ids", "query_positions",
             "send the positions of queries as query_positions and those of keys as key_positions"),
    ANSWERED("positions", "query_positions",
             "send the positions of queries as query_positions and those of keys as key_positions"),
    RENAMED("cache_position", "query_positions"),
    RENAMED("query_position_ids", "query_positions"),
    RENAMED("q_positions", "query_positions"),
    RENAMED("kv_positions", "key_positions"),
    RENAMED("k_positions", "key_positions"),
    ANSWERED("leftpad_k", "key_positions", LEFT_PADDING),
    ANSWERED("cache_leftpad", "key_positions", LEFT_PADDING),

    /* Packed sequences. */
    ANSWERED("cu_seqlens_q", "cu_seqlens", PACKED),
    ANSWERED("cu_seqlens_k", "cu_seqlens", PACKED),
    ANSWERED("cu_seqlens_kv", "cu_seqlens", PACKED),
    ANSWERED("cu_seq_lens_q", "cu_seqlens", PACKED),
    ANSWERED("cu_seq_lens_k", "cu_seqlens", PACKED),
    ANSWERED("cu_seq_q", "cu_seqlens", PACKED),
    ANSWERED("cu_seq_k", "cu_seqlens", PACKED),
    ANSWERED("cum_seq_q", "cu_seqlens", PACKED),
    ANSWERED("cum_seq_k", "cu_seqlens", PACKED),
    ANSWERED("qo_indptr", "cu_seqlens", PACKED),
    ANSWERED("kv_indptr", "cu_seqlens", PACKED),
    ANSWERED("query_start_loc", "cu_seqlens", PACKED),
    ANSWERED("actual_seq_lengths", "cu_seqlens",
             "for TND send \"cu_seqlens\": {\"query\": [0, ..], \"key\": [0, ..]}, with a 0 before "
             "the running sums; for other layouts key_lengths"),
    ANSWERED("max_seqlen_q", "cu_seqlens", FROM_SHAPES),
    ANSWERED("max_seqlen_k", "cu_seqlens", FROM_SHAPES),
    ANSWERED("max_seqlen_kv", "cu_seqlens", FROM_SHAPES),
    ANSWERED("max_q", "cu_seqlens", FROM_SHAPES),
    ANSWERED("max_k", "cu_seqlens", FROM_SHAPES),
    ANSWERED("max_length_q", "cu_seqlens", FROM_SHAPES),
    ANSWERED("max_length_k", "cu_seqlens", FROM_SHAPES),
    ANSWERED("q_segment_ids", "segment_ids", SEGMENTS),
    ANSWERED("kv_segment_ids", "segment_ids", SEGMENTS),
    RENAMED("decoder_segment_ids", "segment_ids"),
    RENAMED("document_ids", "segment_ids"),
    RENAMED("document_id", "segment_ids"),
    RENAMED("doc_id", "segment_ids"),
    RENAMED("doc_ids", "segment_ids"),
    RENAMED("sequence_ids", "segment_ids"),
    RENAMED("seq_idx", "segment_ids"),
    RENAMED("attention_chunk_size", "chunk_size"),
    RENAMED("attention_chunk", "chunk_size"),
    RENAMED("prefix", "prefix_length"),
    RENAMED("prefix_len", "prefix_length"),
    RENAMED("prefix_lengths", "prefix_length"),
    RENAMED("sink_token_length", "num_sink_tokens"),
    RENAMED("attention_sink_size", "num_sink_tokens"),
    RENAMED("sink_size", "num_sink_tokens"),
    RENAMED_BUT("start_size", "num_sink_tokens", "It goes with window"),
    RENAMED("image_group_ids", "span_ids"),
    RENAMED("token_temperature", "query_scale"),
    RENAMED_BUT("attn_temperature_tuning", "query_scale",
                "One factor per query; Llama 4's is 1 + attn_scale * log(floor((position + 1) / floor_scale) + 1)"),
    ANSWERED("floor_scale", "query_scale",
             "send one factor per query; Llama 4's is 1 + attn_scale * log(floor((position + 1) / floor_scale) + 1)"),
    RENAMED_BUT("attn_scale_tuning", "query_scale", "One factor per query, beside scale"),

    /* Heads and sizes. */
    RENAMED("q_num_heads", "num_heads"),
    RENAMED("n_heads", "num_heads"),
    RENAMED("n_head", "num_heads"),
    RENAMED("nhead", "num_heads"),
    RENAMED("heads", "num_heads"),
    RENAMED("head_num", "num_heads"),
    RENAMED("num_query_heads", "num_heads"),
    RENAMED("num_qo_heads", "num_heads"),
    RENAMED("num_attention_heads", "num_heads"),
    RENAMED("kv_num_heads", "num_kv_heads"),
    RENAMED("n_kv_heads", "num_kv_heads"),
    RENAMED("kv_heads", "num_kv_heads"),
    RENAMED("num_gqa_groups", "num_kv_heads"),
    RENAMED("num_key_value_heads", "num_kv_heads"),
    RENAMED_BUT("num_key_value_groups", "num_kv_heads",
                "Hugging Face's num_key_value_groups is how many query heads share a key "
                "head: num_kv_heads = num_heads / num_key_value_groups"),
    RENAMED_BUT("n_rep", "num_kv_heads", "n_rep is how many query heads share a key head: num_kv_heads = num_heads / n_rep"),
    ANSWERED(
        "enable_gqa", "num_kv_heads",
        "query heads share key heads wherever there are fewer of these: leave it out. Where heads are packed in the last axis, "
        "num_kv_heads beside num_heads says how many"),
    RENAMED("head_dim", "head_size"),
    RENAMED("key_dim", "head_size"),
    RENAMED("d_k", "head_size"),
    RENAMED("dim_head", "head_size"),
    RENAMED("size_per_head", "head_size"),
    RENAMED("kv_channels", "head_size"),
    RENAMED_BUT("qkv_features", "head_size", "Flax's qkv_features is num_heads * head_size"),
    RENAMED_BUT("attention_head_size", "head_size", NULL),
    ANSWERED("key_size", "head_size", "send head_size (with x), or nothing where key is given"),
    ANSWERED("value_dim", "head_size", "the size of a value follows from projection.value, or from value itself: leave it out"),
    ANSWERED("d_v", "head_size", "the size of a value follows from projection.value, or from value itself: leave it out"),
    ANSWERED("v_head_dim", "head_size",
             "the size of a value follows from projection.value, or from value itself: leave it out"),
    ANSWERED("embed_dim", "head_size", FROM_SHAPES "; head_size is embed_dim / num_heads"),
    ANSWERED("hidden_size", "head_size", FROM_SHAPES "; head_size is hidden_size / num_heads"),
    ANSWERED("d_model", "head_size", FROM_SHAPES "; head_size is d_model / num_heads"),
    ANSWERED("n_embd", "head_size", FROM_SHAPES "; head_size is n_embd / num_heads"),
    ANSWERED("out_features", "projection", "it follows from projection.output: leave it out"),
    ANSWERED("kdim", "context", "the size of the tokens that keys are made of follows from context: leave it out"),
    ANSWERED("vdim", "value_context",
             "the size of the tokens that values are made of follows from value_context: leave it out"),
    ANSWERED("vdim", "context", "the size of the tokens that values are made of follows from context: leave it out"),

    /* Values. */
    RENAMED("bshd", "bthd"),
    RENAMED("bsnd", "bthd"),
    RENAMED("bsnh", "bthd"),
    RENAMED("btnh", "bthd"),
    RENAMED("blhd", "bthd"),
    RENAMED("nhd", "bthd"),
    RENAMED("bshd_bshd_bshd", "bthd"),
    RENAMED("bnsd", "bhtd"),
    RENAMED("bhsd", "bhtd"),
    RENAMED("bnsh", "bhtd"),
    RENAMED("bhld", "bhtd"),
    RENAMED("hnd", "bhtd"),
    ANSWERED("sbhd", "bhtd", "transpose it to [B, T, H, D] first: x.transpose(0, 1)"),
    ANSWERED("bsh", "bhtd", "it has 3 axes: leave layout out, and send num_heads"),
    ANSWERED("tbd", "bhtd", "transpose it to [B, T, D] first: x.transpose(0, 1)"),
    RENAMED("tnd", "thd"),
    RENAMED("neox", "half"),
    RENAMED("gpt_neox", "half"),
    RENAMED("rotate_half", "half"),
    RENAMED("hf", "half"),
    RENAMED("gptj", "interleaved"),
    RENAMED("rotate_every_two", "interleaved"),
    RENAMED("true_means_masked", "drop"),
    RENAMED("masked", "drop"),
    RENAMED("exclude", "drop"),
    RENAMED("ignore", "drop"),
    RENAMED("attend", "keep"),
    RENAMED("include", "keep"),
    RENAMED("visible", "keep"),
    RENAMED("attn_output", "output"),
    RENAMED("context_layer", "output"),
    RENAMED("Y", "output"),
    RENAMED("attn_weights", "weights"),
    RENAMED("attention_weights", "weights"),
    RENAMED("attentions", "weights"),
    RENAMED("attention_scores", "weights"),
    RENAMED("attn_output_weights", "weights"),
    RENAMED("probs", "weights"),
    RENAMED("average_attn_weights", "mean_weights"),
    RENAMED("logits", "scores"),
    RENAMED("softmax_lse", "lse"),
    RENAMED("column_sums", "key_sums"),
    RENAMED("heavy_hitters", "key_sums"),
    RENAMED("logsumexp", "lse"),
    RENAMED("fp32", "float32"),
    RENAMED("f32", "float32"),
    RENAMED("float", "float32"),
    RENAMED("single", "float32"),
    RENAMED("fp64", "float64"),
    RENAMED("f64", "float64"),
    RENAMED("double", "float64"),
    RENAMED("boolean", "bool"),
    ANSWERED("float16", "float32", NARROW),
    ANSWERED("fp16", "float32", NARROW),
    ANSWERED("f16", "float32", NARROW),
    ANSWERED("half", "float32", NARROW),
    ANSWERED("bfloat16", "float32", NARROW),
    ANSWERED("bf16", "float32", NARROW),
    ANSWERED("auto", "float32", "leave precision out for float32"),

    /* Layouts. */
    ANSWERED("input_layout", "layout",
             "for 4 axes send \"layout\": \"bhtd\" (BNSD) or \"bthd\" (BSND); BSH has 3 axes: send no layout, and num_heads"),
    ANSWERED("qkv_format", "layout", "send \"layout\": \"bthd\" for bshd; transpose sbhd to that first"),
    ANSWERED("qkv_layout", "layout", "send \"layout\": \"bthd\" for bshd, with query, key and value as three fields"),
    ANSWERED("tensor_layout", "layout", "send \"layout\": \"bhtd\" for HND, \"bthd\" for NHD"),
    ANSWERED("kv_layout", "layout", "send \"layout\": \"bhtd\" for HND, \"bthd\" for NHD"),
    ANSWERED("data_layout", "layout", "send \"layout\": \"bhtd\" or \"bthd\""),
    ANSWERED("batch_first", "layout",
             "the batch is always the first axis: send x.transpose(0, 1) where batch_first is false, and "
             "leave it out"),
    ANSWERED("attention_axes", "layout",
             "attention is over the axis of tokens, the last but one of 2 and 3 axes; move it there"),

    /* Caches. */
    ANSWERED("past_key_value", "past_key",
             "did you mean past_key? Send the pair as two fields, past_key and past_value, shaped as "
             "key and value, without the new tokens"),
    ANSWERED("past_key_values", "past_key",
             "send one layer's pair as two fields, past_key and past_value, shaped as key and value, "
             "without the new tokens"),
    ANSWERED("layer_past", "past_key", "send the pair as two fields, past_key and past_value, shaped as key and value"),
    ANSWERED("past", "past_key", "send past[0] and past[1] as two fields, past_key and past_value, shaped as key and value"),
    ANSWERED("kv_cache", "past_key", "send it as two fields, past_key and past_value, without the new tokens"),
    RENAMED_BUT("k_cache", "past_key", "past_key ends where the cache does: cut off what is not yet filled"),
    RENAMED_BUT("v_cache", "past_value", "past_value ends where the cache does: cut off what is not yet filled"),
    RENAMED("key_cache", "past_key"),
    RENAMED("value_cache", "past_value"),
    RENAMED("static_k", "key"),
    RENAMED("static_v", "value"),
    ANSWERED("block_table", "past_key", NOT_PAGED),
    ANSWERED("block_tables", "past_key", NOT_PAGED),
    ANSWERED("page_table", "past_key", NOT_PAGED),
    ANSWERED("paged_kv_cache", "past_key", NOT_PAGED),
    ANSWERED("kv_indices", "past_key", NOT_PAGED),
    ANSWERED("slot_mapping", "past_key", NOT_PAGED),
    ANSWERED("cache_batch_idx", "past_key", NOT_PAGED),
    ANSWERED("cache_indirection", "past_key", NOT_PAGED),
    ANSWERED("use_cache", "past_key",
             "no state is kept between requests: ask for \"present_key\" and \"present_value\" in \"return\", "
             "and send them as past_key and past_value next"),

    /* Rotary positions. */
    RENAMED_BUT("rotary", "rope", "{\"style\": \"half\" or \"interleaved\", \"base\": 10000}"),
    RENAMED_BUT("do_rotary", "rope", "{\"style\": \"half\" or \"interleaved\", \"base\": 10000}"),
    RENAMED_BUT("rope_theta", "rope",
                "It is rope.base: {\"style\": \"half\", \"base\": rope_theta} for models of Hugging Face"),
    RENAMED_BUT("rotary_base", "rope", "It is rope.base"),
    RENAMED_BUT("rotary_interleaved", "rope", "It is rope.style: \"interleaved\" for true, \"half\" for false"),
    ANSWERED("rotary_cos", "rope", ROPE_TABLES),
    ANSWERED("rotary_sin", "rope", ROPE_TABLES),
    ANSWERED("cos_cache", "rope", ROPE_TABLES),
    ANSWERED("sin_cache", "rope", ROPE_TABLES),
    ANSWERED("position_embeddings", "rope", ROPE_TABLES),
    ANSWERED("freqs_cis", "rope", "Llama's freqs_cis are \"rope\": {\"style\": \"interleaved\", \"base\": ..}"),
    RENAMED_BUT("rope_scale", "rope",
                "FlashInfer's is \"scaling\": {\"rope_type\": \"linear\", \"factor\": rope_scale}, its rope_theta is base"),
    RENAMED_BUT("rope_scaling", "rope", ROPE_PASTED),
    RENAMED_BUT("rope_parameters", "rope", ROPE_PASTED),
    RENAMED_BUT("inv_freq", "rope", "It is rope.inverse_frequencies"),
    RENAMED_BUT("mrope_section", "rope", "It is rope.mrope_section"),
    RENAMED_BUT("q_norm", "qk_norm", NORM_WEIGHTS),
    RENAMED_BUT("k_norm", "qk_norm", NORM_WEIGHTS),
    RENAMED_BUT("use_qk_norm", "qk_norm", "{\"query\": true, \"key\": true}, or weights for true"),
    RENAMED_BUT("qk_layernorm", "qk_norm", "{\"query\": true, \"key\": true}, or weights for true"),
    RENAMED("variance_epsilon", "eps"),
    RENAMED("epsilon", "eps"),
    RENAMED("rms_norm_eps", "eps"),
    RENAMED_BUT("partial_rotary_factor", "rope", "It sets rope.dims: the factor times D"),
    RENAMED_BUT("rotary_dim", "rope", "It is rope.dims"),
    RENAMED_BUT("rotary_embedding_dim", "rope", "It is rope.dims"),
    RENAMED("theta", "base"),
    RENAMED("rope_theta", "base"),
    RENAMED("rotary_base", "base"),
    RENAMED("rotary_dim", "dims"),
    RENAMED("dim", "dims"),
    RENAMED("rope_scaling", "scaling"),
    RENAMED("rope_parameters", "scaling"),
    RENAMED_BUT("rope_type", "scaling", "{\"rope_type\": .., \"factor\": ..}"),
    RENAMED_BUT("factor", "scaling", "{\"rope_type\": \"linear\", \"factor\": ..}"),
    RENAMED("inv_freq", "inverse_frequencies"),
    RENAMED("attention_scaling", "attention_factor"),
    RENAMED("seq_len", "length"),
    RENAMED_BUT("partial_rotary_factor", "dims", "dims is the factor times D"),
    RENAMED_BUT("interleaved", "style", "\"interleaved\" for true, \"half\" for false"),
    RENAMED_BUT("rotary_interleaved", "style", "\"interleaved\" for true, \"half\" for false"),
    RENAMED_BUT("is_neox_style", "style", "\"half\" for true, \"interleaved\" for false"),

    /* Sinks, and tokens that attention adds. */
    RENAMED("sink", "sinks"),
    RENAMED("s_aux", "sinks"),
    RENAMED("head_sink", "sinks"),
    RENAMED("attention_sinks", "sinks"),
    RENAMED("attn_sink", "sinks"),
    RENAMED("learnable_sink", "sinks"),
    ANSWERED("smooth_softmax", "sinks", "send \"sinks\": [0, ..], one 0 per query head"),
    ANSWERED("softmax_type", "sinks",
             "for \"off-by-one\" send \"sinks\": [0, ..], one 0 per query head; for \"learnable\" its logits; "
             "for \"vanilla\" nothing"),
    ANSWERED("add_zero_attn", "sinks",
             "send \"sinks\": [0, ..], one 0 per query head: a key of zeros has score 0 and adds no value"),
    ANSWERED("bias_k", "key", "append it to key as one more token, and bias_v to value, and let every query see it"),
    ANSWERED("bias_v", "value", "append it to value as one more token, and bias_k to key, and let every query see it"),
    ANSWERED("add_bias_kv", "key", "append bias_k to key and bias_v to value as one more token, and let every query see it"),

    /* Projections. */
    ANSWERED("in_proj_weight", "projection", IN_PROJECTION),
    ANSWERED("in_proj_bias", "projection", IN_PROJECTION),
    ANSWERED("c_attn.weight", "projection", "GPT-2's weight is [in, out]: transpose it, then " IN_PROJECTION),
    ANSWERED("weights", "projection",
             "ask for weights of attention in \"return\"; weights of a layer are \"projection\": {\"query\": .., "
             "\"key\": .., \"value\": ..}, each [out, in]"),
    ANSWERED("q_proj_weight", "projection", WEIGHT_ADVICE("query")),
    ANSWERED("k_proj_weight", "projection", WEIGHT_ADVICE("key")),
    ANSWERED("v_proj_weight", "projection", WEIGHT_ADVICE("value")),
    ANSWERED("out_proj_weight", "projection", WEIGHT_ADVICE("output")),
    ANSWERED("o_proj_weight", "projection", WEIGHT_ADVICE("output")),
    ANSWERED("out_proj_bias", "projection", "send it as \"projection\": {\"output\": {\"weight\": .., \"bias\": ..}}"),
    ANSWERED("q_proj", "projection", WEIGHT_ADVICE("query")),
    ANSWERED("k_proj", "projection", WEIGHT_ADVICE("key")),
    ANSWERED("v_proj", "projection", WEIGHT_ADVICE("value")),
    ANSWERED("o_proj", "projection", WEIGHT_ADVICE("output")),
    ANSWERED("out_proj", "projection", WEIGHT_ADVICE("output")),
    ANSWERED("w_q", "projection", WEIGHT_ADVICE("query")),
    ANSWERED("w_k", "projection", WEIGHT_ADVICE("key")),
    ANSWERED("w_v", "projection", WEIGHT_ADVICE("value")),
    ANSWERED("w_o", "projection", WEIGHT_ADVICE("output")),
    ANSWERED("use_bias", "projection",
             "a bias goes beside its weight: {\"weight\": .., \"bias\": ..}, and is left out where there is none"),
    ANSWERED("with_bias", "projection",
             "a bias goes beside its weight: {\"weight\": .., \"bias\": ..}, and is left out where there is none"),
    RENAMED("q_proj", "query"),
    RENAMED("k_proj", "key"),
    RENAMED("v_proj", "value"),
    RENAMED("o_proj", "output"),
    RENAMED("out_proj", "output"),
    RENAMED("c_proj", "output"),
    RENAMED("w_q", "query"),
    RENAMED("w_k", "key"),
    RENAMED("w_v", "value"),
    RENAMED("w_o", "output"),
    RENAMED("o", "output"),
    RENAMED("out", "output"),
    RENAMED("kernel", "weight"),
    RENAMED("w", "weight"),
    RENAMED("b", "bias"),
    ANSWERED("q_proj.weight", "projection.query", WEIGHT_TENSOR("query")),
    ANSWERED("k_proj.weight", "projection.key", WEIGHT_TENSOR("key")),
    ANSWERED("v_proj.weight", "projection.value", WEIGHT_TENSOR("value")),
    ANSWERED("o_proj.weight", "projection.output", WEIGHT_TENSOR("output")),
    ANSWERED("out_proj.weight", "projection.output", WEIGHT_TENSOR("output")),
    ANSWERED("out_proj.bias", "projection.output", WEIGHT_TENSOR("output")),
    ANSWERED("in_proj_weight", "projection.query",
             "split it into three equal parts along its first axis, and name them projection.query.weight, "
             "projection.key.weight and projection.value.weight"),
    ANSWERED("in_proj_bias", "projection.query",
             "split it into three equal parts, and name them projection.query.bias, projection.key.bias and "
             "projection.value.bias"),

    /* What is returned. */
    RENAMED_BUT("dtype", "precision", "\"float32\" or \"float64\", in which is computed and returned"),
    RENAMED_BUT("softmax_precision", "precision", "\"float64\" for 11 (DOUBLE), else \"float32\""),
    RENAMED("compute_dtype", "precision"),
    ANSWERED("outputs", "parts", MERGED),
    ANSWERED("lses", "parts", MERGED),
    RENAMED("outputs", "return"),
    RENAMED("topk", "top"),
    RENAMED("top_k", "top"),
    RENAMED("output_size", "pool"),
    RENAMED("round", "decimals"),
    ANSWERED("need_weights", "return", RETURN_WEIGHTS),
    ANSWERED("return_weights", "return", RETURN_WEIGHTS),
    ANSWERED("return_attention_scores", "return", RETURN_WEIGHTS " (Keras' attention scores are weights, after softmax)"),
    ANSWERED("output_attentions", "return", RETURN_WEIGHTS),
    ANSWERED("return_attn_probs", "return", RETURN_WEIGHTS),
    ANSWERED("return_softmax", "return", RETURN_WEIGHTS),
    ANSWERED("sow_weights", "return", RETURN_WEIGHTS),
    ANSWERED("average_attn_weights", "return",
             "ask for \"mean_weights\" in \"return\" where it is true, as by default, else for \"weights\""),
    ANSWERED("return_lse", "return", RETURN_LSE),
    ANSWERED("return_softmax_lse", "return", RETURN_LSE),
    ANSWERED("return_residual", "return", RETURN_LSE),
    ANSWERED("return_aux", "return", RETURN_LSE),
    ANSWERED("generate_stats", "return", RETURN_LSE " (cuDNN's stats)"),
    ANSWERED("qk_matmul_output_mode", "return",
             "ask for \"scores\" (0), \"capped_scores\" (1), \"masked_scores\" (2) or \"weights\" (3) in "
             "\"return\""),
    ANSWERED("output_hidden_states", "return", "this is one attention: ask for what \"return\" names"),
    ANSWERED("return_dict", "return", "a reply is always an object: leave it out"),

    /* What has no effect on numbers at inference. */
    RENAMED("random_seed", "seed"),
    ANSWERED("dropout", "query", NO_DROPOUT),
    ANSWERED("dropout_p", "query", NO_DROPOUT),
    ANSWERED("dropout_rate", "query", NO_DROPOUT),
    ANSWERED("attn_dropout", "query", NO_DROPOUT),
    ANSWERED("attention_dropout", "query", NO_DROPOUT),
    ANSWERED("dropout_rng", "query", NO_DROPOUT),
    ANSWERED("dropout_mask", "query", NO_DROPOUT),
    ANSWERED("broadcast_dropout", "query", NO_DROPOUT),
    ANSWERED("keep_prob", "query", NO_DROPOUT),
    ANSWERED("p", "query", NO_DROPOUT),
    ANSWERED("deterministic", "query", NOTHING_RANDOM),
    ANSWERED("rngs", "query", NOTHING_RANDOM),
    ANSWERED("training", "query", NO_DROPOUT),
    ANSWERED("is_inference", "query", NO_DROPOUT),
    ANSWERED("implementation", "query", OWN_KERNELS),
    ANSWERED("attn_implementation", "query", OWN_KERNELS),
    ANSWERED("backend", "query", OWN_KERNELS),
    ANSWERED("flash_attention", "query", OWN_KERNELS),
    ANSWERED("use_flash", "query", OWN_KERNELS),
    ANSWERED("kernel_options", "query", OWN_KERNELS),
    ANSWERED("op", "query", OWN_KERNELS),
    ANSWERED("num_splits", "query", OWN_KERNELS),
    ANSWERED("pack_gqa", "query", OWN_KERNELS),
    ANSWERED("sm_margin", "query", OWN_KERNELS),
    ANSWERED("warp_specialize", "query", OWN_KERNELS),
    ANSWERED("inner_precise", "query", OWN_KERNELS),
    ANSWERED("use_tensor_cores", "query", OWN_KERNELS),
    ANSWERED("device", "query", "attention is computed on the daemon's processor: leave it out"),

    /* A tensor as an object. */
    RENAMED("dims", "shape"),
    RENAMED("size", "shape"),
    RENAMED("values", "data"),
    RENAMED("array", "data"),
    RENAMED("buffer", "data"),
    RENAMED("datatype", "dtype"),
    ANSWERED("name", "data", "the field says which tensor it is: leave its name out, and send shape and data"),
    ANSWERED("0", "data",
             "a typed array became an object on its way into JSON: send Array.from(array), or {\"shape\": [..], \"data\": "
             "Array.from(array)}"),
    ANSWERED("__ndarray__", "data",
             "send array.tolist(), or {\"shape\": [..], \"data\": [..]} with the numbers in a flat list"),
    ANSWERED("type", "data",
             "a Buffer or another object became JSON: send {\"shape\": [..], \"data\": [..]} with numbers, not bytes"),
    ANSWERED("b64", "data",
             "no base64 is read: send numbers, or bytes as a safetensors file with Content-Type: "
             "application/x-safetensors"),

    /* The parameters of the ONNX operator. */
    RENAMED("causal", "is_causal"),
    RENAMED("use_causal_mask", "is_causal"),
    RENAMED("num_heads", "q_num_heads"),
    RENAMED("n_heads", "q_num_heads"),
    RENAMED("num_kv_heads", "kv_num_heads"),
    RENAMED("num_key_value_heads", "kv_num_heads"),
    RENAMED("window", "left_window_size"),
    RENAMED("window_size", "left_window_size"),
    RENAMED_BUT("sliding_window", "left_window_size", "It leaves the position itself out: n is n - 1, beside \"is_causal\": 1"),
    RENAMED_BUT("precision", "softmax_precision", "11 for double, 1 for float"),
    ANSWERED("return", "qk_matmul_output_mode",
             "ask for \"qk_matmul_output\" in outputs; mode 0 is scores, 1 after the softcap, 2 after "
             "the mask, 3 weights"),
    ANSWERED("is_causal", "inputs", "it is one of the \"parameters\": {\"is_causal\": 1}"),
    ANSWERED("scale", "inputs", "it is one of the \"parameters\": {\"scale\": ..}"),
    ANSWERED("instances", "inputs",
             "that is TensorFlow Serving's form: here tensors are \"inputs\": [{\"name\": \"Q\", \"datatype\": \"FP32\", "
             "\"shape\": [..], \"data\": [..]}, ..]"),
    RENAMED("query", "Q"),
    RENAMED("key", "K"),
    RENAMED("value", "V"),
    RENAMED("mask", "attn_mask"),
    RENAMED("attention_mask", "attn_mask"),
    RENAMED("attention_bias", "attn_mask"),
    RENAMED("key_lengths", "nonpad_kv_seqlen"),
    RENAMED("output", "Y"),
    RENAMED("weights", "qk_matmul_output"),
    RENAMED("scores", "qk_matmul_output"),
    RENAMED("dtype", "datatype"),
    RENAMED("dims", "shape"),
    RENAMED("contents", "data"),
    RENAMED("fp32_contents", "data"),
};

const size_t library_name_count = sizeof library_names / sizeof library_names[0];

static bool is_ignored(char c)
{
    return c == '_' || c == '-' || c == '.' || c == ' ';
}

bool library_name_is_same(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (is_ignored(*a))
            a++;
        while (is_ignored(*b))
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
    }
}

static bool is_listed(const char *name, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

const struct library_name *library_name_find(const char *name, const char *const *names)
{
    for (const char *tail = name; tail != NULL; tail = strchr(tail, '.') == NULL ? NULL : strchr(tail, '.') + 1)
        for (size_t i = 0; i < library_name_count; i++)
            if (library_name_is_same(tail, library_names[i].theirs) && is_listed(library_names[i].ours, names))
                return &library_names[i];
    return NULL;
}
