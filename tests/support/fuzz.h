/* fuzz.h: what every fuzzer has: libFuzzer's functions, and what must hold whatever the bytes were. A fuzzer keeps the input of a run
 * that aborts. */
#ifndef ATTND_TESTS_SUPPORT_FUZZ_H
#define ATTND_TESTS_SUPPORT_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"

/* Called by libFuzzer: once, by fuzz.c for all; and for each input, by the fuzzer. */
int LLVMFuzzerInitialize(int *argument_count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Prints what does not hold, and aborts. */
void fuzz_fail(const char *file, int line, const char *condition) __attribute__((noreturn));

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition))                                                                                                      \
            fuzz_fail(__FILE__, __LINE__, #condition);                                                                         \
    } while (0)

/* Sends the body twice, at an aligned and at an unaligned address: tensors that are read in place and tensors that are copied
 * must give the same bytes. Aborts where a reply is not what every reply must be. */
void fuzz_call(const struct api_protocol *protocol, const struct api_request *request);

/* fuzz_call with a safetensors file: the input as it is; or, so that most files have a fitting length, made of its header, a byte 255
 * and the data. */
void fuzz_safetensors(const struct api_protocol *protocol, const uint8_t *input, size_t bytes, bool is_file, bool as_json);

#endif
