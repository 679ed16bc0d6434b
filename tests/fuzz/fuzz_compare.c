/* Any bytes as the JSON of POST /attention/compare, whole. The reply must be JSON, whatever it says, and the same again under a limit
 * of just what it cost. */
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "core/size.h"
#include "tests/support/fuzz.h"

#define MEMORY_BYTES_MAX ((size_t)64 << 20)
#define STOPS_AFTER 4096 /* questions whether the work is still wanted */

static bool count_down(void *context)
{
    size_t *left = context;
    *left -= *left > 0;
    return *left == 0;
}

/* The reply is to be freed with api_call_done. */
static void compare(const char *body, size_t bytes, size_t memory_bytes_max, struct api_call *ret)
{
    size_t stops_left = STOPS_AFTER;
    const struct executor executor = {.worker_count = 1, .stopped = count_down, .context = &stops_left};
    const struct api_limits limits = {.request_memory_bytes_max = memory_bytes_max};
    const struct api_request request = {.content_type = "application/json", .body = body, .body_bytes = bytes};
    api_compute(&api_protocol_compare, &request, &limits, &executor, ret);
}

static void check_reply(const struct api_call *call)
{
    const struct api_reply *reply = &call->reply;
    CHECK(reply->status == 200 || reply->status == 400 || reply->status == 413 || reply->status == 415 ||
          reply->status == 422 || reply->status == 503);
    CHECK((reply->status == 200) == (reply->error == ERROR_NONE));
    CHECK(reply->status != 503 || reply->error == ERROR_DEADLINE);
    CHECK((reply->status == 200) == (reply->verdict != API_VERDICT_NONE));
    CHECK(call->arena.used_bytes <= call->arena.cap_bytes && call->reserved_bytes <= MEMORY_BYTES_MAX);
    if (reply->chunk_count > 0) /* a case: the body itself */
        return;
    json_t *json = json_loadb(reply->body, reply->body_bytes, JSON_REJECT_DUPLICATES, NULL);
    CHECK(json_object_get(json, reply->status == 200 ? "verdict" : "detail") != NULL);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct api_call first, again;
    char *body = malloc(size_max(size, 1)); /* of just its size */
    CHECK(body != NULL);
    memcpy(body, data, size);
    compare(body, size, MEMORY_BYTES_MAX, &first);
    check_reply(&first);
    if (first.reply.status == 200) {
        compare(body, size, first.reserved_bytes, &again);
        CHECK(again.reply.status == 200 && again.reply.body_bytes == first.reply.body_bytes &&
              memcmp(again.reply.body, first.reply.body, first.reply.body_bytes) == 0);
        api_call_done(&again);
    }
    api_call_done(&first);
    free(body);
    return 0;
}
