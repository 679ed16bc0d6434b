/* lingering.h: connections that were refused before their body was read, until the client has had time to read why.
 *
 * Closing a socket with unread bytes resets the connection, and the reset may overtake the reply. So what the client still
 * sends is read and dropped for a while, until the client closes, too.
 *
 * Threads  one at a time. */
#ifndef ATTND_SERVER_WORK_LINGERING_H
#define ATTND_SERVER_WORK_LINGERING_H

#include <stddef.h>
#include <stdint.h>

#define LINGER_COUNT_MAX 32
#define LINGER_MS_MAX 3000
#define LINGER_BYTES_MAX ((size_t)64 << 20)
#define LINGER_READ_BYTES ((size_t)64 * 1024)

struct lingering {
    size_t count;
    struct {
        int fd; /* owned */
        int64_t since_ms;
        size_t bytes_left;
    } sockets[LINGER_COUNT_MAX];
    char dropped[LINGER_READ_BYTES]; /* what was read last */
};

/* Takes ownership of `fd`. When LINGER_COUNT_MAX linger already, closes the oldest. */
void lingering_add(struct lingering *lingering, int fd);

/* Reads and drops what arrived; closes those whose client closed or whose time or bytes are used up. */
void lingering_tick(struct lingering *lingering);

void lingering_done(struct lingering *lingering);

#endif
