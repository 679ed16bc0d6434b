/* hostile_test.c: requests that are meant to harm: that leak, hide bytes from a check, or are no HTTP at all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"
#include "tests/support/environment.h"

/* Sends bytes, NULs among them, on a connection of their own. Returns the answer; new. */
static char *exchange_bytes(const struct attnd *attnd, const char *bytes, size_t count)
{
    int fd = raw_connect(attnd);
    (void)raw_try_send(fd, bytes, count);
    char *answer = raw_read(fd, 30);
    (void)close(fd);
    return answer;
}

static void assert_status(const char *answer, int status, const char *what)
{
    char expected[32];
    (void)snprintf(expected, sizeof expected, "HTTP/1.1 %d ", status);
    if (strncmp(answer, expected, strlen(expected)) != 0)
        print_error("%s: %.40s\n", what, answer);
    assert_int_equal(strncmp(answer, expected, strlen(expected)), 0);
}

#define BODY SMALL_JSON
#define LENGTH "75"

/* ---- requests that libmicrohttpd drops ---- */

static char *repeated(const char *begin, const char *part, size_t count, const char *end)
{
    size_t part_bytes = strlen(part), bytes = strlen(begin) + count * part_bytes + strlen(end);
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    char *at = mempcpy(text, begin, strlen(begin));
    for (size_t i = 0; i < count; i++)
        at = mempcpy(at, part, part_bytes);
    memcpy(at, end, strlen(end) + 1);
    return text;
}

#define REST " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"

/* Each kind of small parts that add up: answered, logged, and nothing of them stays. */
static void check_many_parts(const char *begin, const char *part, size_t part_count, const char *end, int status)
{
    const int request_count = environment_slow() ? 500 : 5000;
    struct attnd *attnd = attnd_start(NULL);
    char *text = repeated(begin, part, part_count, end);
    size_t before = 0;
    for (int i = 0; i < request_count; i++) {
        if (i == request_count / 10)
            before = attnd_resident_bytes(attnd);
        char *answer = exchange_bytes(attnd, text, strlen(text));
        assert_status(answer, status, part);
        free(answer);
    }
    size_t after = attnd_resident_bytes(attnd);
    print_message("%d requests of %zu \"%s\": resident %zu KiB before, %zu KiB after\n", request_count, part_count, part,
                  before / 1024, after / 1024);
    if (!environment_slow()) /* a sanitizer takes memory of its own */
        assert_true(after < before + ((size_t)2 << 20));
    sleep_s(0.5); /* for the log's writer */
    char *log = attnd_log(attnd);
    assert_int_equal(count_of(log, "request method="), request_count);
    free(log);
    free(text);
    attnd_stop(attnd);
}

static void test_many_arguments(void **state)
{
    (void)state;
    check_many_parts("GET /health/live?", "a&", 1000, REST, 200);
}

static void test_many_cookies(void **state)
{
    (void)state;
    check_many_parts("GET /health/live HTTP/1.1\r\nHost: test\r\nConnection: close\r\nCookie: ", "a=b; ", 2000, "\r\n\r\n",
                     200);
}

static void test_many_headers(void **state)
{
    (void)state;
    check_many_parts("GET /health/live HTTP/1.1\r\nHost: test\r\nConnection: close\r\n", "a: b\r\n", 3000, "\r\n", 431);
}

/* What is left of the connection's memory must do for the reply: each size is answered, and none closes in silence. */
static void test_heads_near_the_limit(void **state)
{
    const size_t step = environment_slow() ? 200 : 40;
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    static const char *const begins[] = {
        "GET /health/live HTTP/1.1\r\nHost: test\r\nConnection: close\r\nX: ",
        "POST /attention HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: " LENGTH "\r\nX: ",
        "GET /health/live?",
    };
    static const char *const ends[] = {"\r\n\r\n", "\r\n\r\n" BODY, REST};
    for (size_t kind = 0; kind < sizeof begins / sizeof begins[0]; kind++)
        for (size_t count = 60000; count < 66000; count += step) {
            char *text = repeated(begins[kind], "x", count, ends[kind]);
            char *answer = exchange_bytes(attnd, text, strlen(text));
            long status = strncmp(answer, "HTTP/1.1 ", 9) == 0 ? strtol(answer + 9, NULL, 10) : 0;
            if (status != 200 && status != 414 && status != 431)
                print_error("%zu bytes behind %.12s: %.40s\n", count, begins[kind], answer);
            assert_true(status == 200 || status == 414 || status == 431);
            free(answer);
            free(text);
        }
    attnd_stop(attnd);
}

