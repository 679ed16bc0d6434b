#include "server/telemetry/access_log.h"

void access_log_write(struct log *log, const struct access_record *record)
{
    struct log_line line;
    log_line_begin(&line, log_format_of(log), "request");
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
    log_line_string(&line, "end", record->end);
    log_line_end(&line);
    log_put(log, &line);
}
