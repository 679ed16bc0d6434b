#include "server/http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/http/listen_tcp.h"
#include "server/http/listen_unix.h"

#define LISTEN_FIRST_INHERITED_FD 3

/* Puts the address in use to socket->url. */
static bool name_socket(struct listen_socket *socket)
{
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
        struct sockaddr_un path;
    } address = {0};
    socklen_t address_bytes = sizeof address;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getsockname(socket->fd, &address.any, &address_bytes) != 0)
        return false;
    socket->is_unix = address.any.sa_family == AF_UNIX;
    if (socket->is_unix) {
        bool abstract = address.path.sun_path[0] == '\0';
        (void)snprintf(socket->url, sizeof socket->url, LISTEN_UNIX_PREFIX "%s%.*s", abstract ? "@" : "",
                       (int)(sizeof address.path.sun_path - abstract), address.path.sun_path + abstract);
        return true;
    }
    if (getnameinfo(&address.any, address_bytes, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    const char *form = address.any.sa_family == AF_INET6 ? "[%.60s]:%.8s" : "%.60s:%.8s";
    (void)snprintf(socket->url, sizeof socket->url, form, host, port);
    return true;
}

/* A whole number that an environment variable holds; -1 where it is not set, or holds something else. */
static long variable_number(const char *name)
{
    const char *value = getenv(name);
    char *end = NULL;
    long number = value != NULL ? strtol(value, &end, 10) : -1;
    return end != NULL && end != value && *end == '\0' ? number : -1;
}

bool listen_inherit(struct listen_socket *ret, struct error *err)
{
    int listens = 0, type = 0;
    socklen_t listens_bytes = sizeof listens, type_bytes = sizeof type;
    long count = variable_number("LISTEN_PID") == getpid() ? variable_number("LISTEN_FDS") : 0;
    *ret = (struct listen_socket){.fd = -1};
    if (count <= 0)
        return true;
    if (count > 1)
        return error_set(err, ERROR_INVALID,
                         "LISTEN_FDS: %ld sockets are passed, and attnd listens on one; a unit of "
                         "systemd's then has one ListenStream=",
                         count);
    int fd = LISTEN_FIRST_INHERITED_FD;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_bytes) != 0 || listens == 0 ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_bytes) != 0 || type != SOCK_STREAM)
        return error_set(err, ERROR_INVALID,
                         "LISTEN_FDS: descriptor %d is no stream socket that listens; a unit of systemd's "
                         "needs ListenStream= and Accept=no",
                         fd);
    *ret = (struct listen_socket){.fd = fd, .inherited = true};
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) == 0 && name_socket(ret))
        return true;
    return error_set(err, ERROR_INTERNAL, "LISTEN_FDS: cannot use descriptor %d: %s", fd, strerrordesc_np(errno));
}

bool listen_open(const char *text, mode_t mode, struct listen_socket *ret, struct error *err)
{
    static const size_t prefix_bytes = sizeof LISTEN_UNIX_PREFIX - 1;
    bool is_path = strncmp(text, LISTEN_UNIX_PREFIX, prefix_bytes) == 0;
    *ret = (struct listen_socket){.path = is_path ? text + prefix_bytes : NULL};
    bool opened =
        is_path ? listen_unix_open(ret->path, mode, &ret->fd, &ret->bound, err) : listen_tcp_open(text, &ret->fd, err);
    if (!opened)
        return false;
    if (name_socket(ret))
        return true;
    listen_close(ret);
    return error_set(err, ERROR_INTERNAL, "cannot find out the address in use for %s", text);
}

/* Called again by listen_close, when the file may be the next daemon's. */
static void remove_file(struct listen_socket *socket)
{
    if (socket->path != NULL)
        listen_unix_remove(socket->path, &socket->bound);
    socket->path = NULL;
}

bool listen_end(struct listen_socket *socket)
{
    if (!socket->is_unix)
        return listen_tcp_end(socket->fd);
    remove_file(socket);
    return true;
}

void listen_close(struct listen_socket *socket)
{
    remove_file(socket);
    (void)close(socket->fd);
    socket->fd = -1;
}
