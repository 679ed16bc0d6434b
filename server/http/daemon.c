#include "server/http/daemon.h"

#include <microhttpd.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/http/file.h"
#include "server/http/request.h"
#include "server/work/clock.h"

/* Once nobody can connect any more, requests that came at the last moment get so long to be refused. */
#define DAEMON_LAST_REQUESTS_MS 500

/* ---- what libmicrohttpd calls, on its thread ---- */

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct daemon *daemon = context;
    const int on = 1, unsent_bytes = (int)DAEMON_UNSENT_BYTES_MAX;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        daemon->connection_count--;
        monitor_remove(*socket_context);
        *socket_context = NULL;
        return;
    }
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    int fd = info->connect_fd;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof unsent_bytes);
    bool extra = ++daemon->connection_count > daemon->options->connections_max;
    int64_t last_ms = extra ? clock_ms() + DAEMON_OVERFLOW_CONNECTION_MS : CLOCK_NEVER_MS;
    *socket_context = monitor_add(&daemon->monitor, fd, daemon->tls_cert != NULL, last_ms);
    if (*socket_context != NULL)
        connection_enter(*socket_context, CONNECTION_IDLE, daemon_idle_until_ms(daemon));
}

static void *on_request_line(void *context, const char *target, struct MHD_Connection *mhd)
{
    return request_new(context, mhd, target != NULL ? target : "");
}

static enum MHD_Result on_access(void *context, struct MHD_Connection *mhd, const char *url, const char *method,
                                 const char *version, const char *data, size_t *data_bytes, void **request)
{
    (void)context;
    (void)mhd;
    (void)url;
    return *request != NULL ? request_step(*request, method, version, data, data_bytes) : MHD_NO;
}

static void on_completed(void *context, struct MHD_Connection *mhd, void **request, enum MHD_RequestTerminationCode how)
{
    (void)context;
    (void)mhd;
    if (*request != NULL)
        request_completed(*request, how);
    *request = NULL;
}

/* Once started, libmicrohttpd only speaks of what clients do, and those have their log line. */
static void on_message(void *context, const char *format, va_list arguments)
{
    struct daemon *daemon = context;
    if (!atomic_load(&daemon->started))
        (void)vsnprintf(daemon->mhd_status, sizeof daemon->mhd_status, format, arguments);
}

/* ---- start ---- */

/* Returns the file's text, new; NULL on failure. */
static char *read_pem(const char *option, const char *file_name, struct error *err)
{
    size_t bytes;
    char *text = file_read(option, file_name, &bytes, err);
    if (text == NULL || strstr(text, "-----BEGIN ") != NULL)
        return text;
    free(text);
    (void)error_set(err, ERROR_INVALID, "%s %s: this is no PEM file", option, file_name);
    return NULL;
}

static bool load_files(struct daemon *daemon, struct error *err)
{
    const struct options *options = daemon->options;
    if (options->api_key_file != NULL && !keys_load(options->api_key_file, &daemon->keys, err))
        return false;
    if (!static_load(options->web_root, &daemon->files, err))
        return false;
    if (options->tls_cert_file == NULL)
        return true;
    daemon->tls_cert = read_pem("--tls-cert", options->tls_cert_file, err);
    daemon->tls_key = daemon->tls_cert != NULL ? read_pem("--tls-key", options->tls_key_file, err) : NULL;
    return daemon->tls_key != NULL;
}

