/* Safetensors files through POST /attention. The first byte says how to take what follows:
 *
 *   bit 0   the rest is the file as it is; else a header, a byte 255, and the data
 *   bit 1   the reply is wanted as JSON */
#include <stdint.h>

#include "api/protocol/safetensors.h"
#include "tests/support/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0)
        fuzz_safetensors(&api_protocol_attention, data + 1, size - 1, data[0] & 1, data[0] & 2);
    return 0;
}
