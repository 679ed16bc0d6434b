/* safetensors_metadata.h: what stands in a file's __metadata__ beside `request`: other programs' texts, unless it was meant as part of
 * the request, which would be ignored in silence. */
#ifndef ATTND_API_PROTOCOL_SAFETENSORS_METADATA_H
#define ATTND_API_PROTOCOL_SAFETENSORS_METADATA_H

#include <jansson.h>
#include <stdbool.h>

#include "core/error.h"

/* `metadata` may be NULL.
 * Fails   invalid: a field's name, or another library's for it; a name like `request`; a text that holds fields. A reply's own
 *         `applied` and `warnings` and the usual {"format": "pt"} are free. */
bool safetensors_metadata_check(const json_t *metadata, struct error *err) __attribute__((warn_unused_result));

#endif