/* ---- NUL ---- */

/* Of these the bytes count, so that NULs may be among them. */
struct bytes {
    const char *data;
    size_t count;
};
#define BYTES(text)                                                                                                            \
    {                                                                                                                          \
        (text), sizeof(text) - 1                                                                                               \
    }

static void test_nul(void **state)
{
    static const struct bytes heads[] = {
        BYTES("POST /attention\0 HTTP/1.1\r\nHost: test\r\n"),
        BYTES("POST /attention\0x HTTP/1.1\r\nHost: test\r\n"),
        BYTES("POST /attention\0HTTP/1.1 HTTP/1.1\r\nHost: test\r\n"),
        BYTES("POST /attention?a\0b HTTP/1.1\r\nHost: test\r\n"),
        BYTES("POST\0 /attention HTTP/1.1\r\nHost: test\r\n"),
        BYTES("POST\0X /attention HTTP/1.1\r\nHost: test\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\0x\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\nX-API-Key: the-key\0zzz\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\nX-API-Key: the-key\0\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\nX-API-Key: \0the-key\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer the-key\0\0\0\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\0x\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\nX\0-Two: 2\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\n\0X-Two: 2\r\n"),
        BYTES("POST /attention HTTP/1.1\r\nHost: test\r\n\0\r\n"),
        BYTES("POST /attention HTTP/1.1\nHost: test\nX-API-Key: the-key\0zzz\n"),
    };
    static const struct bytes lengths[] = {
        BYTES("Content-Length: " LENGTH "\0 9\r\n\r\n" BODY),
        BYTES("Content-Length: " LENGTH "\0\r\n\r\n" BODY),
        BYTES("Content-Length: " LENGTH "\r\n\r\n" BODY),
    };
    static const char last[] = "X-Last: a\0b\r\n\r\n";
    char text[1024];
    (void)state;
    assert_int_equal(strlen(BODY), strtoul(LENGTH, NULL, 10));
    for (size_t h = 0; h < sizeof heads / sizeof heads[0]; h++) {
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            memcpy(text, heads[h].data, heads[h].count);
            memcpy(text + heads[h].count, lengths[l].data, lengths[l].count);
            char *answer = exchange_bytes(attnd_shared(), text, heads[h].count + lengths[l].count);
            assert_status(answer, 400, heads[h].data);
            assert_int_equal(count_of(answer, "HTTP/1.1 "), 1);
            free(answer);
        }
    }
    int length = snprintf(text, sizeof text, "GET /health/live HTTP/1.1\r\nHost: test\r\n");
    memcpy(text + length, last, sizeof last - 1);
    char *answer = exchange_bytes(attnd_shared(), text, (size_t)length + sizeof last - 1);
    assert_status(answer, 400, "in the last header");
    free(answer);
}

/* A line that begins with a blank belongs to the header before it, or smuggles one in. */
static void test_folded_headers(void **state)
{
    static const char *const heads[] = {
        "GET /health/live HTTP/1.1\r\nHost: test\r\nX-One: 1\r\n 2\r\n\r\n",
        "GET /health/live HTTP/1.1\r\nHost: test\r\nX-One: 1\r\n\t2\r\nX-Two: 2\r\n\r\n",
        "GET /health/live HTTP/1.1\r\nX-One: long enough to hide\r\n 2\r\nHost: test\r\n\r\n",
        "GET /health/live HTTP/1.1\r\nHost: test\r\nX-One: 1\rX-Two: 2\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char *answer = exchange_bytes(attnd_shared(), heads[i], strlen(heads[i]));
        assert_status(answer, 400, heads[i]);
        free(answer);
    }
}

