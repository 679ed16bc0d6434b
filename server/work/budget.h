/* budget.h: the memory of all requests together: the bodies, and what the computations set aside (`grants`).
 *
 *   bodies + grants <= total_bytes        bodies <= bodies_bytes_max = total_bytes - the largest grant
 *
 * So bodies that wait in the queue can never keep the largest request from being computed: once nothing else computes,
 * it fits. A body that does not fit is refused at once. A grant that does not fit waits, in the order of asking, and only
 * while somebody will give back: a request that holds a grant and does not wait itself, because it computes or its reply
 * is on the way out. Where all holders wait too, the first of them is refused, and so on: no deadlock.
 *
 * What is given back must have been freed before, but the C library may keep it: small pieces between others that live on.
 * Before that could add up to more than the total, or once nothing was in use for a second, the library is told to let go of it.
 *
 * The addresses of the last large body are kept for the next one, whose pages then need not be zeroed, which costs as much as
 * receiving it. Meanwhile the system may take the pages back at any time (MADV_FREE), so they are in nobody's way.
 *
 * Threads  every function from any thread. */
#ifndef ATTND_SERVER_WORK_BUDGET_H
#define ATTND_SERVER_WORK_BUDGET_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "server/work/work_item.h"

struct budget_grant {
    size_t bytes;
};

struct budget_waiter;

struct budget {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t total_bytes, bodies_bytes_max;
    size_t bodies_bytes, grants_bytes;  /* in use */
    size_t freed_bytes;                 /* given back since the C library was last told to let go */
    int64_t freed_at_ms;                /* when the last was */
    size_t owner_count;                 /* holders of a grant that do not wait for more */
    struct budget_waiter *first, *last; /* those that wait for a grant */
    void *spare;                        /* owned: addresses that are kept, or NULL */
    size_t cached_bytes;
    bool cached_is_free; /* the system may take its pages */
};

void budget_init(struct budget *budget, size_t total_bytes, size_t grant_bytes_max);

/* Books `bytes` more of a request's body. Returns false where there is no room. */
bool budget_take_body(struct budget *budget, size_t bytes) __attribute__((warn_unused_result));
void budget_return_body(struct budget *budget, size_t bytes);

/* Keeps addresses from mmap, whose content is of no interest any more, where they are more than those that are kept. Takes over
 * *mapped and *bytes, and sets them to what is not kept, now the caller's; NULL: nothing. No call to the system. */
void budget_keep_cached(struct budget *budget, void **mapped, size_t *bytes);

/* Lets the system have the pages of what is kept, where it needs them. */
void budget_rest_cached(struct budget *budget);

/* Returns at least `*bytes` kept addresses, the caller's to unmap or to give back, and sets *bytes to how many; NULL: none. */
void *budget_take_cached(struct budget *budget, size_t *bytes);

/* Adds `bytes` to the job's grant, waiting for others to give back as said above.
 * Fails  no_memory: nobody will give back enough. deadline: the job was stopped while it waited. */
bool budget_grant(struct budget *budget, struct budget_grant *grant, size_t bytes, struct work_item *work_item,
                  struct error *err) __attribute__((warn_unused_result));

/* The same without waiting, for what can be done without. The job holds a grant already. Returns false where there is no room. */
bool budget_grant_now(struct budget *budget, struct budget_grant *grant, size_t bytes) __attribute__((warn_unused_result));

/* Gives the whole grant back. */
void budget_return_grant(struct budget *budget, struct budget_grant *grant);

/* Has the C library and the kept addresses let go of their memory, where that is due. */
void budget_trim_when_idle(struct budget *budget);

/* False while there is something that budget_trim_when_idle will have to let go. */
bool budget_is_trimmed(struct budget *budget);

/* How much is in use. */
void budget_look(struct budget *budget, size_t *ret_bodies_bytes, size_t *ret_grants_bytes);

void budget_done(struct budget *budget);

#endif
