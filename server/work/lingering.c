#include "server/work/lingering.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/size.h"
#include "server/work/clock.h"

/* So that one fast sender does not starve the others. */
#define LINGER_READS_MAX 64

/* By then libmicrohttpd has closed the TLS session, and only the TCP stream is left to end. */
#define LINGER_SHUTDOWN_MS 200

static void remove_at(struct lingering *lingering, size_t i)
{
    (void)close(lingering->sockets[i].fd);
    lingering->count--;
    for (; i < lingering->count; i++)
        lingering->sockets[i] = lingering->sockets[i + 1];
}

void lingering_add(struct lingering *lingering, int fd)
{
    if (lingering->count == LINGER_COUNT_MAX)
        remove_at(lingering, 0);
    lingering->sockets[lingering->count].fd = fd;
    lingering->sockets[lingering->count].since_ms = clock_ms();
    lingering->sockets[lingering->count].bytes_left = LINGER_BYTES_MAX;
    lingering->count++;
}

/* Returns true once the client closed, or its time or bytes are used up. */
static bool drop_input(struct lingering *lingering, size_t i, int64_t now_ms)
{
    for (int reads = 0; reads < LINGER_READS_MAX; reads++) {
        size_t most = size_min(lingering->sockets[i].bytes_left, LINGER_READ_BYTES);
        ssize_t dropped = most == 0 ? 0 : recv(lingering->sockets[i].fd, lingering->dropped, most, MSG_DONTWAIT);
        if (dropped == 0 || (dropped < 0 && errno != EAGAIN && errno != EINTR))
            return true;
        if (dropped < 0)
            break;
        lingering->sockets[i].bytes_left -= (size_t)dropped;
    }
    return now_ms - lingering->sockets[i].since_ms >= LINGER_MS_MAX;
}

void lingering_tick(struct lingering *lingering)
{
    int64_t now_ms = clock_ms();
    for (size_t i = 0; i < lingering->count;) {
        if (now_ms - lingering->sockets[i].since_ms >= LINGER_SHUTDOWN_MS)
            (void)shutdown(lingering->sockets[i].fd, SHUT_WR);
        if (drop_input(lingering, i, now_ms))
            remove_at(lingering, i);
        else
            i++;
    }
}

void lingering_done(struct lingering *lingering)
{
    while (lingering->count > 0)
        remove_at(lingering, lingering->count - 1);
}
