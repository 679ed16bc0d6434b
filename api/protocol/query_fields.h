/* query_fields.h: fields of POST /attention in a path's query, where nothing reads them: ?causal=true would silently be no causal
 * attention. */
#ifndef ATTND_API_PROTOCOL_QUERY_FIELDS_H
#define ATTND_API_PROTOCOL_QUERY_FIELDS_H

#include <stdbool.h>

#include "core/error.h"

/* `query` follows the path's '?'. What is no field's name passes: proxies and clients have their own.
 * Fails   invalid, naming the first field. */
bool query_fields_check(const char *query, struct error *err) __attribute__((warn_unused_result));

#endif
