/* monitor.h: a thread that checks all connections ten times a second, while there are any:
 *   - it cuts those whose time is up, and those on which no byte moved for too long; libmicrohttpd could do the latter, but counts
 *     the time before it reads what has arrived, as after the process was stopped for a while (that time counts against nobody);
 *   - it stops work whose deadline passed or whose client is gone: libmicrohttpd does not watch suspended connections;
 *   - it wakes libmicrohttpd when a client's stream ended unnoticed;
 *   - it lets refused connections linger (lingering.h);
 *   - it frees large requests, which takes the system long enough to delay other connections, and returns cached memory to the
 *     system while the daemon is idle.
 *
 * A client that only closed its sending side (shutdown) still reads its reply, and looks just like one that closed its
 * socket. So after a while the monitor sends an interim reply (102): a closed socket answers that with a reset.
 *
 * Threads  every function from any thread; the monitor's mutex guards the fields of a connection. */
#ifndef ATTND_SERVER_WORK_MONITOR_H
#define ATTND_SERVER_WORK_MONITOR_H

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "server/work/budget.h"
#include "server/work/lingering.h"
#include "server/work/queue.h"

enum connection_phase {
    CONNECTION_IDLE,    /* between requests, or none yet */
    CONNECTION_RECEIVE, /* from the request line to the end of the body */
    CONNECTION_WORK,    /* suspended: its work item waits or runs */
    CONNECTION_SEND,    /* the reply goes out */
};

struct connection {
    struct connection *previous, *next;
    struct monitor *monitor; /* borrowed */
    int fd;                  /* borrowed: libmicrohttpd closes it after monitor_remove */
    bool tls;
    enum connection_phase phase;
    int64_t cut_at_ms;    /* when the phase's time is up; in CONNECTION_WORK the work item's deadline counts instead */
    int64_t last_ms;      /* when the connection's time is up, in any phase; CLOCK_NEVER_MS: never */
    bool cut;             /* because one of the two passed, or nothing moved */
    uint64_t moved_bytes; /* received and acknowledged, as last seen */
    int64_t moved_at_ms;  /* when they were last seen to grow, or the phase began */
    int64_t looked_at_ms;
    struct work_item *work_item; /* borrowed, while in CONNECTION_WORK */
    bool may_probe;              /* the client understands interim replies */
    bool probed;
    int64_t half_closed_at_ms; /* when the client's sending side was first seen closed; 0: open */
};

/* Memory for the monitor to free, linked. */
struct monitor_garbage {
    struct monitor_garbage *next;
    void (*free)(struct monitor_garbage *garbage);
};

struct monitor {
    struct queue *queue;   /* borrowed */
    struct budget *budget; /* borrowed */
    int64_t silence_ms_max;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct connection *first;
    struct monitor_garbage *garbage;
    int arrivals[LINGER_COUNT_MAX]; /* sockets that are to linger, on their way to the thread */
    size_t arrival_count;
    struct lingering lingering; /* the thread's own */
    atomic_bool lingers;        /* any socket */
    bool stopping;
    size_t poll_count_max;
    struct pollfd *polls;       /* [poll_count_max] scratch of the thread */
    struct connection **polled; /* [poll_count_max] whose they are */
};

bool monitor_start(struct monitor *monitor, struct queue *queue, struct budget *budget, size_t connection_count_max,
                   int64_t silence_ms_max, struct error *err) __attribute__((warn_unused_result));

/* Frees what is left. All connections must have been removed. */
void monitor_stop(struct monitor *monitor);

/* New, CONNECTION_IDLE, cut at `last_ms`; NULL without memory. */
struct connection *monitor_add(struct monitor *monitor, int fd, bool tls, int64_t last_ms);

/* Frees. NULL-safe. */
void monitor_remove(struct connection *connection);

/* Enters a phase other than CONNECTION_WORK. */
void connection_enter(struct connection *connection, enum connection_phase phase, int64_t cut_at_ms);

/* Enters CONNECTION_WORK. Until another phase is entered, the monitor may stop the work item; one that is still in the queue then
 * is run by the monitor. */
void connection_work(struct connection *connection, struct work_item *work_item, bool may_probe);

/* True for a connection beyond --max-connections: its time is limited as a whole, to one request that does not compute. */
bool connection_is_overflow(const struct connection *connection);

bool connection_was_cut(struct connection *connection);

/* Takes ownership of `fd` and lets it linger. */
void monitor_linger(struct monitor *monitor, int fd);

/* True while any socket lingers. */
bool monitor_is_lingering(const struct monitor *monitor);

/* Has the monitor's thread free `garbage`. */
void monitor_free_later(struct monitor *monitor, struct monitor_garbage *garbage);

#endif
