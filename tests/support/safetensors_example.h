/* safetensors_example.h: one small request as a safetensors file, and how to send it and variations of it. */
#ifndef ATTND_TESTS_SUPPORT_SAFETENSORS_EXAMPLE_H
#define ATTND_TESTS_SUPPORT_SAFETENSORS_EXAMPLE_H

#include "tests/support/binary_client.h"

/* Two tokens: query = key = identity, value 10 and 20. */
extern const float small[10]; /* the numbers of all three */
#define QUERY "\"query\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}"
#define KEY "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[16,32]}"
#define VALUE "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[32,40]}"
#define METADATA(text) "\"__metadata__\":{\"request\":\"" text "\"}"
#define SMALL "{" QUERY "," KEY "," VALUE "}"

/* output[0] and weights[0][0] of the small request. */
#define SMALL_WEIGHT 0.66976154
#define SMALL_OUTPUT 13.302385

/* A request with the file, whose reply is wanted as one. */
struct binary_request safetensors_request(const char *file, size_t bytes);

/* Sends a file of this header and data. */
void safetensors_client(struct binary_client *binary, const char *header, const void *data, size_t data_bytes);

/* It is refused (see binary_client_refused). */
void safetensors_refused(const char *header, const void *data, size_t data_bytes, int status, const char *pointer,
                         const char *words);

#endif
