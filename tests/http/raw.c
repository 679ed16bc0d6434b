/* raw.c: bare sockets, and bodies that take their time. */
#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/http/harness.h"

/* Splits "http://host:port" or "http://[host]:port". */
static void split_url(const char *url, char host[256], char port[16])
{
    const char *begin = strstr(url, "://");
    assert_non_null(begin);
    begin += 3;
    const char *colon = strrchr(begin, ':');
    bool brackets = begin[0] == '[';
    if (colon == NULL || (brackets && colon[-1] != ']')) {
        (void)snprintf(host, 256, "%.*s", (int)strcspn(begin, "/"), begin);
        (void)snprintf(port, 16, "%s", strncmp(url, "https", 5) == 0 ? "443" : "80");
        return;
    }
    size_t length = (size_t)(colon - begin) - (brackets ? 2 : 0);
    (void)snprintf(host, 256, "%.*s", (int)length, begin + brackets);
    (void)snprintf(port, 16, "%.*s", (int)strcspn(colon + 1, "/"), colon + 1);
}

int raw_connect(const struct attnd *attnd)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *addresses;
    char host[256], port[16];
    int fd = -1;
    split_url(attnd->url, host, port);
    assert_int_equal(getaddrinfo(host, port, &hints, &addresses), 0);
    for (const struct addrinfo *a = addresses; a != NULL && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) != 0) {
            (void)close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(addresses);
    assert_true(fd >= 0);
    return fd;
}

bool raw_try_send(int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t sent = send(fd, text, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0) {
            text += sent;
            bytes -= (size_t)sent;
        }
    }
    return true;
}

void raw_send(int fd, const char *text)
{
    assert_true(raw_try_send(fd, text, strlen(text)));
}

char *raw_read(int fd, double seconds)
{
    size_t bytes = 0, capacity = 65536;
    char *text = malloc(capacity);
    double until = seconds_now() + seconds;
    assert_non_null(text);
    for (double left; (left = until - seconds_now()) > 0;) {
        struct pollfd readable = {.fd = fd, .events = POLLIN};
        if (poll(&readable, 1, (int)(left * 1000) + 1) <= 0)
            continue;
        ssize_t got = recv(fd, text + bytes, capacity - 1 - bytes, 0);
        if (got <= 0)
            break;
        bytes += (size_t)got;
        if (capacity - bytes < 4096) {
            capacity *= 2;
            char *grown = realloc(text, capacity);
            assert_non_null(grown);
            text = grown;
        }
    }
    text[bytes] = '\0';
    return text;
}

char *raw_exchange(const struct attnd *attnd, const char *text, bool half_close)
{
    int fd = raw_connect(attnd);
    raw_send(fd, text);
    if (half_close)
        (void)shutdown(fd, SHUT_WR);
    char *answer = raw_read(fd, 90);
    (void)close(fd);
    return answer;
}

char *raw_post(const char *path, const char *headers, const char *body)
{
    char *text = NULL;
    int length =
        asprintf(&text, "POST %s HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n%s",
                 path, headers, strlen(body), body);
    assert_true(length > 0);
    return text;
}

size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        count++;
    return count;
}

static char *long_json(size_t T)
{
    char *json = NULL;
    int length =
        asprintf(&json, "{\"seed\": 1, \"x\": {\"shape\": [%zu, 16]}, \"projection\": \"identity\", \"return\": [\"lse\"]}", T);
    assert_true(length > 0);
    return json;
}

char *busy_json(const struct attnd *attnd, double seconds)
{
    const size_t T = 2048;
    double took = 60;
    char *json = long_json(T);
    for (int i = 0; i < 3; i++) {
        struct reply reply = post_json(attnd, "/attention", json, NULL);
        assert_int_equal(reply.status, 200);
        took = fmin(took, reply.seconds);
        reply_done(&reply);
    }
    free(json);
    /* Time grows with the square of the tokens. */
    return long_json((size_t)((double)T * sqrt(fmax(1, seconds / took))));
}
