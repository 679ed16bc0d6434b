#include "server/http/head.h"

#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/setup/limits.h"

struct head_field {
    const char *name;
    size_t offset; /* in struct head */
};

static const struct head_field fields[] = {
    {"Accept", offsetof(struct head, accept)},
    {"Accept-Encoding", offsetof(struct head, accept_encoding)},
    {"X-API-Key", offsetof(struct head, api_key)},
    {"Authorization", offsetof(struct head, authorization)},
    {"Connection", offsetof(struct head, connection)},
    {"Content-Encoding", offsetof(struct head, content_encoding)},
    {"Content-Length", offsetof(struct head, content_length_text)},
    {"Content-Type", offsetof(struct head, content_type)},
    {"Expect", offsetof(struct head, expect)},
    {"Inference-Header-Content-Length", offsetof(struct head, json_length)},
    {"If-None-Match", offsetof(struct head, if_none_match)},
    {"Origin", offsetof(struct head, origin)},
    {"Access-Control-Request-Method", offsetof(struct head, preflight_method)},
    {"X-Request-Id", offsetof(struct head, request_id)},
    {"traceparent", offsetof(struct head, traceparent)},
    {"Transfer-Encoding", offsetof(struct head, transfer_encoding)},
};

const char head_no_cookie[] = "Cookie";

struct reading {
    struct head *head;
    size_t host_count, header_count;
    bool framed_twice; /* Content-Length or Transfer-Encoding was sent more than once */
    bool misnamed;     /* a header's name holds what no name may */
    bool broken;       /* a header's value holds what no value may */
    bool host_broken;  /* Host is no name, address or port */
};

