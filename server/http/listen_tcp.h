/* listen_tcp.h: listening on an address. */
#ifndef ATTND_SERVER_HTTP_LISTEN_TCP_H
#define ATTND_SERVER_HTTP_LISTEN_TCP_H

#include <stdbool.h>

#include "core/error.h"

/* Listens on "HOST:PORT", "[HOST]:PORT" or ":PORT"; fails as listen_open does. */
bool listen_tcp_open(const char *text, int *ret_fd, struct error *err) __attribute__((warn_unused_result));

/* As listen_end. */
bool listen_tcp_end(int fd) __attribute__((warn_unused_result));

#endif
