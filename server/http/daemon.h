/* daemon.h: everything a running daemon has, and its start and end.
 *
 * Threads  libmicrohttpd's, which owns the sockets and never computes; the workers, which take jobs from the queue; the
 *          pool's, which help them with large jobs; the monitor's; the log's. */
#ifndef ATTND_SERVER_HTTP_DAEMON_H
#define ATTND_SERVER_HTTP_DAEMON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "server/http/keys.h"
#include "server/http/listen.h"
#include "server/http/static.h"
#include "server/setup/options.h"
#include "server/telemetry/log.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/statistics.h"
#include "server/work/budget.h"
#include "server/work/monitor.h"
#include "server/work/pool.h"
#include "server/work/queue.h"
#include "server/work/workers.h"

/* Bounds the head of a request, and the piece of its body that is read at once. */
#define DAEMON_CONNECTION_BYTES_MAX ((size_t)64 * 1024)

/* Bounds what the kernel holds of a reply that the client is slow to read, beside what is under way: it would take 4 MB. */
#define DAEMON_UNSENT_BYTES_MAX ((size_t)64 * 1024)

/* Connections beyond --max-connections that are taken all the same, for one request each and a short time: so that health
 * is answered, and who wants to compute is told why not. */
#define DAEMON_OVERFLOW_CONNECTIONS_MAX 16
#define DAEMON_OVERFLOW_CONNECTION_MS 2000

struct MHD_Daemon;

struct daemon {
    const struct options *options; /* borrowed */
    struct log *log;               /* borrowed */
    struct keys keys;
    struct static_files files;
    struct budget budget;
    struct queue queue;
    struct pool pool;
    struct workers workers;
    struct monitor monitor;
    struct statistics statistics[API_PROTOCOL_COUNT];
    struct MHD_Daemon *mhd;
    char *tls_cert, *tls_key;               /* owned; NULL without TLS */
    char address[LISTEN_ADDRESS_BYTES_MAX]; /* in use, as "127.0.0.1:8080" */
    char mhd_status[ERROR_TEXT_BYTES_MAX];  /* libmicrohttpd's last message while it starts */
    struct metrics metrics;                 /* the sockets' thread's own, as the next */
    size_t connection_count;                /* open ones */
    double started_s;                       /* of the Unix epoch */
    atomic_bool started;
    atomic_bool draining;
    atomic_size_t request_count; /* that are not freed */
    atomic_size_t work_count;    /* of them, those that were admitted to compute */
};

bool daemon_start(struct daemon *daemon, const struct options *options, struct log *log, struct error *err)
    __attribute__((warn_unused_result));

/* From now on new work is refused; what was admitted goes on. */
void daemon_drain(struct daemon *daemon);
bool daemon_is_draining(const struct daemon *daemon);

/* True where no request that was admitted to compute is under way. */
bool daemon_is_idle(const struct daemon *daemon);

/* Until when a connection may be without a request. */
int64_t daemon_idle_until_ms(const struct daemon *daemon);

/* Closes all sockets and ends all threads. The daemon must be draining and idle. */
void daemon_stop(struct daemon *daemon);

#endif
