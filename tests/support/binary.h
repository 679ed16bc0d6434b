/* binary.h: requests and replies that hold more than JSON: safetensors files, JSON with binary tensors behind it.
 *
 *   struct binary binary;
 *   binary_client(&binary, &(struct binary_request){.face = &api_protocol_attention, .content_type = SAFETENSORS_TYPE, .body = ..});
 *   ...
 *   binary_done(&binary);
 *
 * Every function ends the running test where something is off. */
#ifndef ATTND_TESTS_SUPPORT_BINARY_H
#define ATTND_TESTS_SUPPORT_BINARY_H

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

struct binary {
    char *memory; /* owned: the request, in memory that ends where it does */
    struct api_call call;
    char *body; /* owned: the reply as it goes out, its parts joined; NUL-terminated */
    size_t body_bytes;
    json_t *json; /* owned: the reply's JSON: all of it, or what stands before binary tensors, or a safetensors header */
    size_t data_offset_bytes; /* in body: where what is no JSON begins */
};

void binary_client(struct binary *binary, const struct binary_request *request);
void binary_done(struct binary *binary);

/* Fails with the reply's text unless its status is 200. */
void binary_check_ok(const struct binary *binary);

/* A refusal: status, the words in `detail` or `error`, and the pointer ("": none; for &api_protocol_kserve it stands before the words). */
void binary_refused(const struct binary_request *request, int status, const char *pointer, const char *words);

/* A safetensors file: new, to be freed. */
char *safetensors_file(const char *header, const void *data, size_t data_bytes, size_t *ret_bytes);

/* The tensor `name` of a reply that is a safetensors file: checks dtype and shape (compact JSON), returns its bytes. */
const void *safetensors_tensor(const struct binary *binary, const char *name, const char *dtype, const char *shape);

#endif
