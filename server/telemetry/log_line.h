/* log_line.h: composes one log line in a buffer of fixed size; a line that does not fit is truncated. */
#ifndef ATTND_SERVER_TELEMETRY_LOG_LINE_H
#define ATTND_SERVER_TELEMETRY_LOG_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_BYTES_MAX 4096

enum log_format { LOG_TEXT, LOG_JSON };

enum log_level {
    LOG_ERROR, /* a bug, or what keeps the daemon from its work */
    LOG_WARNING, /* the daemon did not do what it was asked to: a request refused for want of capacity, a file that cannot be read */
    LOG_INFO, /* all else: each request */
    LOG_LEVELS,
};
extern const char *const log_level_names[LOG_LEVELS];

struct log_line {
    enum log_format format;
    size_t bytes;
    char text[LOG_LINE_BYTES_MAX];
};

/* Starts a line with the time, its level and its kind. */
void log_line_begin(struct log_line *line, enum log_format format, enum log_level level, const char *kind);

/* Adds a name and its value. Strings are quoted; everything but printable ASCII is escaped. */
void log_line_string(struct log_line *line, const char *name, const char *value);
void log_line_number(struct log_line *line, const char *name, uint64_t value);
void log_line_ms(struct log_line *line, const char *name, double value_ms);

/* Ends the line with a newline. */
void log_line_end(struct log_line *line);

#endif
