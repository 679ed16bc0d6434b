#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/api.h"
#include "core/size.h"
#include "server/setup/limits.h"
#include "server/setup/options.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

/* What the process takes besides requests, by measurement and with some room: under a cgroup's limit, one page too many is
 * the end of it. At rest 8 MiB are resident, most of them pages of libraries; docs/operations.md has the numbers. */
#define PROCESS_BYTES (16 * MIB)
#define COMPUTING_THREAD_BYTES (8 * MIB) /* BLAS's packing buffer (1.5 MiB, more where pages are huge), stack, heap */
#define SMALL_THREAD_BYTES (2 * MIB)     /* the same for one that runs small work */
#define CONNECTION_BYTES (LIMIT_HEAD_BYTES + LIMIT_UNSENT_BYTES)
#define KERNEL_MEMORY_PART 20 /* a twentieth: tables of pages, and what the kernel books */

#define SHARED_MEMORY_PERCENT 60   /* at the most of a machine's memory, which others need, too */
#define REQUESTS_MEMORY_PART 4     /* at least a quarter of the memory is for requests, however many threads there are */
#define CONNECTIONS_MEMORY_PART 10 /* connections may hold a tenth */
#define CONNECTIONS_LEAST ((size_t)4)
#define REQUEST_MEMORY_BYTES_LEAST ((size_t)64 * 1024)
#define SMALL_MEMORY_PART 16 /* of the memory, for small requests */
#define SMALL_MEMORY_BYTES_MAX (64 * MIB)
/* listening, epoll, standard streams, connections beyond the maximum, those that linger after a refusal */
#define FILES_BESIDES_CONNECTIONS (80 + LIMIT_OVERFLOW_CONNECTIONS)

static size_t number_or(size_t given, size_t otherwise)
{
    return given != 0 ? given : otherwise;
}

/* The memory for requests: what the machine allows, less what the process takes besides. On N threads up to N
 * large requests, the pool's N - 1 threads, and N small requests compute at once. */
static size_t default_memory_bytes(const struct options *options, const struct machine *machine)
{
    size_t all = machine->memory_bytes;
    size_t besides = PROCESS_BYTES + (2 * options->threads - 1) * COMPUTING_THREAD_BYTES +
                     options->threads * SMALL_THREAD_BYTES +
                     (options->connections_max + LIMIT_OVERFLOW_CONNECTIONS) * CONNECTION_BYTES + all / KERNEL_MEMORY_PART;
    size_t least = size_max(all / REQUESTS_MEMORY_PART, MIB);
    size_t most = machine->memory_is_shared ? all / 100 * SHARED_MEMORY_PERCENT : all;
    return size_max(least, size_min(most, besides < all ? all - besides : 0));
}

/* What small requests get of the memory, where it is not asked for by name: at most half of what there is beside `taken`. */
static size_t small_part(size_t memory, size_t taken)
{
    return size_min(size_min(memory / SMALL_MEMORY_PART, SMALL_MEMORY_BYTES_MAX), (memory - taken) / 2);
}

/* A body and a computation of the largest size must fit into the memory together (see budget.h). */
static bool resolve_memory(struct options *options, const struct machine *machine, struct error *err)
{
    options->memory_bytes_max = number_or(options->memory_bytes_max, default_memory_bytes(options, machine));
    size_t memory = options->memory_bytes_max;
    size_t body = options->body_bytes_max, request = options->request_memory_bytes_max;
    if (size_add(body, REQUEST_MEMORY_BYTES_LEAST) > memory)
        return error_set(err, ERROR_INVALID, "--max-body %zu leaves nothing of --memory %zu to compute with", body, memory);
    if (request >= memory)
        return error_set(err, ERROR_INVALID, "--max-request-memory %zu leaves nothing of --memory %zu for bodies", request,
                         memory);
    /* Two of the largest bodies fit, so that one slow upload does not keep out all others. */
    size_t bodies = body != 0 ? size_max(body, size_min(2 * body, memory / 2)) : memory / 2;
    request = number_or(request, size_min(2 * GIB, memory - bodies - small_part(memory, bodies)));
    body = number_or(body, size_min(256 * MIB, memory - request - small_part(memory, request)));
    if (size_add(body, request) > memory)
        return error_set(err, ERROR_INVALID,
                         "--max-body %zu and --max-request-memory %zu do not fit into --memory %zu together", body, request,
                         memory);
    options->body_bytes_max = body;
    options->request_memory_bytes_max = request;
    size_t small = size_min(small_part(memory, 0), memory - body - request);
    options->large_memory_bytes = memory - small;
    options->small_memory_bytes = LIMIT_SMALL_MEMORY_BYTES + small;
    return true;
}

