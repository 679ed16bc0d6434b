#include "server/http/daemon.h"

#include <microhttpd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/size.h"
#include "server/http/head.h"
#include "server/http/http_request_bypass.h"
#include "server/http/http_request_lifecycle.h"
#include "server/http/http_request_log.h"
#include "server/http/response.h"
#include "server/setup/file.h"
#include "server/setup/limits.h"
#include "server/work/clock.h"
#include "server/work/sync.h"

/* The monitor keeps the time limits. Only where libmicrohttpd does not see that a connection was cut, its own limit ends it. */
#define DAEMON_TIMEOUT_FACTOR 4

/* How long the end of the listening takes: connections that clients had begun to open may need a round trip. */
#define DAEMON_BACKLOG_MS 100

/* How long the last connections may take for their first request, and the last requests until they are answered. */
#define DAEMON_FRESH_MS 500
#define DAEMON_LAST_REQUESTS_MS 3000

/* Threads for sockets: as many as compute, since they answer small requests themselves, but no more than there is work for. */
#define DAEMON_SOCKETS_THREADS_MAX 8

/* ---- what libmicrohttpd calls, on the connection's thread ---- */

static void on_connection(void *context, struct MHD_Connection *mhd, void **connection,
                          enum MHD_ConnectionNotificationCode what)
{
    struct daemon *daemon = context;
    struct service *service = &daemon->service;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        (void)atomic_fetch_add(&service->connection_count, 1);
        *connection = http_connection_new(service, MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
                                          tls_is_on(&daemon->tls) ? &daemon->tls : NULL);
        return;
    }
    (void)atomic_fetch_sub(&service->connection_count, 1);
    if (*connection != NULL)
        http_request_abandon(*connection, mhd);
    http_connection_free(*connection);
    *connection = NULL;
}

/* libmicrohttpd makes records of query arguments and cookies, which nothing here needs, and drops requests with more than fit its
 * memory. So it gets to see no query and, as the first header of that name, an empty Cookie. */
static void hide_records(struct MHD_Connection *mhd, const char *target)
{
    const char *query = target != NULL ? strchr(target, '?') : NULL;
    if (query != NULL)
        ((char *)query)[1] = '\0'; /* in the library's own memory */
    (void)MHD_set_connection_value(mhd, MHD_HEADER_KIND, head_no_cookie, "");
}

static void *on_request_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_connection *connection = info != NULL ? info->socket_context : NULL;
    struct http_request *request = NULL;
    (void)context;
    if (connection != NULL)
        request = http_request_new(connection, mhd, target != NULL ? target : "");
    hide_records(mhd, target);
    return request;
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *data, size_t *data_bytes, void **request)
{
    struct daemon *daemon = context;
    const struct request_line line = {.method = method, .url = url, .version = version};
    if (*request != NULL)
        return http_request_step(*request, &line, data, data_bytes);
    http_request_log_refused(&daemon->service, method, url);
    return MHD_queue_response(mhd, MHD_HTTP_SERVICE_UNAVAILABLE, daemon->service.no_memory_response);
}

static void on_completed(void *context, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode how)
{
    (void)context;
    (void)mhd;
    if (*request != NULL)
        http_request_end(*request, how);
    *request = NULL;
}

/* GnuTLS's gnutls_certificate_retrieve_function2: the connection keeps the certificate until it is closed. */
static int on_handshake(gnutls_session_t session, const gnutls_datum_t *authorities, int authority_count,
                        const gnutls_pk_algorithm_t *algorithms, int algorithm_count, gnutls_pcert_st **ret_chain,
                        unsigned *ret_count, gnutls_privkey_t *ret_key)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(gnutls_session_get_ptr(session), MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    struct http_connection *connection = info != NULL ? info->socket_context : NULL;
    (void)authorities;
    (void)authority_count;
    (void)algorithms;
    (void)algorithm_count;
    if (connection == NULL)
        return -1;
    if (connection->certificate == NULL)
        connection->certificate = tls_acquire(connection->tls);
    tls_certificate_parts(connection->certificate, ret_chain, ret_count, ret_key);
    return 0;
}

/* The status that libmicrohttpd is about to reply with by itself, where this is what the message says; else 0. */
static unsigned own_status(const char *format, va_list arguments)
{
    static const char begin[] = "Error processing request (HTTP response code is %u";
    va_list copy;
    if (strncmp(format, begin, sizeof begin - 1) != 0)
        return 0;
    va_copy(copy, arguments);
    unsigned status = va_arg(copy, unsigned);
    va_end(copy);
    return status;
}

/* Some of libmicrohttpd's own replies are wrong. It says 500 where a line between chunks does not fit its memory, which is the client's
 * doing; and where Content-Length is wrong its reply has two heads. */
static void reply_before(struct service *service, unsigned status)
{
    if (status == MHD_HTTP_INTERNAL_SERVER_ERROR)
        http_request_bypass_long_line();
    else if (status == MHD_HTTP_BAD_REQUEST || status == MHD_HTTP_CONTENT_TOO_LARGE)
        http_request_bypass_wrong_length(service);
}

