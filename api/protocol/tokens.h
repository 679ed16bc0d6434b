/* tokens.h: "tokens" of a request: a label for each token, for people. Checked, returned as they came, and of no effect on numbers.
 *
 *   ["The", " cat"], or {"query": [..], "key": [..]} where queries and keys are different tokens
 *
 * Memory   borrows the request's text. */
#ifndef ATTND_API_PROTOCOL_TOKENS_H
#define ATTND_API_PROTOCOL_TOKENS_H

#include "api/json/document.h"
#include "api/json/writer.h"

struct tokens {
    const char *query, *key; /* the arrays' text; NULL: none; key alone is NULL where one list stands for both */
    size_t query_bytes, key_bytes;
};

/* Fails   invalid, malformed, with a pointer to the field. */
bool tokens_read(const struct extract *extract, const json_t *value, struct tokens *ret, struct error *err)
    __attribute__((warn_unused_result));

/* What tokens_write writes at most. */
size_t tokens_bytes_max(const struct tokens *tokens);

/* The value, as it came; nothing where there are none. */
void tokens_write(struct writer *writer, const struct tokens *tokens);

#endif
