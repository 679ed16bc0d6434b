/* Any bytes as the JSON of POST /attention, whole: read, computed, written. The reply must be JSON, whatever it says; and one
 * that was computed is the same again under a limit of just what it cost, and on several workers. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "core/size.h"
#include "tests/support/fuzz.h"

#define MEMORY_BYTES_MAX ((size_t)64 << 20)
#define PARSED_BYTES_MAX ((size_t)256 << 10) /* jansson takes its time over longer replies */
#define STOPS_AFTER 64                       /* questions whether the work is still wanted */

static bool count_down(void *context)
{
    size_t *left = context;
    *left -= *left > 0;
    return *left == 0;
}

/* Body and reply, the body in memory of just its size. */
struct exchange {
    char *body; /* owned */
    struct api_call call;
    char *text; /* owned: the reply as it goes out */
    size_t text_bytes;
};

static void join_parts(struct exchange *e)
{
    const struct api_reply *reply = &e->call.reply;
    e->text_bytes = reply->body_bytes;
    for (size_t i = 0; i < reply->chunk_count; i++)
        e->text_bytes += reply->chunks[i].bytes;
    e->text = malloc(size_max(e->text_bytes, 1));
    CHECK(e->text != NULL);
    memcpy(e->text, reply->body, reply->body_bytes);
    char *at = e->text + reply->body_bytes;
    for (size_t i = 0; i < reply->chunk_count; at += reply->chunks[i].bytes, i++)
        memcpy(at, reply->chunks[i].data, reply->chunks[i].bytes);
}

static void exchange_init(struct exchange *e, const uint8_t *data, size_t size, size_t worker_count, size_t memory_bytes_max)
{
    size_t stops_left = STOPS_AFTER;
    const struct executor executor = {.worker_count = worker_count, .stopped = count_down, .context = &stops_left};
    const struct api_limits limits = {.request_memory_bytes_max = memory_bytes_max};
    e->body = malloc(size_max(size, 1));
    CHECK(e->body != NULL);
    memcpy(e->body, data, size);
    const struct api_request request = {.content_type = "application/json", .body = e->body, .body_bytes = size};
    api_compute(&api_protocol_attention, &request, &limits, &executor, &e->call);
    join_parts(e);
}

static void exchange_done(struct exchange *e)
{
    api_call_done(&e->call);
    free(e->body);
    free(e->text);
}

static void check_reply(const struct exchange *e)
{
    const struct api_call *call = &e->call;
    const struct api_reply *reply = &call->reply;
    CHECK(reply->status == 200 || reply->status == 400 || reply->status == 413 || reply->status == 415 ||
          reply->status == 422 || reply->status == 503);
    CHECK((reply->status == 200) == (reply->error == ERROR_NONE));
    CHECK(reply->status != 503 || reply->error == ERROR_DEADLINE);
    CHECK(call->arena.used_bytes <= call->arena.cap_bytes && call->reserved_bytes <= MEMORY_BYTES_MAX);
    CHECK(e->text_bytes > 2 && e->text[0] == '{' && e->text[e->text_bytes - 2] == '}');
    if (e->text_bytes > PARSED_BYTES_MAX)
        return;
    json_t *json = json_loadb(e->text, e->text_bytes, JSON_REJECT_DUPLICATES, NULL);
    CHECK(json_is_object(json));
    const char *const names[] = {reply->status == 200 ? "applied" : "detail", reply->status == 200 ? "warnings" : "title"};
    CHECK(json_object_get(json, names[0]) != NULL && json_object_get(json, names[1]) != NULL);
    json_decref(json);
}

static void check_same(const struct exchange *a, const struct exchange *b)
{
    CHECK(b->call.reply.error == ERROR_DEADLINE ||
          (a->text_bytes == b->text_bytes && memcmp(a->text, b->text, a->text_bytes) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct exchange first, again, wide;
    exchange_init(&first, data, size, 1, MEMORY_BYTES_MAX);
    check_reply(&first);
    if (first.call.reply.status == 200) {
        exchange_init(&again, data, size, 1, first.call.reserved_bytes);
        check_same(&first, &again);
        exchange_done(&again);
        exchange_init(&wide, data, size, 3, 2 * MEMORY_BYTES_MAX);
        if (wide.call.reply.status != 413) /* scratch for three may be too much */
            check_same(&first, &wide);
        exchange_done(&wide);
    }
    exchange_done(&first);
    return 0;
}
