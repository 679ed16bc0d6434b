#include "tests/support/fuzz.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/protocol/safetensors.h"
#include "core/size.h"
#include "tests/support/client.h"

/* Keeps what a drawn request may compute to milliseconds. */
#define MEMORY_BYTES_MAX ((size_t)1 << 17)
#define LENGTH_BYTES 8
#define HEADER_END 255

struct answer {
    struct api_call call;
    char *body; /* owned: the reply as it goes out */
    size_t bytes;
};

int LLVMFuzzerInitialize(int *argument_count, char ***arguments)
{
    (void)argument_count;
    (void)arguments;
    api_init();
    return 0;
}

void fuzz_fail(const char *file, int line, const char *condition)
{
    (void)fprintf(stderr, "%s:%d: %s\n", file, line, condition);
    abort();
}

static void post(const struct api_protocol *protocol, const struct api_request *request, size_t offset_bytes,
                 struct answer *ret)
{
    const struct api_limits limits = {.request_memory_bytes_max = MEMORY_BYTES_MAX};
    char *memory = malloc(size_max(offset_bytes + request->body_bytes, 1));
    CHECK(memory != NULL);
    memcpy(memory + offset_bytes, request->body, request->body_bytes);
    struct api_request sent = *request;
    sent.body = memory + offset_bytes;
    api_compute(protocol, &sent, &limits, NULL, &ret->call);
    ret->body = client_reply_body(&ret->call.reply, &ret->bytes);
    free(memory);
}

static void answer_done(struct answer *answer)
{
    free(answer->body);
    api_call_done(&answer->call);
}

static json_t *parse(const char *text, size_t bytes)
{
    json_t *json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL);
    CHECK(json_is_object(json));
    return json;
}

/* The tensors follow each other from the data's first byte to its last. */
static void check_safetensors(const struct answer *answer)
{
    uint64_t header_bytes = 0;
    CHECK(answer->bytes >= LENGTH_BYTES);
    for (size_t i = LENGTH_BYTES; i-- > 0;)
        header_bytes = header_bytes << 8 | (unsigned char)answer->body[i];
    CHECK(header_bytes <= answer->bytes - LENGTH_BYTES);
    json_t *header = parse(answer->body + LENGTH_BYTES, (size_t)header_bytes);
    size_t reached = 0;
    const char *name;
    json_t *entry;
    json_object_foreach(header, name, entry)
    {
        const json_t *offsets = json_object_get(entry, "data_offsets");
        if (strcmp(name, "__metadata__") == 0)
            continue;
        CHECK((size_t)json_integer_value(json_array_get(offsets, 0)) == reached);
        reached = (size_t)json_integer_value(json_array_get(offsets, 1));
    }
    CHECK(reached == answer->bytes - LENGTH_BYTES - header_bytes);
    json_decref(header);
}

static void check_kserve(const struct answer *answer)
{
    size_t json_bytes = answer->call.reply.json_bytes > 0 ? answer->call.reply.json_bytes : answer->bytes, behind = 0;
    CHECK(json_bytes <= answer->bytes);
    json_t *json = parse(answer->body, json_bytes);
    const json_t *outputs = json_object_get(json, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *parameters = json_object_get(json_array_get(outputs, i), "parameters");
        behind += (size_t)json_integer_value(json_object_get(parameters, "binary_data_size"));
    }
    CHECK(behind == answer->bytes - json_bytes);
    json_decref(json);
}

static void check(const struct answer *answer)
{
    const struct api_reply *reply = &answer->call.reply;
    int status = reply->status;
    CHECK(status == 200 || status == 400 || status == 413 || status == 415 || status == 422);
    CHECK((status == 200) == (reply->error == ERROR_NONE));
    CHECK(answer->call.arena.used_bytes <= answer->call.arena.cap_bytes);
    if (strcmp(reply->content_type, SAFETENSORS_TYPE) == 0)
        check_safetensors(answer);
    else
        check_kserve(answer);
}

void fuzz_call(const struct api_protocol *protocol, const struct api_request *request)
{
    struct answer aligned, unaligned;
    post(protocol, request, 0, &aligned);
    post(protocol, request, 1, &unaligned);
    check(&aligned);
    check(&unaligned);
    /* Without a copy less memory is needed, so a limit may hold for one of the two alone. */
    if (aligned.call.reply.status != 413 && unaligned.call.reply.status != 413)
        CHECK(aligned.bytes == unaligned.bytes && memcmp(aligned.body, unaligned.body, aligned.bytes) == 0);
    answer_done(&aligned);
    answer_done(&unaligned);
}

static void send_file(const struct api_protocol *protocol, const char *file, size_t bytes, bool as_json)
{
    fuzz_call(protocol, &(struct api_request){
                            .content_type = SAFETENSORS_TYPE,
                            .accept = as_json ? NULL : SAFETENSORS_TYPE,
                            .body = file,
                            .body_bytes = bytes,
                        });
}

void fuzz_safetensors(const struct api_protocol *protocol, const uint8_t *input, size_t bytes, bool is_file, bool as_json)
{
    if (is_file) {
        send_file(protocol, (const char *)input, bytes, as_json);
        return;
    }
    const uint8_t *end = memchr(input, HEADER_END, bytes);
    size_t header_bytes = end == NULL ? bytes : (size_t)(end - input);
    size_t data_bytes = end == NULL ? 0 : bytes - header_bytes - 1;
    char *file = malloc(LENGTH_BYTES + header_bytes + data_bytes);
    CHECK(file != NULL);
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        file[i] = (char)(header_bytes >> 8 * i & 0xff);
    memcpy(file + LENGTH_BYTES, input, header_bytes);
    if (data_bytes > 0)
        memcpy(file + LENGTH_BYTES + header_bytes, end + 1, data_bytes);
    send_file(protocol, file, LENGTH_BYTES + header_bytes + data_bytes, as_json);
    free(file);
}
