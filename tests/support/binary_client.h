/* binary_client.h: client.h for bodies that hold more than JSON: safetensors files, JSON with binary tensors behind it.
 *
 *   struct binary_client binary;
 *   const struct binary_request request = {.protocol = &api_protocol_attention, .content_type = SAFETENSORS_TYPE, .body = ..};
 *   binary_client_send(&binary, &request);
 *   ...
 *   binary_client_done(&binary);
 *
 * Every function ends the running test where something is off. */
#ifndef ATTND_TESTS_SUPPORT_BINARY_CLIENT_H
#define ATTND_TESTS_SUPPORT_BINARY_CLIENT_H

#include <jansson.h>
#include <stddef.h>

#include "api/api.h"

struct binary_request {
    const struct api_protocol *protocol;
    const char *content_type, *accept, *json_length; /* headers; NULL: absent */
    const void *body;
    size_t body_bytes;
    size_t offset_bytes; /* where the body begins in its memory, which is aligned to 64 bytes: unaligned tensors on demand */
    const struct executor *executor;
};

struct binary_client {
    char *memory; /* owned: the request, in memory that ends where it does */
    struct api_call call;
    char *body; /* owned: the reply as it goes out, its chunks joined; NUL-terminated */
    size_t body_bytes;
    json_t *json; /* owned: the reply's JSON: all of it, or what stands before binary tensors, or a safetensors header */
    size_t data_offset_bytes; /* in body: where the data behind the JSON begins */
};

void binary_client_send(struct binary_client *binary, const struct binary_request *request);
void binary_client_done(struct binary_client *binary);

/* Fails with the reply's text unless its status is 200. */
void binary_client_check_ok(const struct binary_client *binary);

/* The request is refused: with the status, the words in `detail` or `error`, and the pointer ("": none; in the Open Inference
 * Protocol it stands before the words). */
void binary_client_refused(const struct binary_request *request, int status, const char *pointer, const char *words);

/* A safetensors file: new, to be freed. */
char *safetensors_file(const char *header, const void *data, size_t data_bytes, size_t *ret_bytes);

/* The tensor `name` of a reply that is a safetensors file: checks dtype and shape (compact JSON), returns its bytes. */
const void *safetensors_tensor(const struct binary_client *binary, const char *name, const char *dtype, const char *shape);

#endif
