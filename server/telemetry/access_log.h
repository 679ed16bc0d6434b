/* log_line.h: puts one log line together in a buffer of fixed size; what does not fit is cut. */
#ifndef ATTND_SERVER_TELEMETRY_ACCESS_LOG_H
#define ATTND_SERVER_TELEMETRY_ACCESS_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "server/telemetry/log.h"

#define LOG_LINE_BYTES_MAX 4096

struct log_line {
    enum log_format format;
    size_t bytes;
    char text[LOG_LINE_BYTES_MAX];
};

/* A line that begins with the time and what kind of line it is. */
void log_line_begin(struct log_line *line, enum log_format format, const char *kind);

/* Adds name and value. A string's value is quoted, and all but printable ASCII in it escaped. */
void log_line_string(struct log_line *line, const char *name, const char *value);
void log_line_number(struct log_line *line, const char *name, uint64_t value);
void log_line_ms(struct log_line *line, const char *name, double value_ms);

/* Ends the line, newline included. */
void log_line_end(struct log_line *line);

#endif
