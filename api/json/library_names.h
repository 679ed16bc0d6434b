/* library_names.h: what other libraries call what a request says, and how it is said here.
 *
 * The names are those of the documents of PyTorch, JAX, Flax, Keras, Hugging Face, FlashAttention, FlashInfer, xFormers, ONNX (and
 * ONNX Runtime's own operators), Triton, cuDNN, Transformer Engine and Ascend. Where a name has the sense of one of ours, or nearly
 * so, that is the suggestion; where the sense or the shape changes on the way, the entry says how. */
#ifndef ATTND_API_JSON_LIBRARY_NAMES_H
#define ATTND_API_JSON_LIBRARY_NAMES_H

#include <stdbool.h>
#include <stddef.h>

struct library_name {
    const char *theirs;
    const char *ours;   /* the name here; an entry holds only where it is known */
    const char *advice; /* a sentence; NULL where the name says it all */
    enum {
        LIBRARY_NAME_RENAMED, /* `ours` in other words */
        LIBRARY_NAME_ANSWERED /* no field of its own: the advice alone says what to send */
    } kind;
};

/* The table. */
extern const struct library_name library_names[];
extern const size_t library_name_count;

/* Whether two names are one, "_", "-", "." and " " and case left aside. */
bool library_name_is_same(const char *a, const char *b);

/* The entry for a name where `names` (NULL-terminated) are known; NULL where there is none. Case, "_", "-" and "." are ignored, and
 * so is what comes before a ".": self_attn.q_proj.weight is q_proj.weight. */
const struct library_name *library_name_find(const char *name, const char *const *names);

#endif
