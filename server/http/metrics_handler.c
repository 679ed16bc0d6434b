#include "server/http/metrics_handler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/arena.h"
#include "server/http/service.h"
#include "server/telemetry/metrics.h"
#include "server/work/sync.h"

/* 0 where the system does not say. */
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

void metrics_handler(struct service *service, struct api_call *call)
{
    const struct options *options = service->options;
    const struct budget_usage memory = budget_usage(&service->budget);
    struct metrics_gauges gauges = {
        .version = ATTND_VERSION,
        .kernel = api_kernel(),
        .threads = options->threads,
        .connections = atomic_load(&service->connection_count),
        .connections_max = options->connections_max,
        .queued = queue_length(&service->queue),
        .queued_max = options->queue_items_max,
        .waiting_for_memory = memory.waiting,
        .working = atomic_load(&service->work_count),
        .bodies_bytes = memory.bodies_bytes,
        .grants_bytes = memory.grants_bytes,
        .memory_bytes_max = options->memory_bytes_max,
        .ready = !atomic_load(&service->unready),
        .cpu_s = cpu_s(),
        .resident_bytes = resident_bytes(),
        .started_s = service->started_s,
    };
    sync_lock(&service->mutex);
    const struct metrics metrics = service->metrics;
    gauges.connections_made_room = service->made_room_count;
    sync_unlock(&service->mutex);
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
        .body_bytes = metrics_write(&metrics, &gauges, &service->statistics[api_protocol_index(&api_protocol_kserve)], text),
    };
}
