#include "server/telemetry/log_line.h"

#include <string.h>
#include <time.h>

#include "api/json/writer.h"

/* Strings stop short of the buffer's end, so that a truncated line still has its names, its numbers and its end. */
#define LOG_LINE_END_BYTES 8
#define LOG_LINE_STRINGS_BYTES_MAX (LOG_LINE_BYTES_MAX - 1024)
#define LOG_LINE_NUMBER_BYTES_MAX 32

/* Adds the whole of the text, or nothing where it does not fit. */
static void add(struct log_line *line, const char *text, size_t bytes)
{
    if (bytes > sizeof line->text - LOG_LINE_END_BYTES - line->bytes)
        return;
    memcpy(line->text + line->bytes, text, bytes);
    line->bytes += bytes;
}

static void add_text(struct log_line *line, const char *text)
{
    add(line, text, strlen(text));
}

/* \xNN */
static void add_byte(struct log_line *line, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    const char text[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 0xf]};
    add(line, text, sizeof text);
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
            add_text(line, writer_escape(*c, escape));
        else
            add_byte(line, *c);
    }
}

/* `count` digits and what comes behind them. */
static void put_digits(char *at, int value, int count, char behind)
{
    at[count] = behind;
    for (; count > 0; value /= 10)
        at[--count] = (char)('0' + value % 10);
}

/* YYYY-MM-DDTHH:MM:SS.mmmZ; printf and strftime would take longer than a small request's attention. */
static void add_time(struct log_line *line)
{
    struct timespec now;
    struct tm utc;
    char text[24];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    put_digits(text, utc.tm_year + 1900, 4, '-');
    put_digits(text + 5, utc.tm_mon + 1, 2, '-');
    put_digits(text + 8, utc.tm_mday, 2, 'T');
    put_digits(text + 11, utc.tm_hour, 2, ':');
    put_digits(text + 14, utc.tm_min, 2, ':');
    put_digits(text + 17, utc.tm_sec, 2, '.');
    put_digits(text + 20, (int)(now.tv_nsec / 1000000), 3, 'Z');
    add(line, text, sizeof text);
}

const char *const log_level_names[LOG_LEVELS] = {"error", "warning", "info"};

void log_line_begin(struct log_line *line, enum log_format format, enum log_level level, const char *kind)
{
    line->format = format;
    line->bytes = 0;
    add_text(line, format == LOG_JSON ? "{\"time\":\"" : "");
    add_time(line);
    add_text(line, format == LOG_JSON ? "\",\"level\":\"" : " ");
    add_text(line, log_level_names[level]);
    add_text(line, format == LOG_JSON ? "\",\"event\":\"" : " ");
    add_text(line, kind);
    add_text(line, format == LOG_JSON ? "\"" : "");
}

static void add_name(struct log_line *line, const char *name)
{
    add_text(line, line->format == LOG_JSON ? ",\"" : " ");
    add_text(line, name);
    add_text(line, line->format == LOG_JSON ? "\":" : "=");
}

void log_line_string(struct log_line *line, const char *name, const char *value)
{
    add_name(line, name);
    add_text(line, "\"");
    add_escaped(line, value);
    add_text(line, "\"");
}

void log_line_number(struct log_line *line, const char *name, uint64_t value)
{
    char text[LOG_LINE_NUMBER_BYTES_MAX];
    struct writer writer;
    writer_init(&writer, text, sizeof text);
    writer_unsigned(&writer, value);
    add_name(line, name);
    add(line, text, (size_t)(writer.at - text));
}

void log_line_ms(struct log_line *line, const char *name, double value_ms)
{
    char text[LOG_LINE_NUMBER_BYTES_MAX];
    struct writer writer;
    writer_init(&writer, text, sizeof text);
    writer_thousandths(&writer, value_ms);
    add_name(line, name);
    add(line, text, (size_t)(writer.at - text));
}

void log_line_end(struct log_line *line)
{
    const char *end = line->format == LOG_JSON ? "}\n" : "\n";
    memcpy(line->text + line->bytes, end, strlen(end));
    line->bytes += strlen(end);
}
