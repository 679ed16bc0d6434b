#include "server/telemetry/log_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/json/writer.h"

/* Strings stop short of the buffer's end, so that a truncated line still has its names, its numbers and its end. */
#define LOG_LINE_END_BYTES 8
#define LOG_LINE_STRINGS_BYTES_MAX (LOG_LINE_BYTES_MAX - 1024)

static void add(struct log_line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds the whole of the text, or nothing where it does not fit. */
static void add(struct log_line *line, const char *format, ...)
{
    size_t room = sizeof line->text - LOG_LINE_END_BYTES - line->bytes;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->bytes, room, format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < room)
        line->bytes += (size_t)length;
}

static void add_escaped(struct log_line *line, const char *value)
{
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++) {
        if (line->bytes >= LOG_LINE_STRINGS_BYTES_MAX)
            return;
        char escape[WRITER_ESCAPE_BYTES_MAX];
        bool printable = *c >= 0x20 && *c < 0x7f;
        if (printable && *c != '"' && *c != '\\')
            line->text[line->bytes++] = (char)*c;
        else if (printable || line->format == LOG_JSON)
            add(line, "%s", writer_escape(*c, escape));
        else
            add(line, "\\x%02x", *c);
    }
}

void log_line_begin(struct log_line *line, enum log_format format, const char *kind)
{
    struct timespec now;
    struct tm utc;
    char day[32];
    line->format = format;
    line->bytes = 0;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    add(line, format == LOG_JSON ? "{\"time\":\"%s.%03ldZ\",\"event\":\"%s\"" : "%s.%03ldZ %s", day, now.tv_nsec / 1000000,
        kind);
}

static void add_name(struct log_line *line, const char *name)
{
    add(line, line->format == LOG_JSON ? ",\"%s\":" : " %s=", name);
}

void log_line_string(struct log_line *line, const char *name, const char *value)
{
    add_name(line, name);
    add(line, "\"");
    add_escaped(line, value);
    add(line, "\"");
}

void log_line_number(struct log_line *line, const char *name, uint64_t value)
{
    add_name(line, name);
    add(line, "%" PRIu64, value);
}

void log_line_ms(struct log_line *line, const char *name, double value_ms)
{
    add_name(line, name);
    add(line, "%.3f", value_ms);
}

void log_line_end(struct log_line *line)
{
    int length = snprintf(line->text + line->bytes, LOG_LINE_END_BYTES, line->format == LOG_JSON ? "}\n" : "\n");
    line->bytes += (size_t)length;
}
