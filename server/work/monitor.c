#include "server/work/monitor.h"

#include <assert.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/work/sync.h"

#define MONITOR_TICK_MS 100
#define MONITOR_LATE_MS 1000       /* the process was stopped, or starved, if a tick comes so late */
#define MONITOR_LOOK_MS 250        /* how often a connection is looked at for silence */
#define MONITOR_PROBE_AFTER_MS 400 /* short work is done by then, and its client sees no interim reply */

static const char probe_text[] = "HTTP/1.1 102 Processing\r\n\r\n";

/* True when no client is left to read the reply. */
static bool client_is_gone_locked(struct connection *connection, short events, int64_t now_ms)
{
    if (events & (POLLERR | POLLHUP | POLLNVAL))
        return true;
    if (!(events & POLLRDHUP))
        return false;
    /* TLS closes both directions, and a bare end of its stream is an abort. */
    if (connection->tls)
        return true;
    if (connection->half_closed_at_ms == 0)
        connection->half_closed_at_ms = now_ms;
    if (!connection->may_probe || connection->probed || now_ms - connection->half_closed_at_ms < MONITOR_PROBE_AFTER_MS)
        return false;
    connection->probed = true;
    ssize_t length = (ssize_t)strlen(probe_text);
    return send(connection->fd, probe_text, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) != length;
}

/* After a short read libmicrohttpd waits for the socket's next event; so it misses an end of the stream that came together with
 * the last bytes. Shutting the socket down for reading is such an event. */
static void wake_locked(const struct connection *connection)
{
    (void)shutdown(connection->fd, SHUT_RD);
}

/* Looks for clients that have closed their side. */
static void watch_clients_locked(struct monitor *monitor, int64_t now_ms)
{
    size_t count = 0;
    for (struct connection *c = monitor->first; c != NULL && count < monitor->poll_count_max; c = c->next) {
        if (c->phase == CONNECTION_SEND)
            continue;
        monitor->polls[count] = (struct pollfd){.fd = c->fd, .events = POLLRDHUP};
        monitor->polled[count++] = c;
    }
    if (count == 0 || poll(monitor->polls, count, 0) <= 0)
        return;
    for (size_t i = 0; i < count; i++) {
        struct connection *c = monitor->polled[i];
        if (monitor->polls[i].revents == 0)
            continue;
        if (c->phase != CONNECTION_WORK)
            wake_locked(c);
        else if (client_is_gone_locked(c, monitor->polls[i].revents, now_ms))
            work_item_stop(c->work_item, WORK_CLIENT_GONE);
    }
}

/* Removes the stopped items that no worker has from the queue and from the budget's line. Returns them, linked by `next`. */
static struct work_item *take_stopped_locked(struct monitor *monitor)
{
    struct work_item *taken = NULL;
    for (struct connection *c = monitor->first; c != NULL; c = c->next) {
        if (c->phase != CONNECTION_WORK || !work_item_stopped(c->work_item))
            continue;
        if (!queue_remove(monitor->queue, c->work_item) && !budget_remove(monitor->budget, c->work_item))
            continue;
        c->work_item->next = taken;
        taken = c->work_item;
    }
    return taken;
}

/* Time in which the process did not run counts against no connection: what arrived meanwhile is yet to be read. */
static void forgive_locked(struct monitor *monitor, int64_t late_ms)
{
    for (struct connection *c = monitor->first; c != NULL; c = c->next) {
        c->moved_at_ms += late_ms;
        if (c->cut_at_ms != CLOCK_NEVER_MS)
            c->cut_at_ms += late_ms;
    }
}

/* The connection's thread sees the end of the stream, or fails to send, and closes. */
static void cut_locked(struct connection *connection)
{
    connection->cut = true;
    (void)shutdown(connection->fd, connection->phase == CONNECTION_SEND ? SHUT_RDWR : SHUT_RD);
}

static void cut_late_locked(struct monitor *monitor, int64_t now_ms)
{
    for (struct connection *c = monitor->first; c != NULL; c = c->next) {
        if (c->phase != CONNECTION_WORK && !c->cut && now_ms >= c->cut_at_ms)
            cut_locked(c);
    }
}

