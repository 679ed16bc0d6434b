/* keys.h: the API keys that may compute.
 *
 * Threads  keys_match is reentrant. Its time depends on the number of keys, not on what is in them. */
#ifndef ATTND_SERVER_HTTP_KEYS_H
#define ATTND_SERVER_HTTP_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define KEY_BYTES_MAX 256
#define KEYS_MAX 4096

struct key {
    char text[KEY_BYTES_MAX + 1]; /* padded with NUL */
};

struct keys {
    struct key *keys; /* owned; NULL: no key is asked for */
    size_t count;
};

/* Reads one key a line; blanks around a key and empty lines are skipped.
 * Fails  invalid: no file, no key in it, or a line that cannot be sent as a key. */
bool keys_load(const char *file_name, struct keys *ret, struct error *err) __attribute__((warn_unused_result));

bool keys_match(const struct keys *keys, const char *text);

/* Safe on zeroed keys, and twice. */
void keys_done(struct keys *keys);

#endif
