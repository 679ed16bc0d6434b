/* body.h: a request's body as it arrives.
 *
 * The buffer follows what has arrived, doubling and never past what is still allowed, and every byte of it is booked in
 * the budget: so a Content-Length alone takes no memory. A body that becomes large moves once, to addresses for all that is
 * allowed, which take memory as they are written to: on huge pages where the system has them, since for a body of megabytes the
 * faults of small ones cost as much time as its bytes.
 *
 * Threads  one body belongs to one thread at a time. */
#ifndef ATTND_SERVER_HTTP_BODY_H
#define ATTND_SERVER_HTTP_BODY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "server/work/budget.h"

struct body {
    struct budget *budget; /* borrowed */
    char *data;            /* owned */
    void *mapped;          /* owned: the addresses that data lies in; NULL while it is small */
    size_t mapped_bytes;
    size_t bytes;              /* arrived */
    size_t capacity_bytes;     /* allocated */
    size_t bytes_max;          /* Content-Length, or the limit where the length is not known */
    struct budget_share share; /* at least capacity_bytes */
};

/* `length_known`: bytes_max will arrive, unless the client breaks off. */
void body_init(struct body *body, struct budget *budget, size_t bytes_max, bool length_known);

/* Appends. The caller has checked that bytes_max is not passed.
 * Fails  no_memory: the budget or the machine has none left. */
bool body_append(struct body *body, const char *data, size_t bytes, struct error *err) __attribute__((warn_unused_result));

/* Lets the next large body have this one's pages, where it is large: at once, without a call to the system. The bytes are of no
 * interest any more; body_done is still to come, and may take its time. */
void body_recycle(struct body *body);

/* Frees the bytes and gives the booking back. Safe on a zeroed body, and twice. */
void body_done(struct body *body);

#endif
