/* attention_read.h: the fields of POST /attention. */
#ifndef ATTND_API_PROTOCOL_ATTENTION_READ_H
#define ATTND_API_PROTOCOL_ATTENTION_READ_H

#include <jansson.h>

#include "api/protocol/tokens.h"
#include "api/request/request.h"

/* How the reply is to be written: fields that change no number. */
struct attention_reply {
    bool safetensors; /* by the Accept header */
    bool flat;
    int decimals; /* -1: not rounded */
    struct tokens tokens;
};

#define ATTENTION_FIELDS_MAX 80

/* The fields' names, NULL-terminated; static. */
void attention_field_names(const char *ret[ATTENTION_FIELDS_MAX + 1]);

/* Decodes the document's fields, each by itself. `ret` borrows the extract and *ret_reply.
 * Fails   invalid, with a pointer to the field. */
bool attention_read_fields(const struct extract *extract, const json_t *document, struct request *ret,
                           struct attention_reply *ret_reply, struct error *err) __attribute__((warn_unused_result));

/* What the request's Accept header says about the reply.
 * Fails   invalid: a field that only a JSON reply has. */
bool attention_reply_resolve(struct attention_reply *reply, const char *accept, struct error *err)
    __attribute__((warn_unused_result));

#endif
