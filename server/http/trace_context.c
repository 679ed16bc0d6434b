#include "server/http/trace_context.h"

#include <stdio.h>
#include <string.h>

#include "server/http/request_id.h"

/* Where the parts of a traceparent begin: version, trace, span, flags. */
enum {
    VERSION_AT = 0,
    TRACE_AT = 3,
    SPAN_AT = TRACE_AT + TRACE_ID_DIGITS + 1,
    FLAGS_AT = SPAN_AT + TRACE_SPAN_ID_DIGITS + 1,
    TRACEPARENT_LENGTH = FLAGS_AT + 2,
};
#define SAMPLED_FLAG 0x01

/* Upper-case digits are malformed. */
static bool are_digits(const char *text, size_t count)
{
    return strspn(text, "0123456789abcdef") >= count;
}

static bool are_zeros(const char *text, size_t count)
{
    return strspn(text, "0") >= count;
}

static int digit_value(char digit)
{
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* A version to come may have more behind what version 00 has, and 'ff' is none. */
static bool is_well_formed(const char *value)
{
    size_t length = strlen(value);
    if (length < TRACEPARENT_LENGTH || value[TRACE_AT - 1] != '-' || value[SPAN_AT - 1] != '-' || value[FLAGS_AT - 1] != '-')
        return false;
    bool version_0 = memcmp(value, "00", 2) == 0;
    if (length > TRACEPARENT_LENGTH && (version_0 || value[TRACEPARENT_LENGTH] != '-'))
        return false;
    return are_digits(value + VERSION_AT, 2) && memcmp(value, "ff", 2) != 0 && are_digits(value + TRACE_AT, TRACE_ID_DIGITS) &&
           are_digits(value + SPAN_AT, TRACE_SPAN_ID_DIGITS) && are_digits(value + FLAGS_AT, 2) &&
           !are_zeros(value + TRACE_AT, TRACE_ID_DIGITS) && !are_zeros(value + SPAN_AT, TRACE_SPAN_ID_DIGITS);
}

static void take_digits(const char *digits, size_t count, char *ret_text)
{
    memcpy(ret_text, digits, count);
    ret_text[count] = '\0';
}

void trace_context_read(const char *traceparent, struct trace_context *ret)
{
    char drawn[REQUEST_ID_BYTES_MAX + 1];
    ret->trace_id[0] = '\0';
    if (traceparent == NULL || !is_well_formed(traceparent))
        return;
    take_digits(traceparent + TRACE_AT, TRACE_ID_DIGITS, ret->trace_id);
    take_digits(traceparent + SPAN_AT, TRACE_SPAN_ID_DIGITS, ret->parent_id);
    ret->sampled = (digit_value(traceparent[FLAGS_AT + 1]) & SAMPLED_FLAG) != 0;
    do {
        request_id_draw(drawn);
        take_digits(drawn, TRACE_SPAN_ID_DIGITS, ret->span_id);
    } while (are_zeros(ret->span_id, TRACE_SPAN_ID_DIGITS));
}

void trace_context_response(const struct trace_context *trace, char ret_value[TRACE_RESPONSE_BYTES_MAX])
{
    (void)snprintf(ret_value, TRACE_RESPONSE_BYTES_MAX, "00-%s-%s-%s", trace->trace_id, trace->span_id,
                   trace->sampled ? "01" : "00");
}