/* libmicrohttpd accepts any bytes up to the colon for a name; others read "Content-Length :" as Content-Length. */
static bool is_token(const char *name)
{
    size_t length = strspn(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return length > 0 && name[length] == '\0';
}

/* Of a host with its port (RFC 3986, section 3.2.2). */
static bool is_host(const char *value)
{
    size_t length = strspn(value, "-._~%!$&'()*+,;=:[]0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    return value[length + strspn(value + length, " \t")] == '\0';
}

/* ---- bytes that libmicrohttpd hides ---- */

/* libmicrohttpd passes strings, so what follows a NUL would be hidden. But it splits the head in place, writing a NUL over each
 * separator: in a head without a NUL of its own each string begins right behind the end of the one before, with two NULs, CR and LF,
 * where a line ends. A LF alone, which libmicrohttpd accepts and other servers read as part of the line, is one. What goes unseen is a
 * NUL in the place of the CR. */
struct walk {
    const char *at; /* behind the last string and its CR; NULL: something was hidden */
};

static enum MHD_Result walk_field(void *context, enum MHD_ValueKind kind, const char *name, size_t name_bytes,
                                  const char *value, size_t value_bytes)
{
    struct walk *walk = context;
    (void)kind;
    if (name == head_no_cookie)
        return MHD_YES;
    bool follows = walk->at != NULL && name == walk->at + 1 && *walk->at == '\0';
    const char *value_min = name + name_bytes + 1;
    if (!follows || value == NULL || value < value_min || strspn(value_min, " \t") != (size_t)(value - value_min))
        walk->at = NULL;
    else
        walk->at = value + value_bytes + 1;
    return walk->at != NULL ? MHD_YES : MHD_NO;
}

/* The request line: METHOD and blanks, the target, a blank, the version. */
static bool line_is_whole(const struct request_line *line, size_t target_bytes)
{
    const char *method_end = line->method + strlen(line->method);
    if (line->url <= method_end || line->version != line->url + target_bytes + 1)
        return false;
    for (const char *blank = method_end + 1; blank < line->url; blank++)
        if (*blank != ' ')
            return false;
    return true;
}

static bool head_is_whole(struct MHD_Connection *mhd, const struct request_line *line, size_t target_bytes, size_t head_bytes)
{
    struct walk walk = {.at = line->version + strlen(line->version) + 1};
    if (!line_is_whole(line, target_bytes))
        return false;
    (void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, walk_field, &walk);
    const char *end = line->method + head_bytes;
    if (walk.at == NULL || end - walk.at != 3) /* CR LF CR LF without the first */
        return false;
    for (; walk.at < end; walk.at++)
        if (*walk.at != '\0')
            return false;
    return true;
}

/* ---- fields ---- */

/* Blanks at the end are no part of a value, but libmicrohttpd leaves them there, in memory of the connection's own. It has also
 * taken them for a part of it where it looked for chunks, so there they stay. */
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
    reading->broken |= value != NULL && strchr(value, '\r') != NULL;
    reading->header_count++;
    if (strcasecmp(name, "Host") == 0) {
        reading->host_count++;
        reading->host_broken |= value != NULL && !is_host(value);
    }
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

/* True where a list of tokens with commas has this one. */
static bool list_has(const char *list, const char *token)
{
    size_t length = strlen(token);
    while (list != NULL && *list != '\0') {
        list += strspn(list, " \t,");
        size_t next = strcspn(list, " \t,");
        if (next == length && strncasecmp(list, token, length) == 0)
            return true;
        list += next;
    }
    return false;
}

static bool check(const struct reading *reading, const struct request_line *line, struct error *err)
{
    const struct head *head = reading->head;
    for (const char *c = line->url; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || *c == 0x7f)
            return error_set(err, ERROR_MALFORMED, "the request's target holds a blank or a control character");
    if (reading->misnamed)
        return error_set(err, ERROR_MALFORMED, "a header's name holds a blank or another byte that no name may hold");
    if (reading->broken)
        return error_set(err, ERROR_MALFORMED, "a header's value holds a carriage return");
    if (reading->host_count == 0 && head->http_1_1)
        return error_set(err, ERROR_MALFORMED, "Host is missing, which every request in HTTP/1.1 has");
    if (reading->host_count > 1)
        return error_set(err, ERROR_MALFORMED, "Host was sent more than once");
    if (reading->host_broken)
        return error_set(err, ERROR_MALFORMED, "Host holds what is in no name or address of a host");
    if (reading->framed_twice)
        return error_set(err, ERROR_MALFORMED, "Content-Length or Transfer-Encoding was sent more than once");
    if (head->transfer_encoding != NULL && head->content_length_text != NULL)
        return error_set(err, ERROR_MALFORMED, "Content-Length and Transfer-Encoding exclude each other");
    if (head->transfer_encoding != NULL && strcasecmp(head->transfer_encoding, "chunked") != 0)
        return error_set(err, ERROR_MALFORMED, "of the transfer encodings only chunked is known here");
    return true;
}

static bool fits(const struct reading *reading, size_t head_bytes, struct error *err)
{
    size_t used_bytes = head_bytes + reading->header_count * LIMIT_HEAD_BYTES_PER_HEADER;
    if (used_bytes <= LIMIT_HEAD_USED_BYTES_MAX)
        return true;
    return error_set(
        err, ERROR_HEAD_TOO_LARGE,
        "the request line and %zu headers take %zu bytes, %zu of them added for each header, where %zu are allowed",
        reading->header_count, used_bytes, LIMIT_HEAD_BYTES_PER_HEADER, LIMIT_HEAD_USED_BYTES_MAX);
}

bool head_read(struct MHD_Connection *mhd, const struct request_line *line, size_t target_bytes, struct head *ret,
               struct error *err)
{
    struct reading reading = {.head = ret};
    *ret = (struct head){.http_1_1 = strcmp(line->version, "HTTP/1.0") != 0};
    const union MHD_ConnectionInfo *size = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    size_t head_bytes = size != NULL ? size->header_size : 0;
    bool whole = head_is_whole(mhd, line, target_bytes, head_bytes);
    (void)MHD_get_connection_values(mhd, MHD_HEADER_KIND, read_field, &reading);
    ret->has_body = ret->transfer_encoding != NULL;
    ret->expects_continue = ret->http_1_1 && ret->expect != NULL && strcasecmp(ret->expect, "100-continue") == 0;
    ret->wants_close = list_has(ret->connection, "close") || (!ret->http_1_1 && !list_has(ret->connection, "keep-alive"));
    if (ret->content_length_text != NULL) {
        ret->length_known = true;
        ret->body_bytes = strtoull(ret->content_length_text, NULL, 10); /* libmicrohttpd has refused what is no number */
        ret->has_body = ret->has_body || ret->body_bytes > 0;
    }
    if (!whole)
        return error_set(
            err, ERROR_MALFORMED,
            "the request's head holds a NUL, a line that does not end in CR LF, a header without a name, or one that goes "
            "on in the next line");
    return check(&reading, line, err) && fits(&reading, head_bytes, err);
}

bool head_check_length(struct MHD_Connection *mhd, size_t body_bytes_max, struct error *err)
{
    const char *length = MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    if (length == NULL)
        return true;
    if (length[0] == '\0' || length[strspn(length, "0123456789")] != '\0')
        return error_set(err, ERROR_MALFORMED,
                         "Content-Length is not a number of bytes, written in digits without blanks behind them");
    errno = 0;
    if (strtoull(length, NULL, 10) == ULLONG_MAX && errno == ERANGE)
        return error_set_limit(err, "max-body", body_bytes_max, "the body has %.40s bytes, at most %zu are read", length,
                               body_bytes_max);
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
