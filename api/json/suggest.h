/* names.h: the field a client meant when it sent a name that is none. */
#ifndef ATTND_API_JSON_SUGGEST_H
#define ATTND_API_JSON_SUGGEST_H

/* The nearest of `names` (NULL-terminated): what other libraries' name for it translates to, else the one within a few
 * letters' edits; NULL where none is near. */
const char *suggest_nearest(const char *name, const char *const *names);

#endif
