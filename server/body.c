#include "server/body.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/size.h"

#define BODY_FIRST_ROOM_BYTES ((size_t)16 * 1024)

void body_init(struct body *body, struct budget *budget, size_t bytes_max)
{
    *body = (struct body){.budget = budget, .bytes_max = bytes_max};
}

static bool grow(struct body *body, size_t needed_bytes, struct error *err)
{
    size_t wanted = size_max(needed_bytes, size_max(BODY_FIRST_ROOM_BYTES, size_multiply(2, body->room_bytes)));
    size_t room_bytes = size_min(wanted, body->bytes_max);
    size_t more_bytes = room_bytes - body->room_bytes;
    if (!budget_take_body(body->budget, more_bytes))
        return error_set(err, ERROR_NO_MEMORY, "no room for %zu bytes of request body: other requests' bodies fill the memory",
                         room_bytes);
    char *data = realloc(body->data, room_bytes);
    if (data == NULL) {
        budget_return_body(body->budget, more_bytes);
        return error_set(err, ERROR_NO_MEMORY, "the machine has no %zu bytes of memory left", room_bytes);
    }
    body->data = data;
    body->room_bytes = room_bytes;
    return true;
}

bool body_append(struct body *body, const char *data, size_t bytes, struct error *err)
{
    size_t needed_bytes = size_add(body->bytes, bytes);
    assert(needed_bytes <= body->bytes_max);
    if (needed_bytes > body->room_bytes && !grow(body, needed_bytes, err))
        return false;
    memcpy(body->data + body->bytes, data, bytes);
    body->bytes = needed_bytes;
    return true;
}

void body_done(struct body *body)
{
    free(body->data);
    if (body->room_bytes > 0)
        budget_return_body(body->budget, body->room_bytes);
    *body = (struct body){.budget = body->budget};
}
