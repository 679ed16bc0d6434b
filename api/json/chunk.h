/* chunk.h: bytes of a reply, sent from where they are in memory. */
#ifndef ATTND_API_JSON_CHUNK_H
#define ATTND_API_JSON_CHUNK_H

#include <stddef.h>

struct api_chunk {
    const void *data;
    size_t bytes;
};

#endif
