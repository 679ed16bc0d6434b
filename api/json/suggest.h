/* suggest.h: the answer to an unknown name: that there is no such field, which one was meant, and how its sense differs. */
#ifndef ATTND_API_JSON_SUGGEST_H
#define ATTND_API_JSON_SUGGEST_H

#include <stdbool.h>

#include "core/error.h"

/* The one of `names` (NULL-terminated) that was meant: what another library calls so (library_names.h), else the nearest within a
 * few letters' edits; NULL where none is near. */
const char *suggest_nearest(const char *name, const char *const *names);

#define SUGGEST_CHOICE_BYTES_MAX 192

/* Of a value that is none of a field's `choices` (NULL-terminated): "; did you mean ..?", or what to say instead; "" where nothing is
 * near. Returns `ret`. */
const char *suggest_choice(const char *name, const char *const *choices, char ret[SUGGEST_CHOICE_BYTES_MAX]);

/* Sets invalid at `pointer`, with what to send instead where that is known. Returns false. */
bool suggest_refuse(const char *name, const char *pointer, const char *const *names, struct error *err);

#endif
