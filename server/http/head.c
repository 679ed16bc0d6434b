#include "server/http/head.h"

#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct head_field {
    const char *name;
    size_t offset; /* in struct head */
};

static const struct head_field fields[] = {
    {"Accept", offsetof(struct head, accept)},
    {"Accept-Encoding", offsetof(struct head, accept_encoding)},
    {"X-API-Key", offsetof(struct head, api_key)},
    {"Authorization", offsetof(struct head, authorization)},
    {"Content-Encoding", offsetof(struct head, content_encoding)},
    {"Content-Length", offsetof(struct head, content_length_text)},
    {"Content-Type", offsetof(struct head, content_type)},
    {"Expect", offsetof(struct head, expect)},
    {"Inference-Header-Content-Length", offsetof(struct head, json_length)},
    {"If-None-Match", offsetof(struct head, if_none_match)},
    {"Origin", offsetof(struct head, origin)},
    {"Access-Control-Request-Method", offsetof(struct head, preflight_method)},
    {"X-Request-Id", offsetof(struct head, request_id)},
    {"Transfer-Encoding", offsetof(struct head, transfer_encoding)},
};

struct reading {
    struct head *head;
    size_t host_count;
    bool framed_twice; /* Content-Length or Transfer-Encoding was sent more than once */
    bool misnamed;     /* a header's name holds what no name may */
};

/* libmicrohttpd takes any bytes up to the colon for a name; others read "Content-Length :" as Content-Length. */
static bool is_token(const char *name)
{
    size_t length = strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return length > 0 && name[length] == '\0';
}

/* Blanks at the end are no part of a value, but libmicrohttpd leaves them there, in memory of the connection's own. It has also
 * left them out of account where it looked for chunks, so there they stay. */
static void trim(const char *value)
{
    char *end = (char *)value + strlen(value);
    while (end > value && (end[-1] == ' ' || end[-1] == '\t'))
        *--end = '\0';
}

/* Of a header sent twice the first counts. */
static enum MHD_Result read_field(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    struct reading *reading = context;
    (void)kind;
    reading->misnamed |= !is_token(name);
    reading->host_count += strcasecmp(name, "Host") == 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcasecmp(name, fields[i].name) != 0)
            continue;
        const char **field = (const char **)((char *)reading->head + fields[i].offset);
        bool framing = field == &reading->head->content_length_text || field == &reading->head->transfer_encoding;
        reading->framed_twice |= framing && *field != NULL;
        if (*field == NULL)
            *field = value != NULL ? value : "";
        if (value != NULL && field != &reading->head->transfer_encoding)
            trim(value);
        break;
    }
    return MHD_YES;
}

bool head_read(struct MHD_Connection *mhd, const char *version, struct head *ret, struct error *err)
{
    struct reading reading = {.head = ret};
    *ret = (struct head){.http_1_1 = strcmp(version, "HTTP/1.0") != 0};
    (void)MHD_get_connection_values(mhd, MHD_HEADER_KIND, read_field, &reading);
    ret->has_body = ret->transfer_encoding != NULL;
    ret->expects_continue = ret->http_1_1 && ret->expect != NULL && strcasecmp(ret->expect, "100-continue") == 0;
    if (ret->content_length_text != NULL) {
        ret->length_known = true;
        ret->body_bytes = strtoull(ret->content_length_text, NULL, 10); /* libmicrohttpd has refused what is no number */
        ret->has_body = ret->has_body || ret->body_bytes > 0;
    }
    if (reading.misnamed)
        return error_set(err, ERROR_MALFORMED, "a header's name holds a blank or another byte that no name may hold");
    if (reading.host_count > 1)
        return error_set(err, ERROR_MALFORMED, "Host was sent more than once");
    if (reading.framed_twice)
        return error_set(err, ERROR_MALFORMED, "Content-Length or Transfer-Encoding was sent more than once");
    if (ret->transfer_encoding != NULL && ret->content_length_text != NULL)
        return error_set(err, ERROR_MALFORMED, "Content-Length and Transfer-Encoding exclude each other");
    if (ret->transfer_encoding != NULL && strcasecmp(ret->transfer_encoding, "chunked") != 0)
        return error_set(err, ERROR_MALFORMED, "of the transfer encodings only chunked is known here");
    return true;
}

bool head_key(const struct head *head, const char **ret_key)
{
    static const char scheme[] = "Bearer ";
    *ret_key = NULL;
    if (head->api_key != NULL)
        *ret_key = head->api_key;
    else if (head->authorization != NULL && strncasecmp(head->authorization, scheme, sizeof scheme - 1) == 0)
        *ret_key = head->authorization + sizeof scheme - 1 + strspn(head->authorization + sizeof scheme - 1, " ");
    return *ret_key != NULL;
}
