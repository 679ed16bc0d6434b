/* daemon.h: a running daemon: its sockets, its threads and what they share; its start and its end.
 *
 * Threads  libmicrohttpd's, which own the sockets and compute the smallest requests; the workers, which take the others from the
 *          queue; the pool's, which help them with large ones; the monitor's; the log's. */
#ifndef ATTND_SERVER_HTTP_DAEMON_H
#define ATTND_SERVER_HTTP_DAEMON_H

#include <stdatomic.h>
#include <stdbool.h>

#include "core/error.h"
#include "server/http/listen.h"
#include "server/http/service.h"
#include "server/http/tls.h"
#include "server/work/workers.h"

struct MHD_Daemon;

struct daemon {
    struct service service;
    struct workers workers[WORK_CLASSES];
    struct MHD_Daemon *mhd;
    struct tls tls;
    struct listen_socket listener;
    char mhd_message[ERROR_TEXT_BYTES_MAX]; /* libmicrohttpd's last message while it starts */
    atomic_bool started;
};

bool daemon_start(struct daemon *daemon, const struct options *options, struct log *log, struct error *err)
    __attribute__((warn_unused_result));

/* Reads the key file and the certificate again, for requests and connections to come. Files that cannot be used are logged, and the
 * ones in use stay. */
void daemon_reload(struct daemon *daemon);

/* From now on /health/ready is 503, and everything is served as before. Returns false, having done nothing, where the daemon inherited its
 * socket: there the next daemon takes the connections, and no load balancer need know. */
bool daemon_set_unready(struct daemon *daemon);

/* From now on new work is refused; what was admitted goes on. A daemon that inherited its socket accepts no more connections
 * instead, which wait there for the next daemon, and computes what comes on those it has. */
void daemon_drain(struct daemon *daemon);

/* True where no request that was admitted to compute is in progress. */
bool daemon_is_idle(const struct daemon *daemon);

/* True where no client is connected, and none can connect: nobody sees that the daemon ends. */
bool daemon_is_deserted(const struct daemon *daemon);

/* Closes all sockets and ends all threads. The daemon must be draining and idle. */
void daemon_stop(struct daemon *daemon);

#endif
