#include "server/setup/health_check.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/work/clock.h"

#define CHECK_MS_MAX 4000
#define CHECK_HOST_BYTES_MAX 256
#define CHECK_TEXT_BYTES_MAX 1024
#define CHECK_REPLY_BYTES_MAX 4096
#define CHECK_STATUS_LINE_BYTES 12 /* "HTTP/1.1 200" */

struct target {
    bool tls;
    const char *unix_path;           /* borrowed: asked there, and no host; NULL: none */
    char host[CHECK_HOST_BYTES_MAX]; /* without brackets */
    const char *other_host;          /* static: asked where nothing listens at the first; NULL: none */
    char port[8];
    const char *path;                     /* borrowed; "" stands for "/" */
    char authority[CHECK_HOST_BYTES_MAX]; /* as the Host header says it */
};

/* A ClientHello of TLS 1.2 (RFC 5246, section 7.4.1.2) that most servers can take up: its random is nobody's secret, since
 * the conversation ends with the server's first answer. */
static const char tls_greeting[] =
    "\x16\x03\x01\x00\x53\x01\x00\x00\x4f\x03\x03"                             /* record, handshake, version */
    "attnd's health check, no secrets"                                         /* 32 random bytes */
    "\x00\x00\x08\xc0\x2b\xc0\x2f\x00\x9c\x00\xff\x01\x00"                     /* no session, ciphers, no compression */
    "\x00\x1e\x00\x0a\x00\x06\x00\x04\x00\x1d\x00\x17\x00\x0b\x00\x02\x01\x00" /* extensions: groups, points */
    "\x00\x0d\x00\x0a\x00\x08\x04\x03\x04\x01\x08\x04\x08\x07";                /* and signatures */
#define TLS_GREETING_BYTES (sizeof tls_greeting - 1)

/* Takes "HOST:PORT", "HOST" or "[HOST]:PORT" apart. An address that stands for all of them is asked at loopback. */
static bool split_authority(struct target *target, const char *text, size_t length, struct error *err)
{
    const char *end = text + length;
    const char *bracket = length > 0 && text[0] == '[' ? memchr(text, ']', length) : NULL;
    const char *host = bracket != NULL ? text + 1 : text;
    const char *rest = bracket != NULL ? bracket + 1 : memchr(text, ':', length);
    const char *host_end = bracket != NULL ? bracket : rest != NULL ? rest : end;
    const char *port = rest != NULL && rest < end ? rest + 1 : NULL;
    size_t host_length = (size_t)(host_end - host), port_length = port != NULL ? (size_t)(end - port) : 0;
    bool fits = host_length < sizeof target->host && port_length < sizeof target->port && length < sizeof target->authority;
    if (!fits || (port != NULL && (rest[0] != ':' || port_length == 0)))
        return error_set(err, ERROR_INVALID, "\"%.*s\" is not HOST:PORT", (int)(length < 80 ? length : 80), text);
    (void)snprintf(target->host, sizeof target->host, "%.*s", (int)host_length, host);
    (void)snprintf(target->port, sizeof target->port, "%.*s", (int)port_length, port != NULL ? port : "");
    (void)snprintf(target->authority, sizeof target->authority, "%.*s", (int)length, text);
    if (port == NULL)
        (void)snprintf(target->port, sizeof target->port, "%s", target->tls ? "443" : "80");
    bool any = target->host[0] == '\0' || strcmp(target->host, "::") == 0;
    target->other_host = any ? "::1" : NULL;
    if (any || strcmp(target->host, "0.0.0.0") == 0)
        (void)snprintf(target->host, sizeof target->host, "127.0.0.1");
    return true;
}

static bool find_target(const char *url, const struct options *options, struct target *ret, struct error *err)
{
    static const char plain[] = "http://", secure[] = "https://", unix_prefix[] = "unix:";
    *ret = (struct target){.path = url};
    if (url[0] == '/') {
        const char *listen = options->listen != NULL ? options->listen : OPTIONS_LISTEN_DEFAULT;
        ret->tls = options->tls_cert_file != NULL;
        if (strncmp(listen, unix_prefix, sizeof unix_prefix - 1) == 0) {
            ret->unix_path = listen + sizeof unix_prefix - 1;
            (void)snprintf(ret->authority, sizeof ret->authority, "localhost");
            return true;
        }
        return split_authority(ret, listen, strlen(listen), err);
    }
    ret->tls = strncmp(url, secure, sizeof secure - 1) == 0;
    if (!ret->tls && strncmp(url, plain, sizeof plain - 1) != 0)
        return error_set(err, ERROR_INVALID, "--health-check: \"%.80s\" is neither http://HOST:PORT/PATH nor /PATH", url);
    const char *authority = url + (ret->tls ? sizeof secure : sizeof plain) - 1;
    size_t length = strcspn(authority, "/?#");
    ret->path = authority + length;
    return split_authority(ret, authority, length, err);
}

/* Waits until the socket is ready for `events`. */
static bool wait_ready(int fd, short events, int64_t until_ms)
{
    struct pollfd ready = {.fd = fd, .events = events};
    int64_t left_ms = until_ms - clock_ms();
    return left_ms > 0 && poll(&ready, 1, (int)left_ms) > 0;
}

