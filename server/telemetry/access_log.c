#include "server/telemetry/access_log.h"

#include <string.h>

/* What the client did is nothing to worry about; what the daemon did not do is. */
static enum log_level level_of(const struct access_record *record)
{
    if (record->status == 500)
        return LOG_ERROR;
    return record->status > 500 || strcmp(record->end, "no memory") == 0 ? LOG_WARNING : LOG_INFO;
}

void access_log_write(struct log *log, const struct access_record *record)
{
    struct log_line line;
    enum log_level level = level_of(record);
    if (!log_wants(log, level))
        return;
    log_line_begin(&line, log_format_of(log), level, "request");
    log_line_string(&line, "method", record->method);
    log_line_string(&line, "path", record->path);
    log_line_number(&line, "status", record->status);
    log_line_number(&line, "bytes_in", record->bytes_in);
    log_line_number(&line, "bytes_out", record->bytes_out);
    log_line_ms(&line, "receive_ms", record->receive_ms);
    log_line_ms(&line, "queue_ms", record->queue_ms);
    log_line_ms(&line, "parse_ms", record->parse_ms);
    log_line_ms(&line, "compute_ms", record->compute_ms);
    log_line_ms(&line, "encode_ms", record->encode_ms);
    log_line_ms(&line, "send_ms", record->send_ms);
    log_line_ms(&line, "total_ms", record->total_ms);
    log_line_string(&line, "request_id", record->id);
    if (record->trace_id != NULL && record->trace_id[0] != '\0') {
        log_line_string(&line, "trace_id", record->trace_id);
        log_line_string(&line, "parent_id", record->parent_id);
        log_line_string(&line, "span_id", record->span_id);
    }
    log_line_string(&line, "end", record->end);
    log_line_end(&line);
    log_put(log, &line);
}
