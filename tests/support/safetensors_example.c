#include "tests/support/safetensors_example.h"

#include <stdlib.h>

#include "api/protocol/safetensors.h"

const float small[10] = {1, 0, 0, 1, 1, 0, 0, 1, 10, 20};

struct binary_request safetensors_request(const char *file, size_t bytes)
{
    return (struct binary_request){.protocol = &api_protocol_attention,
                                   .content_type = SAFETENSORS_TYPE,
                                   .accept = SAFETENSORS_TYPE,
                                   .body = file,
                                   .body_bytes = bytes};
}

void safetensors_client(struct binary_client *binary, const char *header, const void *data, size_t data_bytes)
{
    size_t bytes;
    char *file = safetensors_file(header, data, data_bytes, &bytes);
    const struct binary_request request = safetensors_request(file, bytes);
    binary_client_send(binary, &request);
    free(file);
}

void safetensors_refused(const char *header, const void *data, size_t data_bytes, int status, const char *pointer,
                         const char *words)
{
    size_t bytes;
    char *file = safetensors_file(header, data, data_bytes, &bytes);
    const struct binary_request request = safetensors_request(file, bytes);
    binary_client_refused(&request, status, pointer, words);
    free(file);
}
