/* compare_read.h: the body of POST /attention/compare, in JSON or as a safetensors file. */
#ifndef ATTND_API_COMPARE_COMPARE_READ_H
#define ATTND_API_COMPARE_COMPARE_READ_H

#include "api/compare/search.h"
#include "api/protocol/attention_read.h"
#include "api/protocol/protocol.h"

struct comparison {
    struct extract *extract;
    struct request request; /* as the client wrote it, in float64 and without results */
    struct attention_reply reply;
    struct expected expected;
    bool pairs;
    bool only[CONVENTIONS_MAX];
    bool is_case;   /* the reply is the body, with the comparison in it */
    bool is_binary; /* a safetensors file */
};

/* What compare_read allocates at most besides *ret. */
size_t compare_read_cost(void);

/* Decodes the body. `ret` borrows it and the arena.
 * Fails   malformed, invalid; pointers begin with /request, /expected, /tolerance, /search; of a safetensors file they are
 *         those of its header's tensors, and of the fields in its metadata. */
bool compare_read(const struct api_request *sent, struct arena *arena, struct comparison *ret, struct error *err)
    __attribute__((warn_unused_result));

/* Puts /request before the pointer of an error that arose from the request's fields in a JSON body. Returns false. */
bool compare_request_error(const struct comparison *comparison, struct error *err);

#endif