/* Returns the connected socket, or -1 with errno set. */
static int connect_one(const struct addrinfo *address, int64_t until_ms)
{
    int failure = 0;
    socklen_t failure_bytes = sizeof failure;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return fd;
    if (errno != EINPROGRESS)
        failure = errno;
    else if (!wait_ready(fd, POLLOUT, until_ms))
        failure = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &failure_bytes) != 0)
        failure = errno;
    if (failure == 0)
        return fd;
    (void)close(fd);
    errno = failure;
    return -1;
}

static int connect_path(const char *path, int64_t until_ms, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct addrinfo target = {.ai_family = AF_UNIX, .ai_addr = (struct sockaddr *)&address, .ai_addrlen = sizeof address};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = connect_one(&target, until_ms);
    if (fd < 0)
        (void)error_set(err, ERROR_BUSY, "cannot connect to %s: %s", path, strerrordesc_np(errno));
    return fd;
}

static int connect_host(const struct target *target, const char *host, int64_t until_ms, struct error *err)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    int fd = -1;
    int failure = getaddrinfo(host, target->port, &hints, &addresses);
    if (failure != 0) {
        (void)error_set(err, ERROR_BUSY, "cannot look up %s: %s", target->authority, gai_strerror(failure));
        return -1;
    }
    for (const struct addrinfo *a = addresses; a != NULL && fd < 0; a = a->ai_next)
        fd = connect_one(a, until_ms);
    int why = errno;
    freeaddrinfo(addresses);
    if (fd < 0)
        (void)error_set(err, ERROR_BUSY, "cannot connect to %s: %s", target->authority, strerrordesc_np(why));
    return fd;
}

static int connect_to(const struct target *target, int64_t until_ms, struct error *err)
{
    struct error other_err = {0};
    if (target->unix_path != NULL)
        return connect_path(target->unix_path, until_ms, err);
    int fd = connect_host(target, target->host, until_ms, err);
    if (fd < 0 && target->other_host != NULL)
        fd = connect_host(target, target->other_host, until_ms, &other_err);
    return fd;
}

/* Sends the question; it is shorter than any socket's empty buffer. Reads up to `wanted_bytes`. Returns how many came. */
static size_t exchange(int fd, const void *question, size_t question_bytes, char *reply, size_t wanted_bytes, int64_t until_ms)
{
    size_t bytes = 0;
    ssize_t got = send(fd, question, question_bytes, MSG_NOSIGNAL);
    while (got > 0 && bytes < wanted_bytes && wait_ready(fd, POLLIN, until_ms)) {
        got = recv(fd, reply + bytes, wanted_bytes - bytes, 0);
        bytes += got > 0 ? (size_t)got : 0;
    }
    return bytes;
}

static bool check_http(int fd, const struct target *target, int64_t until_ms, struct error *err)
{
    char question[CHECK_TEXT_BYTES_MAX + CHECK_HOST_BYTES_MAX], reply[CHECK_REPLY_BYTES_MAX];
    int length = snprintf(question, sizeof question, "GET %s%.*s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n",
                          target->path[0] == '/' ? "" : "/", (int)strcspn(target->path, "#"), target->path, target->authority);
    if (length < 0 || (size_t)length >= sizeof question)
        return error_set(err, ERROR_INVALID, "--health-check: the URL is too long");
    size_t bytes = exchange(fd, question, (size_t)length, reply, sizeof reply, until_ms);
    if (bytes < CHECK_STATUS_LINE_BYTES || memcmp(reply, "HTTP/1.", 7) != 0)
        return error_set(err, ERROR_BUSY, "%s gave no answer in HTTP", target->authority);
    if (reply[9] != '2')
        return error_set(err, ERROR_BUSY, "%s answered %.3s", target->authority, reply + 9);
    return true;
}

static bool check_tls(int fd, const struct target *target, int64_t until_ms, struct error *err)
{
    enum { TLS_ALERT = 0x15, TLS_HANDSHAKE = 0x16, TLS_MAJOR_VERSION = 3 };
    char reply[2];
    size_t bytes = exchange(fd, tls_greeting, TLS_GREETING_BYTES, reply, sizeof reply, until_ms);
    if (bytes == sizeof reply && (reply[0] == TLS_HANDSHAKE || reply[0] == TLS_ALERT) && reply[1] == TLS_MAJOR_VERSION)
        return true;
    return error_set(err, ERROR_BUSY, "%s gave no answer in TLS", target->authority);
}

bool health_check(const char *url, const struct options *options, struct error *err)
{
    int64_t until_ms = clock_ms() + CHECK_MS_MAX;
    struct target target;
    if (!find_target(url, options, &target, err))
        return false;
    int fd = connect_to(&target, until_ms, err);
    if (fd < 0)
        return false;
    bool well = target.tls ? check_tls(fd, &target, until_ms, err) : check_http(fd, &target, until_ms, err);
    (void)close(fd);
    return well;
}
