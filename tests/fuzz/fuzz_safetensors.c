/* Safetensors files through POST /attention. The first byte says how to take what follows:
 *
 *   bit 0   the rest is the file as it is; else a header, a byte 255, and the data, so that most files have a fitting length
 *   bit 1   the reply is wanted as JSON */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/protocol/safetensors.h"
#include "tests/support/fuzz.h"

#define HEADER_END 255
#define LENGTH_BYTES 8

static void send_file(const char *file, size_t bytes, bool as_json)
{
    fuzz_call(&api_protocol_attention, &(struct api_request){
                                           .content_type = SAFETENSORS_TYPE,
                                           .accept = as_json ? NULL : SAFETENSORS_TYPE,
                                           .body = file,
                                           .body_bytes = bytes,
                                       });
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool as_it_is = data[0] & 1, as_json = data[0] & 2;
    data++;
    size--;
    if (as_it_is) {
        send_file((const char *)data, size, as_json);
        return 0;
    }
    const uint8_t *end = memchr(data, HEADER_END, size);
    size_t header_bytes = end == NULL ? size : (size_t)(end - data);
    size_t data_bytes = end == NULL ? 0 : size - header_bytes - 1;
    char *file = malloc(LENGTH_BYTES + header_bytes + data_bytes);
    if (file == NULL)
        return 0;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        file[i] = (char)(header_bytes >> 8 * i & 0xff);
    memcpy(file + LENGTH_BYTES, data, header_bytes);
    if (data_bytes > 0)
        memcpy(file + LENGTH_BYTES + header_bytes, end + 1, data_bytes);
    send_file(file, LENGTH_BYTES + header_bytes + data_bytes, as_json);
    free(file);
    return 0;
}