/* Takes over `listen_fd`. */
static bool start_mhd(struct daemon *daemon, int listen_fd, struct error *err)
{
    const struct options *options = daemon->options;
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_KEY, 0, daemon->tls_key},
        {MHD_OPTION_HTTPS_MEM_CERT, 0, daemon->tls_cert},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    if (daemon->tls_cert != NULL)
        flags |= MHD_USE_TLS;
    /* clang-format off */
    daemon->mhd = MHD_start_daemon(
        flags, 0, NULL, NULL, on_access, daemon,
        MHD_OPTION_EXTERNAL_LOGGER, on_message, daemon,
        MHD_OPTION_LISTEN_SOCKET, listen_fd,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)(options->connections_max + DAEMON_OVERFLOW_CONNECTIONS_MAX),
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)options->idle_timeout_s,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, DAEMON_CONNECTION_BYTES_MAX,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, daemon,
        MHD_OPTION_URI_LOG_CALLBACK, on_request_line, daemon,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, daemon,
        MHD_OPTION_ARRAY, daemon->tls_cert != NULL ? tls : none,
        MHD_OPTION_END);
    /* clang-format on */
    if (daemon->mhd == NULL) {
        (void)close(listen_fd);
        daemon->mhd_status[strcspn(daemon->mhd_status, "\n")] = '\0';
        if (daemon->tls_cert != NULL && strstr(daemon->mhd_status, "TLS") != NULL)
            return error_set(err, ERROR_INVALID,
                             "--tls-cert %s and --tls-key %s do not fit together, or are no certificate and key",
                             options->tls_cert_file, options->tls_key_file);
        return error_set(err, ERROR_INTERNAL, "cannot start to serve%s%s", daemon->mhd_status[0] != '\0' ? ": " : "",
                         daemon->mhd_status);
    }
    atomic_store(&daemon->started, true);
    return true;
}

static void free_files(struct daemon *daemon)
{
    keys_done(&daemon->keys);
    static_done(&daemon->files);
    free(daemon->tls_cert);
    free(daemon->tls_key);
}

bool daemon_start(struct daemon *daemon, const struct options *options, struct log *log, struct error *err)
{
    int listen_fd;
    struct timespec now;
    memset(daemon, 0, sizeof *daemon);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    daemon->started_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9;
    daemon->options = options;
    daemon->log = log;
    budget_init(&daemon->budget, options->memory_bytes_max, options->request_memory_bytes_max);
    queue_init(&daemon->queue, options->queue_items_max);
    if (!load_files(daemon, err))
        goto fail_files;
    if (!pool_start(&daemon->pool, options->threads, err))
        goto fail_files;
    if (!workers_start(&daemon->workers, options->threads, &daemon->queue, err))
        goto fail_workers;
    if (!monitor_start(&daemon->monitor, &daemon->queue, &daemon->budget,
                       options->connections_max + DAEMON_OVERFLOW_CONNECTIONS_MAX, err))
        goto fail_monitor;
    if (!listen_open(options->listen, &listen_fd, daemon->address, err))
        goto fail_listen;
    if (start_mhd(daemon, listen_fd, err))
        return true;
fail_listen:
    monitor_stop(&daemon->monitor);
fail_monitor:
    workers_stop(&daemon->workers);
fail_workers:
    pool_stop(&daemon->pool);
fail_files:
    free_files(daemon);
    queue_done(&daemon->queue);
    budget_done(&daemon->budget);
    return false;
}

/* ---- and end ---- */

void daemon_drain(struct daemon *daemon)
{
    atomic_store(&daemon->draining, true);
}

bool daemon_is_draining(const struct daemon *daemon)
{
    return atomic_load(&daemon->draining);
}

bool daemon_is_idle(const struct daemon *daemon)
{
    return atomic_load(&daemon->work_count) == 0;
}

int64_t daemon_idle_until_ms(const struct daemon *daemon)
{
    return clock_ms() + (int64_t)daemon->options->idle_timeout_s * 1000;
}

void daemon_stop(struct daemon *daemon)
{
    /* Ends the listening; closed only once libmicrohttpd's thread can have no more to do with it. */
    int listen_fd = MHD_quiesce_daemon(daemon->mhd);
    (void)shutdown(listen_fd, SHUT_RDWR);
    for (int64_t until_ms = clock_ms() + DAEMON_LAST_REQUESTS_MS;
         atomic_load(&daemon->request_count) > 0 && clock_ms() < until_ms;)
        (void)usleep(5000);
    MHD_stop_daemon(daemon->mhd);
    (void)close(listen_fd);
    workers_stop(&daemon->workers);
    monitor_stop(&daemon->monitor);
    pool_stop(&daemon->pool);
    free_files(daemon);
    queue_done(&daemon->queue);
    budget_done(&daemon->budget);
}