/* Once started, libmicrohttpd mostly reports what clients do, and their requests have log lines; but it also closes connections for
 * want of memory before there is a request. */
static void on_message(void *context, const char *format, va_list arguments)
{
    struct daemon *daemon = context;
    char message[ERROR_TEXT_BYTES_MAX];
    bool started = atomic_load(&daemon->started);
    if (started)
        reply_before(&daemon->service, own_status(format, arguments));
    if (started && strstr(format, "allocating memory") == NULL)
        return;
    (void)vsnprintf(message, sizeof message, format, arguments);
    message[strcspn(message, "\n")] = '\0';
    if (started)
        log_event(daemon->service.log, LOG_WARNING, "libmicrohttpd closes a connection: %s", message);
    else
        memcpy(daemon->mhd_message, message, sizeof message);
}

/* ---- start ---- */

static bool load_files(struct daemon *daemon, struct error *err)
{
    const struct options *options = daemon->service.options;
    daemon->service.no_memory_response = response_new_no_memory();
    if (daemon->service.no_memory_response == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory to start");
    if (options->api_key_file != NULL && !api_keys_load(options->api_key_file, &daemon->service.keys, err))
        return false;
    if (!static_load(options->web_root, &daemon->service.files, err))
        return false;
    return tls_load(&daemon->tls, options, err);
}

static bool start_mhd(struct daemon *daemon, struct error *err)
{
    const struct options *options = daemon->service.options;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)options->tls_priorities},
        {MHD_OPTION_HTTPS_CERT_CALLBACK, 0, (void *)(uintptr_t)on_handshake},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    const size_t sockets_threads = size_min(options->threads, DAEMON_SOCKETS_THREADS_MAX);
    struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)sockets_threads, NULL}, {MHD_OPTION_END, 0, NULL}};
    /* Without MHD_USE_TURBO libmicrohttpd shuts a connection down before it says that it closes, and no reply could follow. With
     * TLS none could anyway, and only the shutdown tells the client that the stream ends. */
    flags |= tls_is_on(&daemon->tls) ? MHD_USE_TLS : MHD_USE_TURBO;
    /* clang-format off */
    daemon->mhd = MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, daemon,
        MHD_OPTION_EXTERNAL_LOGGER, on_message, daemon,
        MHD_OPTION_LISTEN_SOCKET, daemon->listener.fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(options->connections_max + LIMIT_OVERFLOW_CONNECTIONS),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)(DAEMON_TIMEOUT_FACTOR * (options->idle_timeout_s + options->request_timeout_s)),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, LIMIT_HEAD_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 0, /* head.c is stricter, and says why it refuses */
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, daemon,
        MHD_OPTION_URI_LOG_CALLBACK, on_request_line, daemon,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, daemon,
        MHD_OPTION_ARRAY, tls_is_on(&daemon->tls) ? tls : none,
        MHD_OPTION_ARRAY, sockets_threads > 1 ? pool : none,
        MHD_OPTION_END);
    /* clang-format on */
    if (daemon->mhd == NULL)
        return error_set(err, ERROR_INTERNAL, "cannot start to serve%s%s", daemon->mhd_message[0] != '\0' ? ": " : "",
                         daemon->mhd_message);
    atomic_store(&daemon->started, true);
    return true;
}

static void free_files(struct daemon *daemon)
{
    api_keys_done(&daemon->service.keys);
    static_done(&daemon->service.files);
    tls_done(&daemon->tls);
    if (daemon->service.no_memory_response != NULL)
        MHD_destroy_response(daemon->service.no_memory_response);
}

/* Those that were started. */
static void stop_workers(struct daemon *daemon)
{
    for (size_t class = 0; class < WORK_CLASSES; class ++)
        if (daemon->workers[class].threads != NULL)
            workers_stop(&daemon->workers[class]);
}

/* The parent's socket, or one of its own. */
static bool open_listener(struct daemon *daemon, struct error *err)
{
    const struct options *options = daemon->service.options;
    if (!listen_inherit(&daemon->listener, err))
        return false;
    if (daemon->listener.fd < 0)
        return listen_open(options->listen, options->socket_mode, &daemon->listener, err);
    log_event(daemon->service.log, LOG_INFO, "listening on the socket that the parent process passes; --listen has no effect");
    return true;
}

