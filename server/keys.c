#include "server/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for a key, blanks around it and the line's end. */
#define KEY_LINE_BYTES_MAX 1024

static bool add_key(struct keys *keys, const char *text, size_t length, size_t line_number, struct error *err)
{
    if (length > KEY_BYTES_MAX)
        return error_set(err, ERROR_INVALID, "--api-key-file: line %zu is longer than %d bytes", line_number, KEY_BYTES_MAX);
    if (keys->count == KEYS_MAX)
        return error_set(err, ERROR_INVALID, "--api-key-file: more than %d keys", KEYS_MAX);
    for (size_t i = 0; i < length; i++)
        if (text[i] <= ' ' || text[i] >= 0x7f)
            return error_set(err, ERROR_INVALID, "--api-key-file: line %zu has a byte that is not visible ASCII", line_number);
    struct key *grown = realloc(keys->keys, (keys->count + 1) * sizeof *grown);
    if (grown == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory for the keys");
    keys->keys = grown;
    grown[keys->count] = (struct key){0};
    memcpy(grown[keys->count].text, text, length);
    keys->count++;
    return true;
}

static bool read_keys(FILE *file, struct keys *keys, struct error *err)
{
    char line[KEY_LINE_BYTES_MAX];
    for (size_t line_number = 1; fgets(line, sizeof line, file) != NULL; line_number++) {
        const char *text = line + strspn(line, " \t");
        size_t length = strcspn(text, "\r\n");
        while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t'))
            length--;
        if (length > 0 && !add_key(keys, text, length, line_number, err))
            return false;
    }
    if (ferror(file))
        return error_set(err, ERROR_INVALID, "--api-key-file: cannot be read");
    if (keys->count == 0)
        return error_set(err, ERROR_INVALID, "--api-key-file: there is no key in it, so nobody could compute");
    return true;
}

bool keys_load(const char *file_name, struct keys *ret, struct error *err)
{
    *ret = (struct keys){0};
    FILE *file = fopen(file_name, "re");
    if (file == NULL)
        return error_set(err, ERROR_INVALID, "--api-key-file %s: %s", file_name, strerrordesc_np(errno));
    bool read = read_keys(file, ret, err);
    (void)fclose(file);
    if (!read)
        keys_done(ret);
    return read;
}

bool keys_match(const struct keys *keys, const char *text)
{
    char padded[sizeof keys->keys[0].text] = {0};
    size_t length = strlen(text);
    unsigned matches = 0;
    if (length > KEY_BYTES_MAX)
        return false;
    memcpy(padded, text, length);
    for (size_t k = 0; k < keys->count; k++) {
        unsigned difference = 0;
        for (size_t i = 0; i < sizeof padded; i++)
            difference |= (unsigned)(padded[i] ^ keys->keys[k].text[i]);
        matches |= difference == 0;
    }
    return matches != 0;
}

void keys_done(struct keys *keys)
{
    free(keys->keys);
    *keys = (struct keys){0};
}
