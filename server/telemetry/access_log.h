/* access_log.h: one line for every request, once it has ended. */
#ifndef ATTND_SERVER_TELEMETRY_ACCESS_LOG_H
#define ATTND_SERVER_TELEMETRY_ACCESS_LOG_H

#include <stdint.h>

#include "api/api.h"
#include "server/telemetry/log.h"

/* What is recorded of a request. Strings are borrowed for the call. */
struct access_record {
    const char *method, *path, *id;
    const char *trace_id, *parent_id, *span_id; /* "" or NULL where the request is part of no trace */
    unsigned status;                            /* 0: no reply */
    enum api_verdict verdict;                   /* of a comparison */
    uint64_t bytes_in, bytes_out;
    double receive_ms, queue_ms, parse_ms, compute_ms, encode_ms, send_ms, total_ms;
    const char *end; /* "ok" once the system has taken the whole reply, else why not */
};

void access_log_write(struct log *log, const struct access_record *record);

#endif
