/* kserve_check.h: small requests of the Open Inference Protocol as text, and what their replies must hold.
 *
 *   kserve_check("\"is_causal\":1", FP32("Q", "[1,1,1,1]", "[3]") "," .., NULL, &wanted, 1);
 *
 * Every function ends the running test, with the request in the message, where something is off. */
#ifndef ATTND_TESTS_SUPPORT_KSERVE_CHECK_H
#define ATTND_TESTS_SUPPORT_KSERVE_CHECK_H

#include <stddef.h>

/* One input tensor. */
#define INPUT(name, datatype, shape, data)                                                                                     \
    "{\"name\":\"" name "\",\"datatype\":\"" datatype "\",\"shape\":" shape ",\"data\":" data "}"
#define FP64(name, shape, data) INPUT(name, "FP64", shape, data)
#define FP32(name, shape, data) INPUT(name, "FP32", shape, data)
#define FP16(name, shape, data) INPUT(name, "FP16", shape, data)
#define BF16(name, shape, data) INPUT(name, "BF16", shape, data)
#define BOOL(name, shape, data) INPUT(name, "BOOL", shape, data)
#define INT64(name, shape, data) INPUT(name, "INT64", shape, data)

#define KSERVE_TEXT_BYTES_MAX 4096

/* One output of the reply. */
struct kserve_wanted {
    const char *name, *datatype, *shape; /* the shape as compact JSON */
    size_t count;
    const double *numbers;
    double tolerance; /* 0: the very numbers */
};

/* The request with these parameters, inputs and outputs (comma separated; outputs NULL: not named) into `text`. */
void kserve_text(const char *parameters, const char *inputs, const char *outputs, char text[KSERVE_TEXT_BYTES_MAX]);

/* It is answered with just these outputs, in this order. */
void kserve_check(const char *parameters, const char *inputs, const char *outputs, const struct kserve_wanted *wanted,
                  size_t wanted_count);

/* It is refused with this status, in the protocol's words: {"error": ..}, and nothing beside. */
void kserve_check_error(const char *text, int status, const char *error);

#endif
