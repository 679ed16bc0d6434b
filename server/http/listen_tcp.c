#include "server/http/listen_tcp.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN_HOST_BYTES_MAX 256

/* Splits at the last colon; brackets around the host are taken off. */
static bool split(const char *text, char host[LISTEN_HOST_BYTES_MAX], const char **ret_port, struct error *err)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon[1] == '\0')
        return error_set(err, ERROR_INVALID, "--listen: \"%s\" has no port: HOST:PORT is wanted", text);
    size_t length = (size_t)(colon - text);
    bool brackets = length >= 2 && text[0] == '[' && colon[-1] == ']';
    const char *begin = brackets ? text + 1 : text;
    length -= brackets ? 2 : 0;
    if (!brackets && memchr(begin, ':', length) != NULL)
        return error_set(err, ERROR_INVALID, "--listen: \"%s\": an IPv6 address stands in brackets, [HOST]:PORT", text);
    if (length >= LISTEN_HOST_BYTES_MAX)
        return error_set(err, ERROR_INVALID, "--listen: the host's name is too long");
    memcpy(host, begin, length);
    host[length] = '\0';
    *ret_port = colon + 1;
    return true;
}

/* getaddrinfo takes any number for a port, and cuts it. */
static bool port_is_valid(const char *port)
{
    char *end;
    unsigned long number = strtoul(port, &end, 10);
    return port[0] >= '0' && port[0] <= '9' && *end == '\0' && number <= 65535;
}

/* Returns the socket, or -1 with errno set. */
static int open_one(const struct addrinfo *address)
{
    const int on = 1, off = 0;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(fd, address->ai_addr, address->ai_addrlen) == 0 && listen(fd, SOMAXCONN) == 0)
        return fd;
    int failure = errno;
    (void)close(fd);
    errno = failure;
    return -1;
}

/* The first of that family that can be listened on; of any, if AF_UNSPEC. */
static int open_first(const struct addrinfo *addresses, int family)
{
    int fd = -1;
    errno = EAFNOSUPPORT;
    for (const struct addrinfo *a = addresses; a != NULL && fd < 0; a = a->ai_next)
        if (family == AF_UNSPEC || a->ai_family == family)
            fd = open_one(a);
    return fd;
}

bool listen_tcp_open(const char *text, int *ret_fd, struct error *err)
{
    const struct addrinfo hints = {.ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    char host[LISTEN_HOST_BYTES_MAX];
    const char *port = NULL;
    if (!split(text, host, &port, err))
        return false;
    if (!port_is_valid(port))
        return error_set(err, ERROR_INVALID, "--listen: \"%s\" is no port, 0 to 65535", port);
    int failure = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &addresses);
    if (failure != 0)
        return error_set(err, ERROR_INVALID, "--listen: cannot look up \"%s\": %s", host, gai_strerror(failure));
    int fd = host[0] == '\0' ? open_first(addresses, AF_INET6) : -1; /* [::] serves IPv4, too, and not the other way */
    if (fd < 0)
        fd = open_first(addresses, AF_UNSPEC);
    int why = errno;
    freeaddrinfo(addresses);
    if (fd < 0)
        return error_set(err, ERROR_INTERNAL, "cannot listen on %s: %s", text, strerrordesc_np(why));
    *ret_fd = fd;
    return true;
}

/* A listening socket that is closed resets the connections that were about to be accepted, and there is no other way to end the
 * listening. So it is bound to an interface that does not exist: clients that begin to connect are refused as by a closed port,
 * while the kernel completes what has begun, which it finds by its addresses. Linux allows it without a capability, unlike a socket
 * filter, which some kernels keep for the superuser. */
bool listen_tcp_end(int fd)
{
    const int no_interface = INT_MAX;
    return setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &no_interface, sizeof no_interface) == 0;
}
