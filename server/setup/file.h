/* file.h: reads the small text files that options name: API keys, certificates. */
#ifndef ATTND_SERVER_SETUP_FILE_H
#define ATTND_SERVER_SETUP_FILE_H

#include <stddef.h>

#include "core/error.h"

#define FILE_BYTES_MAX ((size_t)2 << 20)

/* Reads a whole file. Returns its bytes and a NUL behind them, new; NULL on failure. `option` names the file's option in errors.
 * Fails  invalid: it cannot be read, or is larger than FILE_BYTES_MAX. no_memory. */
char *file_read(const char *option, const char *file_name, size_t *ret_bytes, struct error *err);

#endif
