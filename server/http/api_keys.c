#include "server/http/api_keys.h"

#include <stdlib.h>
#include <string.h>

#include "server/setup/file.h"
#include "server/work/sync.h"

static bool add_key(struct api_keys *keys, const char *text, size_t length, size_t line_number, struct error *err)
{
    if (length > API_KEY_BYTES_MAX)
        return error_set(err, ERROR_INVALID, "--api-key-file: line %zu is longer than %d bytes", line_number,
                         API_KEY_BYTES_MAX);
    if (keys->count == API_KEYS_MAX)
        return error_set(err, ERROR_INVALID, "--api-key-file: more than %d keys", API_KEYS_MAX);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return error_set(err, ERROR_INVALID, "--api-key-file: line %zu has a byte that is not visible ASCII", line_number);
    struct api_key *grown = realloc(keys->keys, (keys->count + 1) * sizeof *grown);
    if (grown == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory for the keys");
    keys->keys = grown;
    grown[keys->count] = (struct api_key){0};
    memcpy(grown[keys->count].text, text, length);
    keys->count++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static bool read_keys(const char *text, size_t bytes, struct api_keys *keys, struct error *err)
{
    const char *end = text + bytes;
    for (size_t line_number = 1; text < end; line_number++) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        line_end = line_end != NULL ? line_end : end;
        const char *first = text, *last = line_end;
        while (first < last && is_blank(*first))
            first++;
        while (last > first && is_blank(last[-1]))
            last--;
        if (first < last && !add_key(keys, first, (size_t)(last - first), line_number, err))
            return false;
        text = line_end + 1;
    }
    if (keys->count == 0)
        return error_set(err, ERROR_INVALID, "--api-key-file: there is no key in it, so no client could compute");
    return true;
}

bool api_keys_load(const char *file_name, struct api_keys *ret, struct error *err)
{
    size_t bytes;
    *ret = (struct api_keys){.mutex = PTHREAD_MUTEX_INITIALIZER};
    char *text = file_read("--api-key-file", file_name, &bytes, err);
    if (text == NULL)
        return false;
    bool read = read_keys(text, bytes, ret, err);
    free(text);
    if (!read)
        api_keys_done(ret);
    return read;
}

bool api_keys_match(struct api_keys *keys, const char *text)
{
    char padded[sizeof keys->keys[0].text] = {0};
    size_t length = strlen(text);
    unsigned matches = 0;
    if (length > API_KEY_BYTES_MAX)
        return false;
    memcpy(padded, text, length);
    sync_lock(&keys->mutex);
    for (size_t k = 0; k < keys->count; k++) {
        unsigned difference = 0;
        for (size_t i = 0; i < sizeof padded; i++)
            difference |= (unsigned)(padded[i] ^ keys->keys[k].text[i]);
        matches |= difference == 0;
    }
    sync_unlock(&keys->mutex);
    return matches != 0;
}

void api_keys_replace(struct api_keys *keys, struct api_keys *by)
{
    sync_lock(&keys->mutex);
    struct api_key *before = keys->keys;
    keys->keys = by->keys;
    keys->count = by->count;
    sync_unlock(&keys->mutex);
    free(before);
}

void api_keys_done(struct api_keys *keys)
{
    free(keys->keys);
    keys->keys = NULL;
    keys->count = 0;
}
