/* service.h: what all requests of a daemon share, which daemon.c starts and stops.
 *
 * Threads  the mutex guards what stands below it; the rest says for itself. */
#ifndef ATTND_SERVER_HTTP_SERVICE_H
#define ATTND_SERVER_HTTP_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/api.h"
#include "server/http/api_keys.h"
#include "server/http/static.h"
#include "server/setup/limits.h"
#include "server/setup/options.h"
#include "server/telemetry/log.h"
#include "server/telemetry/metrics.h"
#include "server/telemetry/statistics.h"
#include "server/work/budget.h"
#include "server/work/monitor.h"
#include "server/work/pool.h"
#include "server/work/queue.h"

struct MHD_Response;
struct http_connection;

struct service {
    const struct options *options;           /* borrowed */
    struct log *log;                         /* borrowed */
    struct MHD_Response *no_memory_response; /* made beforehand, for when making one fails */
    struct api_keys keys;
    struct static_files files;
    struct budget budget;
    struct queue queue;
    struct pool pool;
    struct monitor monitor;
    struct statistics statistics[API_PROTOCOL_COUNT];
    pthread_mutex_t mutex; /* between threads for sockets */
    struct metrics metrics;
    struct http_connection *overflow[LIMIT_OVERFLOW_CONNECTIONS]; /* beyond --max-connections, oldest first */
    size_t overflow_count;
    uint64_t made_room_count;       /* of them, those that were cut for newer ones; the last that the mutex guards */
    double started_s;               /* of the Unix epoch */
    atomic_size_t connection_count; /* open ones */
    atomic_bool unready;            /* health says so, that nobody sends new work */
    atomic_bool draining;           /* new work is refused; what was admitted goes on */
    atomic_bool closing;            /* each reply is the last one of its connection */
    atomic_size_t fresh_count;      /* connections without a first request */
    atomic_size_t request_count;    /* not freed yet */
    atomic_size_t work_count;       /* of them, those admitted to compute */
};

#endif
