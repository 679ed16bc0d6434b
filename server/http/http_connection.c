#include "server/http/http_connection.h"

#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "server/setup/limits.h"
#include "server/work/clock.h"
#include "server/work/sync.h"

/* Empty lines between requests are no request (RFC 9112, section 2.2). */
#define CONNECTION_BLANK_BYTES_MAX 4

/* So many connections beyond --max-connections may be silent before the oldest makes room: health is answered in any flood. */
#define CONNECTION_SILENT_OVERFLOW_MAX (LIMIT_OVERFLOW_CONNECTIONS * 3 / 4)

static _Thread_local struct {
    struct http_connection *first;
    size_t count;
} own;

struct http_connection *http_connection_first(void)
{
    return own.first;
}

size_t http_connection_count(void)
{
    return own.count;
}

/* Its thread will see the end of the client's stream, and close. */
static void cut(struct http_connection *connection)
{
    atomic_store(&connection->cut, true);
    (void)shutdown(connection->fd, SHUT_RD);
}

/* Those in the list are open: they leave it before their sockets are closed. */
static void add_overflow_locked(struct http_connection *connection)
{
    struct service *service = connection->service;
    if (service->overflow_count == LIMIT_OVERFLOW_CONNECTIONS) {
        cut(connection); /* cannot be: libmicrohttpd's own limit */
        return;
    }
    size_t silent_count = 0, oldest = 0;
    for (size_t i = service->overflow_count; i-- > 0;) {
        const struct http_connection *other = service->overflow[i];
        if (atomic_load(&other->closes) || atomic_load(&other->cut))
            continue;
        silent_count++;
        oldest = i;
    }
    if (silent_count >= CONNECTION_SILENT_OVERFLOW_MAX) {
        cut(service->overflow[oldest]);
        service->made_room_count++;
    }
    service->overflow[service->overflow_count++] = connection;
}

static void remove_overflow(struct http_connection *connection)
{
    struct service *service = connection->service;
    size_t kept = 0;
    sync_lock(&service->mutex);
    for (size_t i = 0; i < service->overflow_count; i++)
        if (service->overflow[i] != connection)
            service->overflow[kept++] = service->overflow[i];
    service->overflow_count = kept;
    sync_unlock(&service->mutex);
}

struct http_connection *http_connection_new(struct service *service, int fd, struct tls *tls)
{
    const int on = 1, unsent_bytes = (int)LIMIT_UNSENT_BYTES;
    struct http_connection *connection = calloc(1, sizeof *connection);
    if (connection == NULL)
        return NULL;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof unsent_bytes);
    bool overflow = atomic_load(&service->connection_count) > service->options->connections_max;
    int64_t last_ms = overflow ? clock_ms() + LIMIT_OVERFLOW_CONNECTION_MS : CLOCK_NEVER_MS;
    *connection = (struct http_connection){.service = service, .fd = fd, .tls = tls};
    connection->watch = monitor_add(&service->monitor, fd, tls != NULL, last_ms);
    if (connection->watch == NULL) {
        free(connection);
        return NULL;
    }
    http_connection_enter_idle(connection);
    if (overflow) {
        sync_lock(&service->mutex);
        add_overflow_locked(connection);
        sync_unlock(&service->mutex);
    }
    connection->next = own.first;
    if (connection->next != NULL)
        connection->next->previous = connection;
    own.first = connection;
    own.count++;
    connection->fresh = true;
    (void)atomic_fetch_add(&service->fresh_count, 1);
    return connection;
}

void http_connection_leave_fresh(struct http_connection *connection)
{
    if (connection->fresh)
        (void)atomic_fetch_sub(&connection->service->fresh_count, 1);
    connection->fresh = false;
}

void http_connection_enter_idle(struct http_connection *connection)
{
    connection_enter(connection->watch, CONNECTION_IDLE,
                     clock_ms() + (int64_t)connection->service->options->idle_timeout_s * 1000);
}

bool http_connection_was_cut(struct http_connection *connection)
{
    return atomic_load(&connection->cut) || connection_was_cut(connection->watch);
}

static bool is_closed_by_client(const struct http_connection *connection)
{
    char next;
    return recv(connection->fd, &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

/* What the system counts; zeros where it does not. `received`: bytes, too. */
static struct tcp_info count(const struct http_connection *connection, bool received)
{
    struct tcp_info info = {0};
    socklen_t info_bytes = sizeof info;
    (void)getsockopt(connection->fd, IPPROTO_TCP, TCP_INFO, &info, &info_bytes);
    if (received && info.tcpi_bytes_received > 0 && is_closed_by_client(connection))
        info.tcpi_bytes_received--; /* the end of the stream counts as a byte */
    return info;
}

void http_connection_account(struct http_connection *connection, uint64_t bytes)
{
    const struct tcp_info info = count(connection, bytes == 0);
    connection->accounted_bytes = bytes > 0 ? connection->accounted_bytes + bytes : info.tcpi_bytes_received;
    connection->sent_segments = info.tcpi_data_segs_out;
    connection->reused = true;
}

uint64_t http_connection_read_bytes(const struct http_connection *connection)
{
    uint64_t received_bytes = count(connection, true).tcpi_bytes_received;
    int unread_bytes = 0;
    (void)ioctl(connection->fd, FIONREAD, &unread_bytes);
    uint64_t others_bytes = connection->accounted_bytes + (uint64_t)unread_bytes;
    return received_bytes > others_bytes ? received_bytes - others_bytes : 0;
}

bool http_connection_has_stray_bytes(const struct http_connection *connection)
{
    if (connection->tls != NULL || atomic_load(&connection->closes) || (connection->reused && is_closed_by_client(connection)))
        return false;
    const struct tcp_info info = count(connection, true);
    return info.tcpi_data_segs_out == connection->sent_segments &&
           info.tcpi_bytes_received > connection->accounted_bytes + CONNECTION_BLANK_BYTES_MAX;
}

void http_connection_linger(struct http_connection *connection)
{
    if (connection->tls == NULL)
        (void)shutdown(connection->fd, SHUT_WR);
    int fd = connection->lingers ? -1 : fcntl(connection->fd, F_DUPFD_CLOEXEC, 0);
    if (fd >= 0)
        monitor_linger(&connection->service->monitor, fd);
    connection->lingers = true;
}

void http_connection_free(struct http_connection *connection)
{
    int unread_bytes = 0;
    if (connection == NULL)
        return;
    if (ioctl(connection->fd, FIONREAD, &unread_bytes) == 0 && unread_bytes > 0)
        http_connection_linger(connection);
    http_connection_leave_fresh(connection);
    remove_overflow(connection);
    *(connection->previous != NULL ? &connection->previous->next : &own.first) = connection->next;
    if (connection->next != NULL)
        connection->next->previous = connection->previous;
    own.count--;
    monitor_remove(connection->watch);
    if (connection->tls != NULL)
        tls_release(connection->tls, connection->certificate);
    free(connection);
}
