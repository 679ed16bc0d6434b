/* api_keys.h: the keys that clients need to compute, where --api-key-file is given.
 *
 * Threads  api_keys_match is reentrant. It takes constant time for a number of keys, whatever they hold. */
#ifndef ATTND_SERVER_HTTP_API_KEYS_H
#define ATTND_SERVER_HTTP_API_KEYS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

#define API_KEY_BYTES_MAX 256
#define API_KEYS_MAX 4096

struct api_key {
    char text[API_KEY_BYTES_MAX + 1]; /* padded with NUL */
};

struct api_keys {
    pthread_mutex_t mutex; /* guards the rest against api_keys_replace */
    struct api_key *keys;  /* owned; NULL: none is needed */
    size_t count;
};

/* Reads one key a line; blanks around a key and empty lines are skipped.
 * Fails  invalid: no file, no key in it, or a line that cannot be sent as a key. */
bool api_keys_load(const char *file_name, struct api_keys *ret, struct error *err) __attribute__((warn_unused_result));

bool api_keys_match(struct api_keys *keys, const char *text);

/* Replaces the keys by others, taking these over, while api_keys_match runs on other threads. */
void api_keys_replace(struct api_keys *keys, struct api_keys *by);

/* Safe on zeroed keys, and twice. */
void api_keys_done(struct api_keys *keys);

#endif
