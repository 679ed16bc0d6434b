/* trace_context.h: the part of a distributed trace that a request is: W3C Trace Context, with the traceresponse of its level 2 draft.
 *
 *   traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01     the trace, the caller's span, flags
 *
 * The request is a span of its own, whose id the log and the reply's traceresponse say. No spans are exported. */
#ifndef ATTND_SERVER_HTTP_TRACE_CONTEXT_H
#define ATTND_SERVER_HTTP_TRACE_CONTEXT_H

#include <stdbool.h>

#define TRACE_ID_DIGITS 32
#define TRACE_SPAN_ID_DIGITS 16
#define TRACE_RESPONSE_BYTES_MAX 56

struct trace_context {
    char trace_id[TRACE_ID_DIGITS + 1];       /* lower-case hexadecimal digits; "" where the request is part of no trace */
    char parent_id[TRACE_SPAN_ID_DIGITS + 1]; /* the caller's span */
    char span_id[TRACE_SPAN_ID_DIGITS + 1];   /* the request */
    bool sampled;                             /* the caller records the trace */
};

/* Reads the header's value, NULL where absent, and draws a span. A malformed value is as none (Trace Context, section 4.3). */
void trace_context_read(const char *traceparent, struct trace_context *ret);

/* The value of the traceresponse header. */
void trace_context_response(const struct trace_context *trace, char ret_value[TRACE_RESPONSE_BYTES_MAX]);

#endif
