#include "api/json/suggest.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "core/size.h"

#define NAME_BYTES_MAX 32 /* longer names resemble none of ours */

/* The names that PyTorch, ONNX, FlashAttention, JAX, Keras and Hugging Face's models have for the same fields. */
static const struct {
    const char *theirs, *ours;
} aliases[] = {
    {"q", "query"},
    {"k", "key"},
    {"v", "value"},
    {"queries", "query"},
    {"keys", "key"},
    {"values", "value"},
    {"is_causal", "causal"},
    {"use_causal_mask", "causal"},
    {"attn_mask", "mask"},
    {"attention_mask", "mask"},
    {"attn_bias", "mask"},
    {"bias", "mask"},
    {"key_padding_mask", "mask"},
    {"nonpad_kv_seqlen", "key_lengths"},
    {"seqlens_k", "key_lengths"},
    {"cache_seqlens", "key_lengths"},
    {"kv_lengths", "key_lengths"},
    {"softmax_scale", "scale"},
    {"sm_scale", "scale"},
    {"scaling", "scale"},
    {"soft_cap", "softcap"},
    {"logits_soft_cap", "softcap"},
    {"attn_logit_softcapping", "softcap"},
    {"window_size", "window"},
    {"sliding_window", "window"},
    {"local_window_size", "window"},
    {"left_window_size", "window"},
    {"right_window_size", "window"},
    {"alibi_slopes", "alibi"},
    {"q_num_heads", "num_heads"},
    {"n_heads", "num_heads"},
    {"heads", "num_heads"},
    {"kv_num_heads", "num_kv_heads"},
    {"num_key_value_heads", "num_kv_heads"},
    {"enable_gqa", "num_kv_heads"},
    {"head_dim", "head_size"},
    {"key_dim", "head_size"},
    {"hidden_states", "x"},
    {"input", "x"},
    {"tokens", "x"},
    {"memory", "context"},
    {"encoder_hidden_states", "context"},
    {"value_states", "value_context"},
    {"past_key_value", "past_key"},
    {"k_cache", "past_key"},
    {"v_cache", "past_value"},
    {"rotary", "rope"},
    {"rope_theta", "rope"},
    {"dtype", "precision"},
    {"outputs", "return"},
    {"round", "decimals"},
    {"random_seed", "seed"},
    {"topk", "top"},
    {"top_k", "top"},
    {"output_size", "pool"},
    {"column_sums", "key_sums"},
    {"offset", "query_offset"},
    {"theta", "base"},
    {"interleaved", "style"},
};

static bool is_listed(const char *name, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* How many letters to insert, delete or replace to get from one name to the other (Levenshtein 1966), ignoring case. */
static size_t edits(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1];
    size_t b_length = strlen(b);
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            size_t change = diagonal + (same ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = size_min(change, size_min(row[j], diagonal) + 1);
        }
    }
    return row[b_length];
}

const char *suggest_nearest(const char *name, const char *const *names)
{
    if (strlen(name) > NAME_BYTES_MAX)
        return NULL;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcasecmp(name, aliases[i].theirs) == 0 && is_listed(aliases[i].ours, names))
            return aliases[i].ours;
    const char *nearest = NULL;
    size_t fewest = strlen(name) / 3 + 1; /* a third of the letters may be wrong */
    for (size_t i = 0; names[i] != NULL; i++) {
        size_t count = edits(name, names[i]);
        if (count <= fewest && count < strlen(names[i]) && (nearest == NULL || count < edits(name, nearest)))
            nearest = names[i];
    }
    return nearest;
}

bool suggest_refuse(const char *name, const char *pointer, const char *const *names, struct error *err)
{
    const char *nearest = suggest_nearest(name, names);
    if (nearest == NULL)
        return error_set_at(err, ERROR_INVALID, pointer, "%.60s: no such field", name);
    return error_set_at(err, ERROR_INVALID, pointer, "%.60s: no such field; did you mean %s?", name, nearest);
}
