/* compare_case.h: a regression case: the body as it was sent, with the comparison in it. A case is a body again: sent to
 * POST /attention/compare it is compared anew.
 *
 *   JSON         the body's object with the member "comparison" at its end
 *   safetensors  the body's file with the text __metadata__.comparison; its header ends at a multiple of 8 bytes */
#ifndef ATTND_API_COMPARE_COMPARE_CASE_H
#define ATTND_API_COMPARE_COMPARE_CASE_H

#include "api/protocol/protocol.h"

/* What either function allocates at most. */
size_t compare_case_cost(void);

/* Set *ret's content type, body and chunks, which borrow the body. */
bool compare_case_text(const struct api_request *sent, const struct api_chunk *comparison, struct arena *arena,
                       struct api_reply *ret, struct error *err) __attribute__((warn_unused_result));
bool compare_case_binary(const struct api_request *sent, const struct api_chunk *comparison, struct arena *arena,
                         struct api_reply *ret, struct error *err) __attribute__((warn_unused_result));

#endif