static bool resolve_connections(struct options *options, const struct machine *machine, struct error *err)
{
    size_t fit = machine->memory_bytes / CONNECTIONS_MEMORY_PART / CONNECTION_BYTES;
    bool given = options->connections_max != 0;
    options->connections_max = number_or(options->connections_max, size_max(CONNECTIONS_LEAST, size_min(1024, fit)));

    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0)
        return true;
    rlim_t needed = (rlim_t)options->connections_max + FILES_BESIDES_CONNECTIONS;
    if (files.rlim_cur == RLIM_INFINITY || files.rlim_cur >= needed)
        return true;
    files.rlim_cur = files.rlim_max == RLIM_INFINITY || files.rlim_max >= needed ? needed : files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= needed)
        return true;
    if (given || files.rlim_cur < FILES_BESIDES_CONNECTIONS + CONNECTIONS_LEAST) {
        size_t connections = given ? options->connections_max : CONNECTIONS_LEAST;
        return error_set(err, ERROR_INVALID, "--max-connections %zu needs %zu open files, the system allows %llu", connections,
                         connections + FILES_BESIDES_CONNECTIONS, (unsigned long long)files.rlim_cur);
    }
    options->connections_max = (size_t)files.rlim_cur - FILES_BESIDES_CONNECTIONS;
    return true;
}

/* What the process would be killed for, sooner or later, is not begun. */
static bool check_machine(const struct options *options, const struct machine *machine, struct error *err)
{
    size_t connections = size_multiply(options->connections_max, CONNECTION_BYTES);
    if (size_add(options->memory_bytes_max, connections) <= machine->memory_bytes)
        return true;
    return error_set(
        err, ERROR_INVALID,
        "--memory %zu and %zu bytes for --max-connections %zu are more than the %zu bytes of memory there are (%s)",
        options->memory_bytes_max, connections, options->connections_max, machine->memory_bytes, machine->memory_from);
}

static bool resolve_log_format(struct options *options, struct error *err)
{
    const char *name = options->log_format_name != NULL ? options->log_format_name : "text";
    options->log_format = strcmp(name, "json") == 0 ? LOG_JSON : LOG_TEXT;
    if (options->log_format == LOG_TEXT && strcmp(name, "text") != 0)
        return error_set(err, ERROR_INVALID, "--log-format: \"%s\" is neither text nor json", name);
    return true;
}

/* --once=PATH is answered by the protocol of that path. */
static bool resolve_once(struct options *options, struct error *err)
{
    const char *path =
        options->once_path != NULL && options->once_path[0] != '\0' ? options->once_path : api_protocol_attention.name;
    if (options->once_path == NULL && (options->content_type != NULL || options->accept != NULL))
        return error_set(err, ERROR_INVALID, "%s is for --once", options->accept != NULL ? "--accept" : "--content-type");
    for (size_t i = 0; i < API_PROTOCOL_COUNT && options->once_path != NULL; i++) {
        options->once = api_protocols[i];
        if (strcmp(path, options->once->name) == 0)
            return true;
    }
    if (options->once_path == NULL)
        return true;
    return error_set(err, ERROR_INVALID, "--once: nothing computes at \"%s\"; as %s does", path, api_protocol_attention.name);
}

static bool resolve_socket_mode(struct options *options, struct error *err)
{
    enum { MODE_DIGITS_MAX = 4, MODE_MAX = 0777 };
    const char *text = options->socket_mode_text != NULL ? options->socket_mode_text : OPTIONS_SOCKET_MODE_DEFAULT;
    size_t length = strlen(text);
    unsigned long mode = strtoul(text, NULL, 8);
    if (length > MODE_DIGITS_MAX || strspn(text, "01234567") != length || mode > MODE_MAX)
        return error_set(err, ERROR_INVALID, "--socket-mode: \"%s\" is not an octal mode from 0 to 0777, as 0660", text);
    options->socket_mode = (mode_t)mode;
    return true;
}

static bool resolve_log_level(struct options *options, struct error *err)
{
    const char *name = options->log_level_name != NULL ? options->log_level_name : log_level_names[LOG_INFO];
    for (size_t i = 0; i < LOG_LEVELS; i++) {
        options->log_level = (enum log_level)i;
        if (strcmp(name, log_level_names[i]) == 0)
            return true;
    }
    return error_set(err, ERROR_INVALID, "--log-level: \"%s\" is neither info, warning nor error", name);
}

