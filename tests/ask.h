/* ask.h: one request's text through api, and what the reply says.
 *
 *   struct ask ask;
 *   ask_attention(&ask, "averages", text, strlen(text), NULL);
 *   double *output = ask_numbers(&ask, json_object_get(ask.reply, "output"), "output", 2, shape);
 *   ...
 *   ask_done(&ask);
 *
 * Every function ends the running test, with the label in the message, where the reply is not what it should be. */
#ifndef ATTND_TESTS_ASK_H
#define ATTND_TESTS_ASK_H

#include <jansson.h>
#include <stddef.h>

#include "api/api.h"

#define ASK_MEMORY_BYTES_MAX ((size_t)1 << 30) /* what one request may take */

struct ask {
    const char *label;    /* borrowed: what a failure's message begins with */
    char *body;           /* owned; the request in memory of just its size, so that sanitizers see a read past its end */
    struct api_call call; /* its reply's parts joined */
    char *joined;         /* owned; NULL where there was one part */
    json_t *reply;        /* owned; the reply's body, valid JSON without duplicate names */
};

/* POST /attention, and POST /v2/models/attention/infer. `executor` may be NULL. */
void ask_attention(struct ask *ask, const char *label, const char *text, size_t text_bytes, const struct executor *executor);
void ask_infer(struct ask *ask, const char *label, const char *text, size_t text_bytes, const struct executor *executor);

/* POST /attention with a content type (NULL: none), limits and an executor (may be NULL) of one's own; ask_check_reply holds. */
void ask_attention_with(struct ask *ask, const char *label, const char *text, size_t text_bytes, const char *content_type,
                        const struct api_limits *limits, const struct executor *executor);

/* What belongs to the reply's status is there, and only that: of 200 what every result comes with, else a problem+json. */
void ask_check_reply(const struct ask *ask);

/* A problem's text member; "" where there is none. */
const char *ask_problem_text(const struct ask *ask, const char *name);

/* POST /attention is refused with the status, at the pointer ("": none), with the words in the problem's detail. */
void ask_refused(const char *text, size_t text_bytes, int status, const char *pointer, const char *words);

/* The reply has status 200; if not, its text is in the failure's message. */
void ask_check_ok(const struct ask *ask);

/* The numbers of an array nested as the shape says, row-major; "NaN", "Infinity" and "-Infinity" are read as such. `name` is for
 * the message. New array: the caller frees it. */
double *ask_numbers(const struct ask *ask, const json_t *node, const char *name, size_t rank, const size_t *shape);

void ask_done(struct ask *ask);

#endif
