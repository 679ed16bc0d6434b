/* suggest.h: the answer to an unknown name: that there is no such field, and which one was meant. */
#ifndef ATTND_API_JSON_SUGGEST_H
#define ATTND_API_JSON_SUGGEST_H

#include <stdbool.h>

#include "core/error.h"

/* The one of `names` (NULL-terminated) that was meant: what another library calls so, else the nearest within a few letters'
 * edits; NULL where none is near. */
const char *suggest_nearest(const char *name, const char *const *names);

/* Sets invalid at `pointer`, with a suggestion where there is one. Returns false. */
bool suggest_refuse(const char *name, const char *pointer, const char *const *names, struct error *err);

#endif
