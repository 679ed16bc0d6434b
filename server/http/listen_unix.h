/* listen_unix.h: listening on a path. */
#ifndef ATTND_SERVER_HTTP_LISTEN_UNIX_H
#define ATTND_SERVER_HTTP_LISTEN_UNIX_H

#include <stdbool.h>
#include <sys/stat.h>

#include "core/error.h"

/* Listens on `path`, whose file never has wider permissions than `mode`; *ret_bound is that file. Fails as listen_open does. */
bool listen_unix_open(const char *path, mode_t mode, int *ret_fd, struct stat *ret_bound, struct error *err)
    __attribute__((warn_unused_result));

/* Removes the file if it is still the one that was bound. */
void listen_unix_remove(const char *path, const struct stat *bound);

#endif
