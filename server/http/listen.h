/* listen.h: the socket that clients connect to. */
#ifndef ATTND_SERVER_HTTP_LISTEN_H
#define ATTND_SERVER_HTTP_LISTEN_H

#include <stdbool.h>

#include "core/error.h"

#define LISTEN_ADDRESS_BYTES_MAX 80

/* Listens on "HOST:PORT", "[HOST]:PORT" for IPv6 or ":PORT" for every address; port 0 takes a free one. Puts the
 * address in use to `ret_address` in the form for URLs, as "127.0.0.1:8080" or "[::1]:8080".
 * Fails  invalid: no such address. internal: the address cannot be had. */
bool listen_open(const char *text, int *ret_fd, char ret_address[LISTEN_ADDRESS_BYTES_MAX], struct error *err)
    __attribute__((warn_unused_result));

/* From now on clients that begin to connect are refused; what has begun completes, and can be accepted. Returns false where the
 * system does not allow that (Linux before 5.7): then clients can connect until the socket is closed. */
bool listen_end(int fd) __attribute__((warn_unused_result));

#endif