/* A LF without CR, which others may take for a part of the line. */
static void test_bare_line_feeds(void **state)
{
    static const char *const heads[] = {
        "GET /health/live HTTP/1.1\nHost: test\n\n",
        "GET /health/live HTTP/1.1\nHost: test\r\n\r\n",
        "GET /health/live HTTP/1.1\r\nHost: test\nX-Two: 2\r\n\r\n",
        "GET /health/live HTTP/1.1\r\nHost: test\r\nX-Two: 2\n\r\n",
        "GET /health/live HTTP/1.1\r\nHost: test\r\n\n",
        "GET /health/live HTTP/1.0\n\n",
        "GET /health/live?query HTTP/1.0\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        char *answer = exchange_bytes(attnd_shared(), heads[i], strlen(heads[i]));
        assert_status(answer, 400, heads[i]);
        assert_non_null(strstr(answer, "does not end in CR LF"));
        free(answer);
    }
}

static void test_hosts(void **state)
{
    static const char *const cases[][2] = {
        {"test", "200"},        {"Test.example:8080", "200"},
        {"[::1]:8080", "200"},  {"", "200"},
        {"a_b.%41 \t", "200"},  {"a b", "400"},
        {"a/b", "400"},         {"user@test", "400"},
        {"test, other", "400"}, {"test\"", "400"},
        {"test#x", "400"},      {"t\xc3\xa9st", "400"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char head[200];
        int length =
            snprintf(head, sizeof head, "GET /health/live HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", cases[i][0]);
        char *answer = exchange_bytes(attnd_shared(), head, (size_t)length);
        assert_status(answer, (int)strtol(cases[i][1], NULL, 10), cases[i][0]);
        free(answer);
    }
}

/* ---- no HTTP ---- */

static void test_no_http(void **state)
{
    static const struct bytes cases[] = {
        BYTES("GET /a b HTTP/1.1\r\nHost: test\r\n\r\n"),
        BYTES("GET /health/live \tHTTP/1.1\r\nHost: test\r\n\r\n"),
        BYTES("GET\t/health/live\tHTTP/1.1\r\nHost: test\r\n\r\n"),
        BYTES("GET /health/live\x01 HTTP/1.1\r\nHost: test\r\n\r\n"),
        BYTES("garbage\r\n\r\n"),
        BYTES("more garbage\r\n\r\n"),
        BYTES("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n"),
        BYTES("GET /health/live\r\n\r\n"),
        BYTES("get /health/live http/1.1\r\nHost: test\r\n\r\n"),
        BYTES("GET /health/live HTTP/1.1\r\nHost: test\r\nConnection: Keep-Alive\r\n\r\n and then garbage\r\n"),
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = exchange_bytes(attnd_shared(), cases[i].data, cases[i].count);
        const char *last = answer;
        for (const char *next; (next = strstr(last + 1, "HTTP/1.1 4")) != NULL;)
            last = next;
        assert_status(last, 400, cases[i].data);
        free(answer);
    }
}

static void test_no_http_is_logged(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    static const char garbage[] = "garbage\r\n\r\n";
    char *answer = exchange_bytes(attnd, garbage, sizeof garbage - 1);
    assert_non_null(strstr(answer, "urn:attnd:problem:malformed"));
    assert_non_null(strstr(answer, "X-Request-Id: "));
    free(answer);
    assert_true(attnd_logs(attnd, "request method=\"\" path=\"\" status=400", 5));
    struct reply reply = get(attnd, "/metrics", NULL);
    assert_non_null(strstr(reply.body, "attnd_requests_total{path=\"other\",status=\"400\"} 1\n"));
    reply_done(&reply);
    (void)close(raw_connect(attnd)); /* says nothing, and is told nothing */
    sleep_s(0.3);
    char *log = attnd_log(attnd);
    assert_int_equal(count_of(log, "request method=\"\""), 1);
    free(log);
    attnd_stop(attnd);
}

/* Blanks around a value are legal, tabs too. */
static void test_blanks_around_values(void **state)
{
    static const char *const cases[] = {
        "POST /attention HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length:\t" LENGTH "\r\n\r\n" BODY,
        "POST /attention HTTP/1.1\r\nHost:\ttest\t\r\nConnection:close \r\nContent-Length: \t" LENGTH "\r\n\r\n" BODY,
        "POST /attention HTTP/1.1\r\nHost: test\r\nConnection: close\t\r\nTransfer-Encoding:\tchunked\r\n\r\n4b\r\n" BODY
        "\r\n0\r\n\r\n",
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *answer = exchange_bytes(attnd_shared(), cases[i], strlen(cases[i]));
        assert_status(answer, 200, cases[i]);
        free(answer);
    }
}

/* ---- chunks ---- */

/* A chunk's extension is not read, and may not be longer than the memory for it; others who send chunks meanwhile are not bothered. */
static void test_long_chunk_extension(void **state)
{
    static const char begin[] = "POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n2;";
    (void)state;
    const struct attnd *attnd = attnd_shared();
    char *text = repeated(begin, "x", 200000, "\r\n}\n\r\n0\r\n\r\n");
    int other = raw_connect(attnd);
    raw_send(other, "POST /attention HTTP/1.1\r\nHost: test\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 2000; i++)
        raw_send(other, "1\r\n \r\n");
    char *answer = exchange_bytes(attnd, text, strlen(text));
    assert_status(answer, 400, "a long chunk extension");
    assert_int_equal(count_of(answer, "HTTP/1.1 "), 1);
    free(answer);
    raw_send(other, "4b\r\n" BODY "\r\n0\r\n\r\n");
    answer = raw_read(other, 30);
    assert_status(answer, 200, "beside a long chunk extension");
    free(answer);
    (void)close(other);
    free(text);
}

/* ---- floods ---- */

/* Far more connections than are allowed, silent or in the middle of a head: the oldest make room, long before their time is up, so
 * health is answered; and a request to compute is told why not. */
static void test_health_in_a_flood(void **state)
{
    enum { ALLOWED = 64, FLOOD = 400 };
    static const char *const begins[] = {"", "GET /health/live HTTP/1.1\r\nHo"};
    static int fds[2 * FLOOD];
    char allowed[16];
    double slowest_s = 0;
    (void)state;
    (void)snprintf(allowed, sizeof allowed, "%d", ALLOWED);
    struct attnd *attnd = attnd_start("--max-connections", allowed);
    for (size_t i = 0; i < 2 * FLOOD; i++) {
        fds[i] = raw_connect(attnd);
        (void)raw_try_send(fds[i], begins[i % 2], strlen(begins[i % 2]));
        if (i % 50 != 49)
            continue;
        struct reply reply = request_send(attnd, &(struct request){.path = "/health/ready", .new_connection = true});
        assert_int_equal(reply.status, 200);
        slowest_s = reply.seconds > slowest_s ? reply.seconds : slowest_s;
        reply_done(&reply);
    }
    print_message("health took at most %.3f s\n", slowest_s);
    struct reply metrics = request_send(attnd, &(struct request){.path = "/metrics", .new_connection = true});
    const char *made_room = strstr(metrics.body, "\nattnd_connections_made_room_total ");
    assert_non_null(made_room);
    assert_true(strtoul(strchr(made_room, ' '), NULL, 10) > FLOOD);
    reply_done(&metrics);
    struct request request = {
        .path = "/attention", .body = SMALL_JSON, .body_bytes = strlen(SMALL_JSON), .new_connection = true};
    struct reply reply = request_send(attnd, &request);
    assert_problem(&reply, 503);
    assert_non_null(reply_header(&reply, "Retry-After"));
    reply_done(&reply);
    for (size_t i = 0; i < 2 * FLOOD; i++)
        (void)close(fds[i]);
    attnd_stop(attnd);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_many_arguments),
    HTTP_TEST(test_many_cookies),
    HTTP_TEST(test_many_headers),
    HTTP_TEST(test_heads_near_the_limit),
    HTTP_TEST(test_nul),
    HTTP_TEST(test_folded_headers),
    HTTP_TEST(test_bare_line_feeds),
    HTTP_TEST(test_hosts),
    HTTP_TEST(test_no_http),
    HTTP_TEST(test_no_http_is_logged),
    HTTP_TEST(test_blanks_around_values),
    HTTP_TEST(test_health_in_a_flood),
    HTTP_TEST(test_long_chunk_extension),
};

const struct group hostile_group = GROUP(tests);
