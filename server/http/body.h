/* body.h: a request's body as it arrives.
 *
 * The buffer doubles as bytes arrive, up to what is allowed, and the budget accounts for every byte of it: so a Content-Length
 * alone takes no memory. A body that becomes large moves once, to a mapping for all that is allowed, whose pages take memory as
 * they are written: huge ones where the system has them, since faults of small pages cost as much time as the bytes themselves.
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
    void *mapped;          /* owned: the mapping that holds data; NULL while it is small */
    size_t mapped_bytes;
    size_t bytes;              /* arrived */
    size_t capacity_bytes;     /* allocated */
    size_t bytes_max;          /* Content-Length, or the limit where the length is not known */
    struct budget_share share; /* at least capacity_bytes, until body_recycle */
};

/* `length_known`: bytes_max will arrive, unless the client breaks off. */
void body_init(struct body *body, struct budget *budget, size_t bytes_max, bool length_known);

/* Appends. The caller has checked that bytes_max is not passed.
 * Fails  no_memory: the budget or the machine has none left. */
bool body_append(struct body *body, const char *data, size_t bytes, struct error *err) __attribute__((warn_unused_result));

/* Gives a large body's pages and its share of the budget to the next large body, at once and without a system call, unless larger
 * pages wait for one already. The bytes are no longer needed; body_done follows, and may do so later. */
void body_recycle(struct body *body);

/* Frees the bytes and releases their share of the budget. Safe on a zeroed body, and twice. */
void body_done(struct body *body);

#endif
