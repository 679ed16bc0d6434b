/* fuzz.h: what must hold whatever the bytes were. A fuzzer keeps the input of a run that aborts. */
#ifndef ATTND_TESTS_SUPPORT_FUZZ_H
#define ATTND_TESTS_SUPPORT_FUZZ_H

#include <stdio.h>
#include <stdlib.h>

#include "api/api.h"

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                              \
            abort();                                                                                                           \
        }                                                                                                                      \
    } while (0)

/* Sends the body twice, at an aligned and at an unaligned address: tensors that are read in place and tensors that are copied
 * must give the same bytes. Aborts where a reply is not what every reply must be. */
void fuzz_call(const struct api_protocol *protocol, const struct api_request *request);

#endif
