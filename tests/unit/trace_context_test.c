/* trace_context_test.c: which traceparents are read, by the examples of W3C Trace Context and what they leave out. */
#include "server/http/trace_context.h"

#include <string.h>

#include "tests/support/check.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static void test_well_formed(void **state)
{
    static const struct {
        const char *value;
        bool sampled;
    } cases[] = {
        {"00-" TRACE "-" SPAN "-01", true},   {"00-" TRACE "-" SPAN "-00", false},
        {"00-" TRACE "-" SPAN "-02", false},  {"00-" TRACE "-" SPAN "-ff", true},
        {"01-" TRACE "-" SPAN "-01", true},   {"01-" TRACE "-" SPAN "-01-more of it", true},
        {"fe-" TRACE "-" SPAN "-00-", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_context trace;
        char response[TRACE_RESPONSE_BYTES_MAX], end[] = "-00";
        trace_context_read(cases[i].value, &trace);
        assert_string_equal(trace.trace_id, TRACE);
        assert_string_equal(trace.parent_id, SPAN);
        assert_int_equal(trace.sampled, cases[i].sampled);
        assert_int_equal(strspn(trace.span_id, "0123456789abcdef"), TRACE_SPAN_ID_DIGITS);
        assert_string_not_equal(trace.span_id, SPAN);
        trace_context_response(&trace, response);
        end[2] = cases[i].sampled ? '1' : '0';
        assert_int_equal(strlen(response), TRACE_RESPONSE_BYTES_MAX - 1);
        assert_int_equal(strncmp(response, "00-" TRACE "-", 36), 0);
        assert_int_equal(strncmp(response + 36, trace.span_id, TRACE_SPAN_ID_DIGITS), 0);
        assert_string_equal(response + 52, end);
    }
}

static void test_malformed(void **state)
{
    static const char *const cases[] = {
        NULL,
        "",
        "00",
        "00-" TRACE "-" SPAN,
        "00-" TRACE "-" SPAN "-",
        "00-" TRACE "-" SPAN "-1",
        "00-" TRACE "-" SPAN "-01-more",
        "00-" TRACE "-" SPAN "-011",
        "01-" TRACE "-" SPAN "-01more",
        "ff-" TRACE "-" SPAN "-01",
        "0x-" TRACE "-" SPAN "-01",
        "00-00000000000000000000000000000000-" SPAN "-01",
        "00-" TRACE "-0000000000000000-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01",
        "00-" TRACE "-00f067aa0ba902bg-01",
        "00_" TRACE "-" SPAN "-01",
        "00-" TRACE "_" SPAN "-01",
        "00-" TRACE "-" SPAN "_01",
        "00-" TRACE "-" SPAN "-0 ",
        " 00-" TRACE "-" SPAN "-01",
        "00-4bf92f3577b34da6-" SPAN "-01--------------------",
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct trace_context trace = {.trace_id = "left over"};
        trace_context_read(cases[i], &trace);
        if (trace.trace_id[0] != '\0')
            fail_msg("\"%s\" was read", cases[i]);
    }
}

/* Each request is a span of its own. */
static void test_spans_differ(void **state)
{
    struct trace_context first, second;
    (void)state;
    trace_context_read("00-" TRACE "-" SPAN "-01", &first);
    trace_context_read("00-" TRACE "-" SPAN "-01", &second);
    assert_string_not_equal(first.span_id, second.span_id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_well_formed),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_spans_differ),
    };
    return cmocka_run_group_tests_name("trace_context", tests, NULL, NULL);
}
