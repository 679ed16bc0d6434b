/* The Open Inference Protocol with binary tensors: JSON, a byte 255, and the tensors' bytes; Inference-Header-Content-Length is
 * where that byte was. Without such a byte there is no header, and all is JSON. The first byte is added to the length, so that a
 * wrong one is met, too. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/fuzz.h"

#define JSON_END 255

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t more = data[0];
    data++;
    size--;
    const uint8_t *end = memchr(data, JSON_END, size);
    size_t json_bytes = end == NULL ? size : (size_t)(end - data), binary_bytes = end == NULL ? 0 : size - json_bytes - 1;
    char json_length[24];
    char *body = malloc(json_bytes + binary_bytes + 1);
    if (body == NULL)
        return 0;
    memcpy(body, data, json_bytes);
    if (binary_bytes > 0)
        memcpy(body + json_bytes, end + 1, binary_bytes);
    (void)snprintf(json_length, sizeof json_length, "%zu", json_bytes + more);
    fuzz_call(&api_protocol_kserve, &(struct api_request){
                                        .content_type = "application/octet-stream",
                                        .json_length = end == NULL ? NULL : json_length,
                                        .body = body,
                                        .body_bytes = json_bytes + binary_bytes,
                                    });
    free(body);
    return 0;
}