/* All bytes that moved in either direction. Returns false where the system does not count them. */
static bool count_moved(const struct connection *connection, uint64_t *ret_bytes)
{
    struct tcp_info info = {0};
    socklen_t info_bytes = sizeof info;
    bool counted = getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &info_bytes) == 0;
    *ret_bytes = info.tcpi_bytes_received + info.tcpi_bytes_acked;
    return counted;
}

/* Cuts requests and replies that do not move. Between requests, cut_at_ms says how long. */
static void cut_silent_locked(struct monitor *monitor, int64_t now_ms)
{
    for (struct connection *c = monitor->first; c != NULL; c = c->next) {
        uint64_t moved_bytes;
        bool moves = c->phase == CONNECTION_RECEIVE || c->phase == CONNECTION_SEND;
        if (!moves || c->cut || now_ms - c->looked_at_ms < MONITOR_LOOK_MS)
            continue;
        c->looked_at_ms = now_ms;
        if (!count_moved(c, &moved_bytes) || moved_bytes != c->moved_bytes) {
            c->moved_bytes = moved_bytes;
            c->moved_at_ms = now_ms;
        } else if (now_ms - c->moved_at_ms >= monitor->silence_ms_max) {
            cut_locked(c);
        }
    }
}

static void free_garbage(struct monitor_garbage *garbage)
{
    while (garbage != NULL) {
        struct monitor_garbage *next = garbage->next;
        garbage->free(garbage);
        garbage = next;
    }
}

static void run_all(struct work_item *work_item)
{
    while (work_item != NULL) {
        struct work_item *next = work_item->next;
        work_item->next = NULL;
        work_item->run(work_item);
        work_item = next;
    }
}

static void take_arrivals_locked(struct monitor *monitor)
{
    for (size_t i = 0; i < monitor->arrival_count; i++)
        lingering_add(&monitor->lingering, monitor->arrivals[i]);
    monitor->arrival_count = 0;
}

static void *watch(void *argument)
{
    struct monitor *monitor = argument;
    int64_t tick_at_ms = 0; /* 0: at once, and never late */
    sync_lock(&monitor->mutex);
    while (!monitor->stopping) {
        struct monitor_garbage *garbage = monitor->garbage;
        struct work_item *stopped = NULL;
        int64_t now_ms = clock_ms();
        bool tick = now_ms >= tick_at_ms;
        monitor->garbage = NULL;
        take_arrivals_locked(monitor);
        if (tick) {
            if (tick_at_ms > 0 && now_ms - tick_at_ms >= MONITOR_LATE_MS)
                forgive_locked(monitor, now_ms - tick_at_ms);
            tick_at_ms = now_ms + MONITOR_TICK_MS;
            watch_clients_locked(monitor, now_ms);
            stopped = take_stopped_locked(monitor);
            cut_late_locked(monitor, now_ms);
            cut_silent_locked(monitor, now_ms);
        }
        sync_unlock(&monitor->mutex);
        if (tick)
            lingering_tick(&monitor->lingering);
        run_all(stopped);
        free_garbage(garbage);
        budget_trim_when_idle(monitor->budget);
        sync_lock(&monitor->mutex);
        atomic_store(&monitor->lingers, monitor->lingering.count + monitor->arrival_count > 0);
        if (monitor->garbage != NULL || monitor->arrival_count > 0 || monitor->stopping)
            continue;
        if (monitor->first == NULL && monitor->lingering.count == 0 && memory_cache_is_trimmed(&monitor->budget->cache)) {
            (void)pthread_cond_wait(&monitor->changed, &monitor->mutex);
            tick_at_ms = 0;
        } else {
            sync_wait_ms(&monitor->changed, &monitor->mutex, MONITOR_TICK_MS);
        }
    }
    sync_unlock(&monitor->mutex);
    return NULL;
}

