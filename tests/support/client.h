/* client.h: sends one request's JSON through api, as a client would without a socket, and reads the reply's JSON.
 *
 *   struct client client;
 *   client_attention(&client, "averages", text, strlen(text), NULL);
 *   double *output = client_numbers(&client, json_object_get(client.reply, "output"), "output", 2, shape);
 *   ...
 *   client_done(&client);
 *
 * Every function ends the running test, with the label in the message, where the reply is not what it should be. */
#ifndef ATTND_TESTS_SUPPORT_CLIENT_H
#define ATTND_TESTS_SUPPORT_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "api/api.h"

#define CLIENT_MEMORY_BYTES_MAX ((size_t)1 << 30) /* what one request may take */

struct client {
    const char *label;    /* borrowed: what a failure's message begins with */
    char *body;           /* owned; the request in memory of just its size, so that sanitizers see a read past its end */
    struct api_call call; /* its reply's chunks joined */
    char *reply_text;     /* owned: the joined chunks */
    json_t *reply;        /* owned: the reply's body, valid JSON without duplicate names */
};

/* A body to a protocol with a content type (NULL: none), limits and an executor (may be NULL). */
void client_post(struct client *client, const struct api_protocol *protocol, const char *label, const char *text,
                 size_t text_bytes, const char *content_type, const struct api_limits *limits, const struct executor *executor);

/* POST /attention, POST /attention/compare, POST /attention/merge, and POST /v2/models/attention/infer. `executor` may be NULL. */
void client_attention(struct client *client, const char *label, const char *text, size_t text_bytes,
                      const struct executor *executor);
void client_compare(struct client *client, const char *label, const char *text, size_t text_bytes,
                    const struct executor *executor);
void client_merge(struct client *client, const char *label, const char *text, size_t text_bytes,
                  const struct executor *executor);
void client_kserve(struct client *client, const char *label, const char *text, size_t text_bytes,
                   const struct executor *executor);

/* POST /attention with a content type (NULL: none), limits and an executor (may be NULL) of one's own; client_check_reply holds. */
void client_attention_with(struct client *client, const char *label, const char *text, size_t text_bytes,
                           const char *content_type, const struct api_limits *limits, const struct executor *executor);

/* What belongs to the reply's status is there, and only that: of 200 what every result comes with, else a problem+json. */
void client_check_reply(const struct client *client);

/* A problem's text member; "" where there is none. */
const char *client_problem_text(const struct client *client, const char *name);

/* POST /attention is refused with the status, at the pointer ("": none), with the words in the problem's detail. */
void client_refused(const char *text, size_t text_bytes, int status, const char *pointer, const char *words);

/* The reply has status 200; if not, its text is in the failure's message. */
void client_check_ok(const struct client *client);

/* The numbers of an array nested as the shape says, row-major; "NaN", "Infinity" and "-Infinity" are read as such. `name` is for
 * the message. New array: the caller frees it. */
double *client_numbers(const struct client *client, const json_t *node, const char *name, size_t rank, const size_t *shape);

void client_done(struct client *client);

/* A reply as it goes out, its chunks joined; new, NUL-terminated, to be freed. */
char *client_reply_body(const struct api_reply *reply, size_t *ret_bytes);

#endif
