/* kserve_reader.h: what the files that decode the protocol's requests share. */
#ifndef ATTND_API_PROTOCOL_KSERVE_READER_H
#define ATTND_API_PROTOCOL_KSERVE_READER_H

#include <jansson.h>

#include "api/protocol/kserve.h"

/* A request being decoded. */
struct kserve_reader {
    const struct extract *extract;
    struct request *request;
    struct kserve_reply *reply;
    int64_t qk_mode;
    bool binary_outputs; /* unless an output says otherwise */
    const char *binary;  /* the next input's bytes after the JSON */
    size_t binary_bytes; /* that are left there */
    struct error *err;
};

/* The request's parameters; NULL: none. */
bool kserve_read_parameters(struct kserve_reader *d, const json_t *parameters) __attribute__((warn_unused_result));

/* Fails on the first parameter that is neither in `names` (NULL-terminated) nor one that is ignored: what clients send to schedulers,
 * sequences and codecs of other servers. */
bool kserve_known_parameters(const json_t *parameters, const char *pointer, const char *const *names, struct error *err)
    __attribute__((warn_unused_result));

#endif
