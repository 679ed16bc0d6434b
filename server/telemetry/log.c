#include "server/telemetry/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/work/sync.h"

#define LOG_BUFFER_BYTES ((size_t)512 * 1024)
#define LOG_GATHER_MS 5  /* the writer waits for more lines, to write them in one call */
#define LOG_STOP_MS 1000 /* how long log_stop waits for a stderr that takes nothing */

/* Lines go into one buffer while the writer empties the other. */
struct log_buffer {
    size_t bytes;
    char text[LOG_BUFFER_BYTES];
};

struct log {
    enum log_format format;
    enum log_level level; /* and more severe ones */
    pthread_t writer;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct log_buffer *filling, *writing;
    uint64_t dropped_count; /* lines since the last that fitted */
    bool writer_waits, stopping;
    struct log_buffer buffers[2];
};

bool log_wants(const struct log *log, enum log_level level)
{
    return level <= log->level;
}

static void write_all(const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(STDERR_FILENO, text, bytes);
        if (written < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = STDERR_FILENO, .events = POLLOUT};
            (void)poll(&room, 1, -1);
        } else if (written < 0 && errno != EINTR) {
            return; /* there is nowhere left to report a broken log */
        } else if (written > 0) {
            text += written;
            bytes -= (size_t)written;
        }
    }
}

/* Adds a whole line, or counts it as dropped. */
static bool append_locked(struct log *log, const struct log_line *line)
{
    struct log_buffer *buffer = log->filling;
    if (line->bytes > sizeof buffer->text - buffer->bytes) {
        log->dropped_count++;
        return false;
    }
    memcpy(buffer->text + buffer->bytes, line->text, line->bytes);
    buffer->bytes += line->bytes;
    return true;
}

static void tell_dropped_locked(struct log *log)
{
    struct log_line line;
    if (log->dropped_count == 0 || !log_wants(log, LOG_WARNING))
        return;
    log_line_begin(&line, log->format, LOG_WARNING, "log");
    log_line_string(&line, "message", "lines were dropped: stderr does not take them fast enough");
    log_line_number(&line, "count", log->dropped_count);
    log_line_end(&line);
    if (append_locked(log, &line))
        log->dropped_count = 0;
}

static void *write_lines(void *argument)
{
    struct log *log = argument;
    sync_lock(&log->mutex);
    for (;;) {
        while (log->filling->bytes == 0 && !log->stopping) {
            log->writer_waits = true;
            (void)pthread_cond_wait(&log->changed, &log->mutex);
            log->writer_waits = false;
        }
        if (log->filling->bytes == 0)
            break;
        if (!log->stopping)
            sync_wait_ms(&log->changed, &log->mutex, LOG_GATHER_MS);
        struct log_buffer *full = log->filling;
        log->filling = log->writing;
        log->writing = full;
        log->filling->bytes = 0;
        tell_dropped_locked(log);
        sync_unlock(&log->mutex);
        write_all(full->text, full->bytes);
        sync_lock(&log->mutex);
    }
    sync_unlock(&log->mutex);
    return NULL;
}

struct log *log_start(enum log_format format, enum log_level level, struct error *err)
{
    struct log *log = malloc(sizeof *log);
    if (log == NULL) {
        (void)error_set(err, ERROR_NO_MEMORY, "no memory for the log");
        return NULL;
    }
    memset(log, 0, offsetof(struct log, buffers)); /* leaves the buffers' pages untouched until there are lines */
    log->format = format;
    log->level = level;
    log->filling = &log->buffers[0];
    log->writing = &log->buffers[1];
    log->filling->bytes = 0;
    log->writing->bytes = 0;
    sync_init(&log->mutex, &log->changed);
    int failure = pthread_create(&log->writer, NULL, write_lines, log);
    if (failure != 0) {
        (void)error_set(err, ERROR_INTERNAL, "cannot start the log's thread: %s", strerrordesc_np(failure));
        sync_done(&log->mutex, &log->changed);
        free(log);
        return NULL;
    }
    (void)pthread_setname_np(log->writer, "attnd-log");
    return log;
}

enum log_format log_format_of(const struct log *log)
{
    return log->format;
}

void log_put(struct log *log, const struct log_line *line)
{
    sync_lock(&log->mutex);
    tell_dropped_locked(log);
    (void)append_locked(log, line);
    if (log->writer_waits)
        (void)pthread_cond_signal(&log->changed);
    sync_unlock(&log->mutex);
}

void log_event(struct log *log, enum log_level level, const char *format, ...)
{
    char message[ERROR_TEXT_BYTES_MAX];
    struct log_line line;
    va_list arguments;
    if (!log_wants(log, level))
        return;
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    log_line_begin(&line, log->format, level, "daemon");
    log_line_string(&line, "message", message);
    log_line_end(&line);
    log_put(log, &line);
}

void log_stop(struct log *log)
{
    struct timespec until;
    if (log == NULL)
        return;
    sync_lock(&log->mutex);
    tell_dropped_locked(log);
    log->stopping = true;
    (void)pthread_cond_signal(&log->changed);
    sync_unlock(&log->mutex);
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += LOG_STOP_MS / 1000;
    if (pthread_timedjoin_np(log->writer, NULL, &until) != 0)
        return; /* the writer is stuck in write and still reads the buffers; the process is about to end */
    sync_done(&log->mutex, &log->changed);
    free(log);
}
