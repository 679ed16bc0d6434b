#include "tests/support/binary_client.h"

#include <stdlib.h>
#include <string.h>

#include "api/protocol/safetensors.h"
#include "core/size.h"
#include "tests/support/check.h"
#include "tests/support/client.h"

#define MEMORY_BYTES_MAX ((size_t)1 << 30)
#define HEADER_LENGTH_BYTES 8

/* Length, JSON and padding must make the data begin at a multiple of 8 bytes. */
static size_t safetensors_header(const struct binary_client *binary, const char **ret_json)
{
    uint64_t bytes = 0;
    assert_true(binary->body_bytes >= HEADER_LENGTH_BYTES);
    for (size_t i = HEADER_LENGTH_BYTES; i-- > 0;)
        bytes = bytes << 8 | (unsigned char)binary->body[i];
    assert_true(bytes <= binary->body_bytes - HEADER_LENGTH_BYTES && bytes % 8 == 0);
    assert_true(binary->body[HEADER_LENGTH_BYTES] == '{');
    *ret_json = binary->body + HEADER_LENGTH_BYTES;
    return (size_t)bytes;
}

static void read_json(struct binary_client *binary)
{
    const struct api_reply *reply = &binary->call.reply;
    const char *json = binary->body;
    size_t json_bytes = reply->json_bytes > 0 ? reply->json_bytes : binary->body_bytes;
    if (strcmp(reply->content_type, SAFETENSORS_TYPE) == 0)
        json_bytes = safetensors_header(binary, &json);
    assert_true(json_bytes <= binary->body_bytes);
    json_error_t error;
    binary->json = json_loadb(json, json_bytes, JSON_REJECT_DUPLICATES, &error);
    if (binary->json == NULL)
        fail_msg("the reply's JSON: %s: %.*s", error.text, (int)json_bytes, json);
    binary->data_offset_bytes = (size_t)(json - binary->body) + json_bytes;
}

void binary_client_send(struct binary_client *binary, const struct binary_request *request)
{
    const struct api_limits limits = {.request_memory_bytes_max = MEMORY_BYTES_MAX};
    *binary = (struct binary_client){0};
    void *memory = NULL;
    assert_int_equal(posix_memalign(&memory, 64, size_max(request->offset_bytes + request->body_bytes, 1)), 0);
    binary->memory = memory;
    if (request->body_bytes > 0)
        memcpy(binary->memory + request->offset_bytes, request->body, request->body_bytes);
    const struct api_request sent = {
        .content_type = request->content_type,
        .accept = request->accept,
        .json_length = request->json_length,
        .body = binary->memory + request->offset_bytes,
        .body_bytes = request->body_bytes,
    };
    api_compute(request->protocol, &sent, &limits, request->executor, &binary->call);
    binary->body = client_reply_body(&binary->call.reply, &binary->body_bytes);
    read_json(binary);
    assert_true(binary->call.arena.used_bytes <= binary->call.arena.cap_bytes);
}

void binary_client_done(struct binary_client *binary)
{
    json_decref(binary->json);
    free(binary->body);
    api_call_done(&binary->call);
    free(binary->memory);
}

void binary_client_check_ok(const struct binary_client *binary)
{
    if (binary->call.reply.status != 200)
        fail_msg("status %d: %s", binary->call.reply.status, binary->body);
}

static const char *member(const struct binary_client *binary, const char *name)
{
    const char *text = json_string_value(json_object_get(binary->json, name));
    return text == NULL ? "" : text;
}

void binary_client_refused(const struct binary_request *request, int status, const char *pointer, const char *words)
{
    struct binary_client binary;
    binary_client_send(&binary, request);
    bool kserve = request->protocol == &api_protocol_kserve;
    const char *text = member(&binary, kserve ? "error" : "detail");
    bool placed = kserve ? strncmp(text, pointer, strlen(pointer)) == 0 : strcmp(member(&binary, "pointer"), pointer) == 0;
    if (binary.call.reply.status != status || !placed || strstr(text, words) == NULL)
        fail_msg("%.*s\nstatus %d, %s\nwhere %d at \"%s\" with \"%s\" is expected", (int)request->body_bytes,
                 (const char *)request->body, binary.call.reply.status, binary.body, status, pointer, words);
    assert_string_equal(binary.call.reply.content_type, kserve ? "application/json" : "application/problem+json");
    assert_int_equal(binary.call.reply.chunk_count, 0);
    binary_client_done(&binary);
}

char *safetensors_file(const char *header, const void *data, size_t data_bytes, size_t *ret_bytes)
{
    uint64_t header_bytes = strlen(header);
    char *file = malloc(HEADER_LENGTH_BYTES + header_bytes + data_bytes);
    assert_non_null(file);
    for (size_t i = 0; i < HEADER_LENGTH_BYTES; i++)
        file[i] = (char)(header_bytes >> 8 * i & 0xff);
    memcpy(file + HEADER_LENGTH_BYTES, header, header_bytes);
    if (data_bytes > 0)
        memcpy(file + HEADER_LENGTH_BYTES + header_bytes, data, data_bytes);
    *ret_bytes = HEADER_LENGTH_BYTES + header_bytes + data_bytes;
    return file;
}

const void *safetensors_tensor(const struct binary_client *binary, const char *name, const char *dtype, const char *shape)
{
    const json_t *entry = json_object_get(binary->json, name);
    const json_t *offsets = json_object_get(entry, "data_offsets");
    char *got_shape = json_dumps(json_object_get(entry, "shape"), JSON_COMPACT);
    const char *got_dtype = json_string_value(json_object_get(entry, "dtype"));
    if (entry == NULL || got_shape == NULL || got_dtype == NULL || strcmp(got_shape, shape) != 0 ||
        strcmp(got_dtype, dtype) != 0)
        fail_msg("%s: %s of shape %s, where %s of shape %s is expected", name, got_dtype, got_shape, dtype, shape);
    free(got_shape);
    size_t begin = (size_t)json_integer_value(json_array_get(offsets, 0));
    size_t end = (size_t)json_integer_value(json_array_get(offsets, 1));
    assert_true(json_array_size(offsets) == 2 && begin <= end && end <= binary->body_bytes - binary->data_offset_bytes);
    return binary->body + binary->data_offset_bytes + begin;
}
