/* limits.h: the limits of a connection that no option sets. What they may add up to is kept free of --memory. */
#ifndef ATTND_SERVER_SETUP_LIMITS_H
#define ATTND_SERVER_SETUP_LIMITS_H

#include <stddef.h>

/* Bounds the head of a request, and how much of its body is read at once. */
#define LIMIT_HEAD_BYTES ((size_t)64 * 1024)

/* What a head may take of that, its bytes and for each header what libmicrohttpd keeps of it: the rest is for the head of the reply,
 * without which the connection would close in silence. */
#define LIMIT_HEAD_USED_BYTES_MAX ((size_t)60 * 1024)
#define LIMIT_HEAD_BYTES_PER_HEADER ((size_t)64)

/* Bounds what the kernel holds of a reply that the client is slow to read, beside what is in flight: it would take 4 MB. */
#define LIMIT_UNSENT_BYTES ((size_t)64 * 1024)

/* Connections accepted beyond --max-connections, for one request each and a short time: so health is answered, and a request
 * to compute is told why it is refused. */
#define LIMIT_OVERFLOW_CONNECTIONS 16
#define LIMIT_OVERFLOW_CONNECTION_MS 2000

/* What small requests have at least, beside --memory (server/work/budget.h). */
#define LIMIT_SMALL_MEMORY_BYTES ((size_t)256 * 1024)

#endif
