#include "server/setup/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *file_read(const char *option, const char *file_name, size_t *ret_bytes, struct error *err)
{
    FILE *file = fopen(file_name, "re");
    if (file == NULL) {
        (void)error_set(err, ERROR_INVALID, "%s %s: %s", option, file_name, strerrordesc_np(errno));
        return NULL;
    }
    char *text = malloc(FILE_BYTES_MAX + 1);
    size_t bytes = text != NULL ? fread(text, 1, FILE_BYTES_MAX + 1, file) : 0;
    if (text == NULL)
        (void)error_set(err, ERROR_NO_MEMORY, "no memory for %s", option);
    else if (ferror(file))
        (void)error_set(err, ERROR_INVALID, "%s %s: cannot be read", option, file_name);
    else if (bytes > FILE_BYTES_MAX)
        (void)error_set(err, ERROR_INVALID, "%s %s: has more than %zu bytes", option, file_name, FILE_BYTES_MAX);
    else
        text[bytes] = '\0';
    (void)fclose(file);
    if (err->code == ERROR_NONE) {
        *ret_bytes = bytes;
        return text;
    }
    free(text);
    return NULL;
}
