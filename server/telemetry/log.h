/* log.h: lines about requests and about the daemon, to stderr, as text or as one JSON object a line.
 *
 * Whoever logs only copies the line into a buffer; a thread of its own writes. Where stderr does not take the lines as
 * fast as they come, lines are dropped and their number is logged: a slow reader of the log never slows a request.
 * What a client sent is escaped, so that it can neither forge a line nor break one.
 *
 * Threads  log_event and log_request from any thread. */
#ifndef ATTND_SERVER_TELEMETRY_LOG_H
#define ATTND_SERVER_TELEMETRY_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

enum log_format { LOG_TEXT, LOG_JSON };

struct log;

/* What one request's line says. Strings are borrowed for the call. */
struct log_request {
    const char *method, *path, *id;
    unsigned status; /* 0: nothing was replied */
    uint64_t bytes_in, bytes_out;
    double receive_ms, queue_ms, parse_ms, compute_ms, encode_ms, send_ms, total_ms;
    const char *end; /* how it ended: "ok" once the whole reply was handed to the system, else why not */
};

/* New; NULL on failure. */
struct log *log_start(enum log_format format, struct error *err) __attribute__((warn_unused_result));

void log_event(struct log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_request(struct log *log, const struct log_request *request);

/* Writes what is left, for at most a second, and frees. NULL-safe. */
void log_stop(struct log *log);

#endif
