/* media_type.h: what Content-Type and Accept say (RFC 9110, sections 8.3 and 12.5.1). A header's value may be NULL: absent. */
#ifndef ATTND_API_PROTOCOL_MEDIA_TYPE_H
#define ATTND_API_PROTOCOL_MEDIA_TYPE_H

#include <stdbool.h>

#define SAFETENSORS_TYPE "application/x-safetensors"

/* True where the content type is `type`, whatever its parameters. */
bool media_type_is(const char *content_type, const char *type);

/* True where the content may be JSON: it is called so, or a form (as `curl -d` calls anything), text or bytes, or nothing. */
bool media_type_may_be_json(const char *content_type);

/* True where an Accept header names `type` and does not prefer `other`. False without the header, or where only wildcards
 * match: `other` is the default. */
bool media_type_accepts(const char *accept, const char *type, const char *other);

#endif
