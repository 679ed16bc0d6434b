/* monitor.h: a thread that looks at all connections ten times a second, while there are any, and
 *   - cuts those whose time is up: libmicrohttpd only knows silence, so a client that sends or reads a byte now and then
 *     could stay for ever;
 *   - stops jobs whose deadline has passed or whose client is gone: libmicrohttpd does not look at suspended connections;
 *   - shows libmicrohttpd the end of a client's stream where it has missed it;
 *   - lets refused connections linger (see lingering.h);
 *   - frees large memory, which takes the system long enough to be felt by other connections, and has the memory that is kept for
 *     the next request let go when there is none.
 *
 * A client that only closed its sending side (shutdown) still wants its reply, and looks from here just like one that has
 * closed its socket. So after some patience an interim reply (102) is sent: a closed socket answers that with a reset.
 *
 * Threads  every function from any thread; the fields of a connection are guarded by the monitor's mutex. */
#ifndef ATTND_SERVER_WORK_MONITOR_H
#define ATTND_SERVER_WORK_MONITOR_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "server/http/lingering.h"
#include "server/work/budget.h"
#include "server/work/queue.h"

enum connection_phase {
    CONNECTION_IDLE,    /* between requests, or none yet */
    CONNECTION_RECEIVE, /* from the request line to the end of the body */
    CONNECTION_WORK,    /* suspended: its job waits or runs */
    CONNECTION_SEND,    /* the reply goes out */
};

struct connection {
    struct connection *before, *after;
    struct monitor *monitor; /* borrowed */
    int fd;                  /* borrowed: libmicrohttpd closes it after monitor_remove */
    bool tls;
    enum connection_phase phase;
    int64_t cut_at_ms;           /* when the phase's time is up; in CONNECTION_WORK the job's deadline counts instead */
    int64_t last_ms;             /* when the connection's is, whatever its phase; CLOCK_NEVER_MS: never */
    bool cut;                    /* one of them was up */
    struct work_item *work_item; /* borrowed, while in CONNECTION_WORK */
    bool may_probe;              /* the client understands interim replies */
    bool probed;
    int64_t half_closed_at_ms; /* when the client's sending side was first seen closed; 0: open */
};

/* Memory to be freed later, linked. */
struct monitor_garbage {
    struct monitor_garbage *next;
    void (*free)(struct monitor_garbage *garbage);
};

struct monitor {
    struct queue *queue;   /* borrowed */
    struct budget *budget; /* borrowed */
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct connection *first;
    struct monitor_garbage *garbage;
    int arrivals[LINGER_COUNT_MAX]; /* sockets that are to linger, until the thread takes them over */
    size_t arrival_count;
    struct lingering lingering; /* the thread's own */
    bool stopping;
    size_t poll_count_max;
    struct pollfd *polls;       /* [poll_count_max] scratch of the thread */
    struct connection **polled; /* [poll_count_max] whose they are */
};

bool monitor_start(struct monitor *monitor, struct queue *queue, struct budget *budget, size_t connection_count_max,
                   struct error *err) __attribute__((warn_unused_result));

/* Frees what is left. The connections are gone by then. */
void monitor_stop(struct monitor *monitor);

/* New, CONNECTION_IDLE until `last_ms`; NULL where there is no memory. */
struct connection *monitor_add(struct monitor *monitor, int fd, bool tls, int64_t last_ms);

/* Frees. NULL-safe. */
void monitor_remove(struct connection *connection);

/* Enters a phase other than CONNECTION_WORK. */
void connection_enter(struct connection *connection, enum connection_phase phase, int64_t cut_at_ms);

/* Enters CONNECTION_WORK. Until another phase is entered, the monitor may stop the job, and run it itself where it is
 * still in the queue then. */
void connection_work(struct connection *connection, struct work_item *work_item, bool may_probe);

/* True where its time is limited as a whole: one beyond --max-connections. It is for one request, and not for computing. */
bool connection_is_overflow(const struct connection *connection);

/* True once the connection was cut. */
bool connection_was_cut(struct connection *connection);

/* Takes over `fd` and lets it linger. */
void monitor_linger(struct monitor *monitor, int fd);

void monitor_free_later(struct monitor *monitor, struct monitor_garbage *garbage);

#endif
