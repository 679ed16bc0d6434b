/* listen.h: the socket that clients connect to: opened here on an address or a path, or passed on by the parent process.
 *
 * A parent passes a socket as systemd does (sd_listen_fds(3)): as descriptor 3, with LISTEN_FDS=1 and LISTEN_PID, the process it
 * is meant for. It stays open in the parent, so connections wait in its queue while one daemon ends and the next starts. */
#ifndef ATTND_SERVER_HTTP_LISTEN_H
#define ATTND_SERVER_HTTP_LISTEN_H

#include <stdbool.h>
#include <sys/stat.h>

#include "core/error.h"

#define LISTEN_URL_BYTES_MAX 128
#define LISTEN_UNIX_PREFIX "unix:"

struct listen_socket {
    int fd;
    bool inherited;                 /* the parent has it, too, and it goes on listening when this process ends */
    bool is_unix;                   /* bound to a path, and not to an address */
    const char *path;               /* borrowed: the path that was bound here; NULL: none */
    struct stat bound;              /* what was at the path then */
    char url[LISTEN_URL_BYTES_MAX]; /* in use: "127.0.0.1:8080", "[::1]:8080" or "unix:/run/attnd.sock" */
};

/* Takes the socket that the parent has passed to this process. ret->fd is -1 where it has passed none.
 * Fails  invalid: more than one is passed, or one that does not listen. */
bool listen_inherit(struct listen_socket *ret, struct error *err) __attribute__((warn_unused_result));

/* Listens on "HOST:PORT", "[HOST]:PORT" for IPv6 or ":PORT" for every address; port 0 takes a free one.
 * Or on "unix:PATH", with `mode` as the permissions of the socket's file. Replaces the file if it is a socket that nobody
 * listens on any more. Borrows `text`.
 * Fails  invalid: no such address. internal: the address cannot be had. */
bool listen_open(const char *text, mode_t mode, struct listen_socket *ret, struct error *err)
    __attribute__((warn_unused_result));

/* From now on clients that begin to connect are refused; what has begun completes, and can be accepted. Not for an inherited socket.
 * Returns false where the system does not allow that (Linux before 5.7): then clients can connect until the socket is closed. */
bool listen_end(struct listen_socket *socket) __attribute__((warn_unused_result));

/* Closes the socket, and removes its file if that was bound here and has not been replaced since. */
void listen_close(struct listen_socket *socket);

#endif