bool monitor_start(struct monitor *monitor, struct queue *queue, struct budget *budget, size_t connection_count_max,
                   int64_t silence_ms_max, struct error *err)
{
    *monitor = (struct monitor){
        .queue = queue, .budget = budget, .poll_count_max = connection_count_max, .silence_ms_max = silence_ms_max};
    monitor->polls = calloc(connection_count_max, sizeof *monitor->polls);
    monitor->polled = calloc(connection_count_max, sizeof(struct connection *));
    if (monitor->polls == NULL || monitor->polled == NULL) {
        (void)error_set(err, ERROR_NO_MEMORY, "no memory for %zu connections", connection_count_max);
        goto fail;
    }
    sync_init(&monitor->mutex, &monitor->changed);
    int failure = pthread_create(&monitor->thread, NULL, watch, monitor);
    if (failure == 0) {
        (void)pthread_setname_np(monitor->thread, "attnd-monitor");
        return true;
    }
    (void)error_set(err, ERROR_INTERNAL, "cannot start the monitor's thread: %s", strerrordesc_np(failure));
    sync_done(&monitor->mutex, &monitor->changed);
fail:
    free(monitor->polls);
    free(monitor->polled);
    return false;
}

void monitor_stop(struct monitor *monitor)
{
    sync_lock(&monitor->mutex);
    monitor->stopping = true;
    (void)pthread_cond_signal(&monitor->changed);
    sync_unlock(&monitor->mutex);
    (void)pthread_join(monitor->thread, NULL);
    assert(monitor->first == NULL);
    take_arrivals_locked(monitor);
    lingering_done(&monitor->lingering);
    free_garbage(monitor->garbage);
    free(monitor->polls);
    free(monitor->polled);
    sync_done(&monitor->mutex, &monitor->changed);
}

struct connection *monitor_add(struct monitor *monitor, int fd, bool tls, int64_t last_ms)
{
    struct connection *connection = malloc(sizeof *connection);
    if (connection == NULL)
        return NULL;
    *connection = (struct connection){.monitor = monitor, .fd = fd, .tls = tls, .cut_at_ms = last_ms, .last_ms = last_ms};
    sync_lock(&monitor->mutex);
    connection->next = monitor->first;
    if (monitor->first == NULL)
        (void)pthread_cond_signal(&monitor->changed);
    else
        monitor->first->previous = connection;
    monitor->first = connection;
    sync_unlock(&monitor->mutex);
    return connection;
}

void monitor_remove(struct connection *connection)
{
    if (connection == NULL)
        return;
    struct monitor *monitor = connection->monitor;
    sync_lock(&monitor->mutex);
    *(connection->previous != NULL ? &connection->previous->next : &monitor->first) = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    sync_unlock(&monitor->mutex);
    free(connection);
}

void connection_enter(struct connection *connection, enum connection_phase phase, int64_t cut_at_ms)
{
    sync_lock(&connection->monitor->mutex);
    connection->phase = phase;
    connection->cut_at_ms = cut_at_ms < connection->last_ms ? cut_at_ms : connection->last_ms;
    connection->work_item = NULL;
    connection->moved_at_ms = clock_ms();
    sync_unlock(&connection->monitor->mutex);
}

void connection_work(struct connection *connection, struct work_item *work_item, bool may_probe)
{
    sync_lock(&connection->monitor->mutex);
    connection->phase = CONNECTION_WORK;
    connection->work_item = work_item;
    connection->may_probe = may_probe;
    connection->probed = false;
    sync_unlock(&connection->monitor->mutex);
}

bool connection_is_overflow(const struct connection *connection)
{
    return connection->last_ms != CLOCK_NEVER_MS;
}

bool connection_was_cut(struct connection *connection)
{
    sync_lock(&connection->monitor->mutex);
    bool cut = connection->cut;
    sync_unlock(&connection->monitor->mutex);
    return cut;
}

void monitor_linger(struct monitor *monitor, int fd)
{
    sync_lock(&monitor->mutex);
    bool taken = monitor->arrival_count < LINGER_COUNT_MAX;
    if (taken)
        monitor->arrivals[monitor->arrival_count++] = fd;
    if (taken)
        atomic_store(&monitor->lingers, true);
    (void)pthread_cond_signal(&monitor->changed);
    sync_unlock(&monitor->mutex);
    if (!taken)
        (void)close(fd);
}

bool monitor_is_lingering(const struct monitor *monitor)
{
    return atomic_load(&monitor->lingers);
}

void monitor_free_later(struct monitor *monitor, struct monitor_garbage *garbage)
{
    sync_lock(&monitor->mutex);
    garbage->next = monitor->garbage;
    monitor->garbage = garbage;
    (void)pthread_cond_signal(&monitor->changed);
    sync_unlock(&monitor->mutex);
}