bool daemon_start(struct daemon *daemon, const struct options *options, struct log *log, struct error *err)
{
    struct service *service = &daemon->service;
    size_t class = 0;
    struct timespec now;
    memset(daemon, 0, sizeof *daemon);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    service->started_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    service->options = options;
    service->log = log;
    budget_init(&service->budget, options->large_memory_bytes, options->request_memory_bytes_max, options->small_memory_bytes,
                &service->queue);
    queue_init(&service->queue, options->queue_items_max);
    sync_must(pthread_mutex_init(&service->mutex, NULL));
    if (!load_files(daemon, err))
        goto fail_files;
    if (!pool_start(&service->pool, options->threads, err))
        goto fail_files;
    for (; class < WORK_CLASSES; class ++)
        if (!workers_start(&daemon->workers[class], (enum work_class) class, options->threads, &service->queue, err))
            goto fail_workers;
    if (!monitor_start(&service->monitor, &service->queue, &service->budget,
                       options->connections_max + LIMIT_OVERFLOW_CONNECTIONS, (int64_t)options->idle_timeout_s * 1000, err))
        goto fail_monitor;
    if (!open_listener(daemon, err))
        goto fail_listen;
    if (start_mhd(daemon, err))
        return true;
    listen_close(&daemon->listener);
fail_listen:
    monitor_stop(&service->monitor);
fail_monitor:
fail_workers:
    stop_workers(daemon);
    pool_stop(&service->pool);
fail_files:
    free_files(daemon);
    sync_must(pthread_mutex_destroy(&service->mutex));
    queue_done(&service->queue);
    budget_done(&service->budget);
    return false;
}

static void log_reload(struct log *log, const char *what, const char *file, bool loaded, const struct error *err)
{
    if (loaded)
        log_event(log, LOG_INFO, "%s %s: read again", what, file);
    else
        log_event(log, LOG_WARNING, "%s; the ones in use stay", err->text);
}

static void reload_keys(struct service *service)
{
    struct error err = {0};
    struct api_keys keys;
    bool loaded = api_keys_load(service->options->api_key_file, &keys, &err);
    if (loaded)
        api_keys_replace(&service->keys, &keys);
    log_reload(service->log, "--api-key-file", service->options->api_key_file, loaded, &err);
}

void daemon_reload(struct daemon *daemon)
{
    struct service *service = &daemon->service;
    const struct options *options = service->options;
    struct error err = {0};
    if (options->api_key_file != NULL)
        reload_keys(service);
    if (options->tls_cert_file != NULL) {
        bool loaded = tls_reload(&daemon->tls, &err);
        log_reload(service->log, "--tls-cert", options->tls_cert_file, loaded, &err);
    }
    if (options->api_key_file == NULL && options->tls_cert_file == NULL)
        log_event(service->log, LOG_INFO, "SIGHUP: there is neither --api-key-file nor --tls-cert to read again");
}

/* ---- end ---- */

bool daemon_set_unready(struct daemon *daemon)
{
    if (daemon->listener.inherited)
        return false;
    atomic_store(&daemon->service.unready, true);
    return true;
}

void daemon_drain(struct daemon *daemon)
{
    if (daemon_set_unready(daemon))
        atomic_store(&daemon->service.draining, true);
    else
        (void)MHD_quiesce_daemon(daemon->mhd);
    atomic_store(&daemon->service.closing, true);
}

bool daemon_is_idle(const struct daemon *daemon)
{
    return atomic_load(&daemon->service.work_count) == 0;
}

bool daemon_is_deserted(const struct daemon *daemon)
{
    return daemon->listener.inherited && atomic_load(&daemon->service.connection_count) == 0;
}

/* Hands over every connection that the kernel has accepted or is about to. */
static void empty_backlog(struct daemon *daemon)
{
    for (int64_t until_ms = clock_ms() + DAEMON_BACKLOG_MS; clock_ms() < until_ms;) {
        struct sockaddr_storage address = {0};
        socklen_t address_bytes = sizeof address;
        int fd = accept4(daemon->listener.fd, (struct sockaddr *)&address, &address_bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            (void)MHD_add_connection(daemon->mhd, fd, (const struct sockaddr *)&address, address_bytes);
        else
            (void)usleep(2000);
    }
}

/* Requests that came at the last moment are answered: those that have begun, and for a shorter time the first ones of new
 * connections. Replies may still be on their way to clients that were refused in the middle of a body. */
static void answer_last_requests(struct service *service)
{
    int64_t now_ms = clock_ms(), fresh_until_ms = now_ms + DAEMON_FRESH_MS, until_ms = now_ms + DAEMON_LAST_REQUESTS_MS;
    for (; now_ms < until_ms; now_ms = clock_ms()) {
        bool fresh = atomic_load(&service->fresh_count) > 0 && now_ms < fresh_until_ms;
        if (!fresh && atomic_load(&service->request_count) == 0 && !monitor_is_lingering(&service->monitor))
            return;
        (void)usleep(5000);
    }
}

void daemon_stop(struct daemon *daemon)
{
    struct service *service = &daemon->service;
    if (!daemon->listener.inherited) {
        (void)MHD_quiesce_daemon(daemon->mhd); /* closed once libmicrohttpd's thread can no longer use it */
        if (!listen_end(&daemon->listener))
            log_event(service->log, LOG_WARNING,
                      "the system does not allow an end of listening in order: the last connections may be reset");
        empty_backlog(daemon);
    }
    answer_last_requests(service);
    MHD_stop_daemon(daemon->mhd);
    listen_close(&daemon->listener);
    stop_workers(daemon);
    monitor_stop(&service->monitor);
    pool_stop(&service->pool);
    free_files(daemon);
    sync_must(pthread_mutex_destroy(&service->mutex));
    queue_done(&service->queue);
    budget_done(&service->budget);
}
