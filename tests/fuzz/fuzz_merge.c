/* Parts through POST /attention/merge. The first byte says how to take what follows:
 *
 *   bit 0   a safetensors file as it is; else a header, a byte 255, and the data
 *   bit 1   the reply is wanted as JSON
 *   bit 2   the rest is JSON instead */
#include <stdint.h>

#include "api/protocol/safetensors.h"
#include "tests/support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    bool as_json = data[0] & 2;
    if (data[0] & 4)
        fuzz_call(&api_protocol_merge, &(struct api_request){
                                           .content_type = "application/json",
                                           .accept = as_json ? NULL : SAFETENSORS_TYPE,
                                           .body = (const char *)data + 1,
                                           .body_bytes = size - 1,
                                       });
    else
        fuzz_safetensors(&api_protocol_merge, data + 1, size - 1, data[0] & 1, as_json);
    return 0;
}
