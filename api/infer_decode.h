/* infer_decode.h: what the files that decode the protocol's requests share. Internal to infer. */
#ifndef ATTND_API_INFER_DECODE_H
#define ATTND_API_INFER_DECODE_H

#include <jansson.h>

#include "api/infer.h"

/* One request on its way in. */
struct infer_decoder {
    const struct lift *lift;
    struct request *request;
    struct infer *infer;
    int64_t qk_mode;
    bool binary_outputs; /* unless an output says otherwise */
    const char *binary;  /* the next input's bytes behind the JSON */
    size_t binary_bytes; /* that are left there */
    struct error *err;
};

/* The request's parameters; NULL: none. */
bool infer_decode_parameters(struct infer_decoder *d, const json_t *parameters) __attribute__((warn_unused_result));

#endif
