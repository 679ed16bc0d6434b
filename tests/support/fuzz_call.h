/* fuzz_call.h: what every reply of api must be, whatever was sent. Aborts where it is not. */
#ifndef ATTND_TESTS_SUPPORT_FUZZ_CALL_H
#define ATTND_TESTS_SUPPORT_FUZZ_CALL_H

#include <stddef.h>

#include "api/api.h"

/* Sends the body twice, at an aligned and at an odd address: tensors that are read in place and tensors that are copied must
 * give the same bytes. */
void fuzz_call(const struct api_protocol *protocol, const struct api_request *request);

#endif
