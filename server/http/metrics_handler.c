#include "server/http/metrics_handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/arena.h"
#include "server/http/daemon.h"
#include "server/telemetry/metrics.h"

/* 0 where the system does not tell. */
static size_t resident_bytes(void)
{
    char line[256] = "";
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL)
        return 0;
    bool read = fgets(line, sizeof line, file) != NULL;
    (void)fclose(file);
    const char *second = read ? strchr(line, ' ') : NULL; /* the first number is of addresses, the second of pages in RAM */
    return second != NULL ? (size_t)strtoull(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE) : 0;
}

static double seconds(const struct timeval *time)
{
    return (double)time->tv_sec + (double)time->tv_usec / 1e6;
}

static double cpu_s(void)
{
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage);
    return seconds(&usage.ru_utime) + seconds(&usage.ru_stime);
}

void metrics_handler(struct daemon *daemon, struct api_call *call)
{
    const struct options *options = daemon->options;
    struct metrics_now now = {
        .version = ATTND_VERSION,
        .kernel = api_kernel(),
        .threads = options->threads,
        .connections = daemon->connection_count,
        .connections_max = options->connections_max,
        .queued = queue_length(&daemon->queue),
        .queued_max = options->queue_items_max,
        .working = atomic_load(&daemon->work_count),
        .memory_bytes_max = options->memory_bytes_max,
        .ready = !daemon_is_draining(daemon),
        .cpu_s = cpu_s(),
        .resident_bytes = resident_bytes(),
        .started_s = daemon->started_s,
    };
    budget_usage(&daemon->budget, &now.bodies_bytes, &now.grants_bytes);

    struct error err = {0};
    arena_init(&call->arena, arena_cost(METRICS_BYTES_MAX));
    char *text = arena_alloc(&call->arena, METRICS_BYTES_MAX, &err);
    if (text == NULL) {
        api_problem(&err, NULL, call);
        return;
    }
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = METRICS_TYPE,
        .body = text,
        .body_bytes = metrics_write(&daemon->metrics, &now, text),
    };
}