static bool resolve_gzip(struct options *options, struct error *err)
{
    static const char *const names[] = {[OPTIONS_GZIP_JSON] = "json", [OPTIONS_GZIP_ALL] = "all", [OPTIONS_GZIP_OFF] = "off"};
    const char *name = options->gzip_name != NULL ? options->gzip_name : names[OPTIONS_GZIP_JSON];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        options->gzip = (enum options_gzip)i;
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return error_set(err, ERROR_INVALID, "--gzip: \"%s\" is neither json, all nor off", name);
}

/* The origin goes into a header as it is. */
static bool check_cors_origin(const struct options *options, struct error *err)
{
    const char *origin = options->cors_origin;
    if (origin == NULL || strcmp(origin, "*") == 0)
        return true;
    for (const char *c = origin; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == ',')
            return error_set(err, ERROR_INVALID, "--cors-origin takes one origin, as https://example.org, or *");
    const char *host = strstr(origin, "://");
    bool lower_case =
        strpbrk(origin, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == NULL; /* browsers send it so, and it is compared as it is */
    if (host == NULL || host[3] == '\0' || strpbrk(host + 3, "/?#@") != NULL || !lower_case)
        return error_set(err, ERROR_INVALID,
                         "--cors-origin: \"%s\" is no origin: https://example.org, in small letters and without a path",
                         origin);
    return true;
}

/* `make` puts the page beside the program, `make install` where data goes. */
static void find_web_root(struct options *options)
{
    static const char *const places[] = {"web", "../share/attnd/web"};
    char *path = options->web_root_found, program[OPTIONS_PATH_BYTES_MAX], page[OPTIONS_PATH_BYTES_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return;
    program[length] = '\0';
    const char *slash = strrchr(program, '/');
    int folder_length = slash != NULL ? (int)(slash - program) : 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int needed = snprintf(page, sizeof page, "%.*s/%s/index.html", folder_length, program, places[i]);
        if (needed < 0 || (size_t)needed >= sizeof page || access(page, R_OK) != 0)
            continue;
        (void)snprintf(path, sizeof options->web_root_found, "%.*s/%s", folder_length, program, places[i]);
        options->web_root = path;
        return;
    }
}

bool options_resolve(struct options *options, const struct machine *machine, struct error *err)
{
    if (options->listen == NULL)
        options->listen = OPTIONS_LISTEN_DEFAULT;
    options->threads = number_or(options->threads, size_min(1024, machine->cores));
    options->idle_timeout_s = number_or(options->idle_timeout_s, 30);
    options->request_timeout_s = number_or(options->request_timeout_s, 60);
    if (options->web_root == NULL)
        find_web_root(options);
    if (options->tls_priorities == NULL)
        options->tls_priorities = OPTIONS_TLS_PRIORITIES_DEFAULT;
    if ((options->tls_cert_file == NULL) != (options->tls_key_file == NULL))
        return error_set(err, ERROR_INVALID, "--tls-cert and --tls-key need each other");
    if (!resolve_connections(options, machine, err))
        return false;
    options->queue_items_max = number_or(options->queue_items_max, options->connections_max);
    return resolve_memory(options, machine, err) && check_machine(options, machine, err) && resolve_log_format(options, err) &&
           resolve_log_level(options, err) && resolve_gzip(options, err) && resolve_socket_mode(options, err) &&
           resolve_once(options, err) && check_cors_origin(options, err);
}

void options_log(const struct options *options, const struct machine *machine, struct log *log)
{
    log_event(log, LOG_INFO, "attnd %s, kernel %s, on %zu cores (%s) and %zu MiB (%s)", ATTND_VERSION, api_kernel(),
              machine->cores, machine->cores_from, machine->memory_bytes / MIB, machine->memory_from);
    log_event(log, LOG_INFO, "threads %zu, queue %zu, memory %zu, max-request-memory %zu, max-body %zu, max-connections %zu",
              options->threads, options->queue_items_max, options->memory_bytes_max, options->request_memory_bytes_max,
              options->body_bytes_max, options->connections_max);
    log_event(log, LOG_INFO, "request-timeout %zu s, idle-timeout %zu s, keys %s, TLS %s, CORS %s, web root %s",
              options->request_timeout_s, options->idle_timeout_s,
              options->api_key_file != NULL ? "asked for" : "not asked for", options->tls_cert_file != NULL ? "on" : "off",
              options->cors_origin != NULL ? options->cors_origin : "off",
              options->web_root != NULL ? options->web_root : "none");
    if (!api_blas_knows_processor())
        log_event(log, LOG_WARNING,
                  "%s does not know this processor: large projections are slow; OPENBLAS_CORETYPE=Haswell in the "
                  "environment, or SkylakeX with AVX-512, makes them fast",
                  api_blas());
}
