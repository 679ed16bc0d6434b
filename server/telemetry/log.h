/* log.h: lines about requests and about the daemon, on stderr, as text or as one JSON object a line.
 *
 * Logging only copies a line into a buffer; a dedicated thread writes. When stderr cannot keep up, lines are dropped and
 * their number is logged: a slow reader of the log never slows a request. What a client sent is escaped, so that it can
 * neither forge a line nor break one.
 *
 * Threads  log_put and log_event from any thread. */
#ifndef ATTND_SERVER_TELEMETRY_LOG_H
#define ATTND_SERVER_TELEMETRY_LOG_H

#include "core/error.h"
#include "server/telemetry/log_line.h"

struct log;

/* New; NULL on failure. */
struct log *log_start(enum log_format format, enum log_level level, struct error *err) __attribute__((warn_unused_result));

enum log_format log_format_of(const struct log *log);

/* True where lines of that level are written. */
bool log_wants(const struct log *log, enum log_level level);

/* Takes a copy of a finished line. */
void log_put(struct log *log, const struct log_line *line);

/* A line about the daemon itself. */
void log_event(struct log *log, enum log_level level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Writes what is left, for at most a second, and frees. NULL-safe. */
void log_stop(struct log *log);

#endif
