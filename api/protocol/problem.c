#include "api/protocol/problem.h"

#include <inttypes.h>
#include <stddef.h>

#include "api/json/writer.h"
#include "api/protocol/protocol.h"

_Static_assert(PROBLEM_BYTES_MAX >=
                   WRITER_STRING_GROWTH * (ERROR_TEXT_BYTES_MAX + ERROR_POINTER_BYTES_MAX + ERROR_LIMIT_NAME_BYTES_MAX) +
                       2 * WRITER_FORMAT_BYTES_MAX,
               "a problem holds the longest error");

static const struct {
    int status;
    const char *name, *title; /* of the problem's type; of the status (RFC 9110) */
    int retry_after_s;
} problems[] = {
    [ERROR_NONE] = {500, "internal", "Internal Server Error", 0},
    [ERROR_MALFORMED] = {400, "malformed", "Bad Request", 0},
    [ERROR_UNAUTHORIZED] = {401, "unauthorized", "Unauthorized", 0},
    [ERROR_NOT_FOUND] = {404, "not-found", "Not Found", 0},
    [ERROR_METHOD] = {405, "method", "Method Not Allowed", 0},
    [ERROR_TOO_SLOW] = {408, "too-slow", "Request Timeout", 0},
    [ERROR_TOO_LARGE] = {413, "too-large", "Content Too Large", 0},
    [ERROR_HEAD_TOO_LARGE] = {431, "head-too-large", "Request Header Fields Too Large", 0},
    [ERROR_UNSUPPORTED_MEDIA] = {415, "unsupported-media", "Unsupported Media Type", 0},
    [ERROR_INVALID] = {422, "invalid", "Unprocessable Content", 0},
    [ERROR_NO_MEMORY] = {503, "no-memory", "Service Unavailable", 1},
    [ERROR_BUSY] = {503, "busy", "Service Unavailable", 1},
    [ERROR_DEADLINE] = {503, "deadline", "Service Unavailable", 1},
    [ERROR_INTERNAL] = {500, "internal", "Internal Server Error", 0},
};

int problem_status(enum error_code code)
{
    return problems[code].status;
}

int problem_retry_after_s(enum error_code code)
{
    return problems[code].retry_after_s;
}

size_t problem_write(const struct error *err, char *buffer, size_t buffer_bytes)
{
    struct writer writer;
    writer_init(&writer, buffer, buffer_bytes);
    writer_format(&writer,
                  "{\"type\":\"urn:attnd:problem:%s\",\"title\":\"%s\",\"status\":%d,\"detail\":", problems[err->code].name,
                  problems[err->code].title, problems[err->code].status);
    writer_string(&writer, err->text);
    if (err->pointer[0] != '\0') {
        writer_add(&writer, ",\"pointer\":");
        writer_string(&writer, err->pointer);
    }
    if (err->limit_name[0] != '\0') {
        writer_add(&writer, ",\"limit\":{\"name\":");
        writer_string(&writer, err->limit_name);
        writer_format(&writer, ",\"value\":%" PRIu64 "}", err->limit_value);
    }
    writer_add(&writer, "}\n");
    return (size_t)(writer.at - writer.start);
}
