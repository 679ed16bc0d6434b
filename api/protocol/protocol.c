#include "api/protocol/protocol.h"

#include <time.h>

#include "api/json/chunks.h"
#include "core/size.h"

#define ADDRESS(name) &api_protocol_##name,
const struct api_protocol *const api_protocols[API_PROTOCOL_COUNT] = {API_PROTOCOLS(ADDRESS)};

const char *const api_verdict_names[API_VERDICTS] = {"none", "equal", "rounding", "explained", "unexplained"};

size_t api_protocol_index(const struct api_protocol *protocol)
{
    size_t i = 0;
    while (api_protocols[i] != protocol)
        i++;
    return i;
}

bool api_reply_end_chunks(struct api_reply *reply, struct chunks *chunks, struct error *err)
{
    const struct api_chunk *list;
    size_t count;
    if (!chunks_done(chunks, &list, &count, err))
        return false;
    api_reply_set_chunks(reply, list, count);
    return true;
}

double protocol_now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

double protocol_lap_ms(double *since_ms)
{
    const double before_ms = *since_ms;
    *since_ms = protocol_now_ms();
    return *since_ms - before_ms;
}

bool protocol_reserve(const struct api_limits *limits, const struct api_cost *cost, struct api_call *call, struct error *err)
{
    char text[SIZE_TEXT_BYTES_MAX];
    if (cost->memory_bytes > limits->request_memory_bytes_max)
        return error_set_limit(err, "max-request-memory", limits->request_memory_bytes_max,
                               "the shapes ask for %s bytes of memory, where a request may take %zu",
                               size_text(cost->memory_bytes, text), limits->request_memory_bytes_max);
    if (limits->reserve != NULL && !limits->reserve(limits->reserve_context, cost, err))
        return false;
    call->reserved_bytes += cost->memory_bytes;
    call->arena.cap_bytes += cost->memory_bytes;
    return true;
}
