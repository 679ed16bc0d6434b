#include "api/protocol/protocol.h"

#define ADDRESS(name) &api_protocol_##name,
const struct api_protocol *const api_protocols[API_PROTOCOL_COUNT] = {API_PROTOCOLS(ADDRESS)};

size_t api_protocol_index(const struct api_protocol *protocol)
{
    size_t i = 0;
    while (api_protocols[i] != protocol)
        i++;
    return i;
}
