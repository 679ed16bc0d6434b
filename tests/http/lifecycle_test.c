/* lifecycle_test.c: options, addresses, start and end. */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

static void assert_live(const struct attnd *attnd)
{
    struct reply reply = get(attnd, "/health/live", NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

static void test_help_and_version(void **state)
{
    static const char *const names[] = {"--listen",          "--socket-mode",     "--threads",
                                        "--queue",           "--max-body",        "--max-request-memory",
                                        "--memory",          "--max-connections", "--idle-timeout",
                                        "--request-timeout", "--shutdown-delay",  "--api-key-file",
                                        "--cors-origin",     "--tls-cert",        "--tls-key",
                                        "--log-format",      "--log-level",       "--once",
                                        "--content-type",    "--accept",          "ATTND_"};
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    (void)state;
    const char *const help[] = {"--help", NULL};
    assert_int_equal(attnd_run(help, out, err), 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_non_null(strstr(out, names[i]));
    const char *const version[] = {"--threads", "wrong", "--version", NULL};
    assert_int_equal(attnd_run(version, out, err), 0);
    assert_int_equal(strncmp(out, "attnd ", 6), 0);
    assert_int_equal(count_of(out, "\n"), 1);
}

static void test_wrong_options(void **state)
{
    static const struct {
        const char *options[7];
        const char *says;
    } cases[] = {
        {{"--bogus"}, "unknown option --bogus"},
        {{"bogus"}, "unknown option bogus"},
        {{"--thread", "2"}, "unknown option --thread; did you mean --threads?"},
        {{"--api-key", "file"}, "unknown option --api-key; did you mean --api-key-file?"},
        {{"--threads"}, "--threads needs a value: N"},
        {{"--threads", ""}, "--threads: \"\" is not a whole number"},
        {{"--threads", "0"}, "--threads: 0 is not between 1 and 1024"},
        {{"--threads", "-1"}, "--threads: \"-1\" is not a whole number"},
        {{"--threads", "2K"}, "--threads: \"2K\" is not a whole number"},
        {{"--threads=1025"}, "--threads: 1025 is not between"},
        {{"--queue", "99999999999999999999999"}, "--queue: 99999999999999999999999 is not between"},
        {{"--max-body", "12T"}, "--max-body: \"12T\" is not a number of bytes"},
        {{"--max-body", "K"}, "--max-body: \"K\" is not a number of bytes"},
        {{"--max-body", "1KK"}, "is not a number of bytes"},
        {{"--max-body", "18446744073709551615G"}, "is not between"},
        {{"--max-body", "100M", "--memory", "100M"}, "--max-body 104857600 leaves nothing of --memory 104857600"},
        {{"--max-request-memory", "200M", "--memory", "100M"}, "--max-request-memory 209715200 leaves nothing"},
        {{"--max-body", "60M", "--max-request-memory", "60M", "--memory", "100M"}, "do not fit into --memory"},
        {{"--idle-timeout", "0"}, "--idle-timeout: 0 is not between"},
        {{"--request-timeout", "soon"}, "--request-timeout: \"soon\" is not a whole number"},
        {{"--log-format", "xml"}, "--log-format: \"xml\" is neither text nor json"},
        {{"--log-level", "debug"}, "--log-level: \"debug\" is neither info, warning nor error"},
        {{"--cors-origin", "example.org"}, "is no origin"},
        {{"--cors-origin", "https://a.org,https://b.org"}, "one origin"},
        {{"--cors-origin", "https://a.org/b"}, "is no origin"},
        {{"--cors-origin", "https://A.org"}, "is no origin"},
        {{"--cors-origin", "https://"}, "is no origin"},
        {{"--cors-origin", "https://a.org\r\nX: y"}, "one origin"},
        {{"--listen", "8080"}, "has no port"},
        {{"--listen", "127.0.0.1:"}, "has no port"},
        {{"--listen", "127.0.0.1:65536"}, "is no port"},
        {{"--listen", "127.0.0.1:http"}, "is no port"},
        {{"--listen", "::1:80"}, "in brackets"},
        {{"--listen", "no such host:80"}, "cannot look up"},
        {{"--socket-mode", "rw"}, "--socket-mode: \"rw\" is not an octal mode"},
        {{"--socket-mode", "1777"}, "is not an octal mode from 0 to 0777"},
        {{"--socket-mode", "00660"}, "is not an octal mode"},
    };
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = attnd_run(cases[i].options, out, err);
        if (status != 2 || strstr(err, cases[i].says) == NULL)
            print_error("%s: status %d, \"%s\"\n", cases[i].options[0], status, err);
        assert_int_equal(status, 2);
        assert_non_null(strstr(err, cases[i].says));
        assert_non_null(strstr(err, "attnd: "));
        assert_string_equal(out, "");
    }
}

static void test_environment(void **state)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    (void)state;
    assert_int_equal(setenv("ATTND_MAX_BODY", "2K", 1), 0);
    assert_int_equal(setenv("ATTND_THREADS", "3", 1), 0);
    assert_int_equal(setenv("ATTND_CORS_ORIGIN", "", 1), 0);
    struct attnd *attnd = attnd_start("--threads", "1", "--max-connections", "48");
    assert_true(attnd_logs(attnd, "threads 1, queue 48, ", 30));
    assert_true(attnd_logs(attnd, "max-body 2048", 30));
    attnd_stop(attnd);
    assert_int_equal(setenv("ATTND_MAX_BODY", "lots", 1), 0);
    const char *const none[] = {NULL};
    assert_int_equal(attnd_run(none, out, err), 2);
    assert_non_null(strstr(err, "attnd: ATTND_MAX_BODY: \"lots\" is not a number of bytes"));
    (void)unsetenv("ATTND_MAX_BODY");
    (void)unsetenv("ATTND_THREADS");
    (void)unsetenv("ATTND_CORS_ORIGIN");
}

/* A key file that is lost on the way must not open the daemon, and a name misspelt not go unnoticed. */
static void test_environment_lost(void **state)
{
    static const char *const locks[] = {"ATTND_API_KEY_FILE", "ATTND_TLS_CERT", "ATTND_TLS_KEY"};
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    const char *const none[] = {"--listen", "127.0.0.1:0", NULL};
    (void)state;
    for (size_t i = 0; i < sizeof locks / sizeof locks[0]; i++) {
        assert_int_equal(setenv(locks[i], "", 1), 0);
        assert_int_equal(attnd_run(none, out, err), 2);
        assert_non_null(strstr(err, locks[i]));
        assert_non_null(strstr(err, ": the value is empty"));
        (void)unsetenv(locks[i]);
    }
    assert_int_equal(setenv("ATTND_API_KEY", "x", 1), 0);
    assert_int_equal(setenv("ATTND_MAXBODY", "x", 1), 0);
    assert_int_equal(setenv("ATTND_SERVICE_HOST", "10.0.0.1", 1), 0); /* as Kubernetes has it for a service of that name */
    assert_int_equal(setenv("ATTND_PORT", "tcp://10.0.0.1:8080", 1), 0);
    struct attnd *attnd = attnd_start(NULL);
    assert_true(attnd_logs(attnd, "ATTND_API_KEY is no option; was ATTND_API_KEY_FILE meant?", 30));
    assert_true(attnd_logs(attnd, "ATTND_MAXBODY is no option; was ATTND_MAX_BODY meant?", 30));
    char *log = attnd_log(attnd);
    assert_int_equal(count_of(log, "is no option"), 2);
    free(log);
    attnd_stop(attnd);
    (void)unsetenv("ATTND_API_KEY");
    (void)unsetenv("ATTND_MAXBODY");
    (void)unsetenv("ATTND_SERVICE_HOST");
    (void)unsetenv("ATTND_PORT");
}

static void test_addresses(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--listen", "localhost:0");
    assert_live(attnd);
    attnd_stop(attnd);

    attnd = attnd_start("--listen=:0");
    assert_null(strstr(attnd->url, ":0"));
    attnd_stop(attnd);
}

static bool has_ipv6(void)
{
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&loopback, sizeof loopback) == 0;
    if (fd >= 0)
        (void)close(fd);
    return has;
}

static void test_ipv6(void **state)
{
    (void)state;
    if (!has_ipv6()) {
        print_message("there is no IPv6 here\n");
        return;
    }
    struct attnd *attnd = attnd_start("--listen", "[::1]:0");
    assert_int_equal(strncmp(attnd->url, "http://[::1]:", 13), 0);
    assert_live(attnd);
    attnd_stop(attnd);
}

/* What a container's HEALTHCHECK runs. */
static void check_health(const struct attnd *attnd, const char *path, int status, const char *text)
{
    char url[2 * ATTND_URL_BYTES_MAX], out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    (void)snprintf(url, sizeof url, "%s%s", attnd->url, path);
    const char *const options[] = {"--health-check", url, NULL};
    assert_int_equal(attnd_run(options, out, err), status);
    assert_string_equal(out, "");
    assert_true(text != NULL ? strstr(err, text) != NULL : err[0] == '\0');
}

static void test_health_check(void **state)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    struct attnd asked = *attnd;
    const char *const own[] = {"--listen", asked.url + strlen("http://"), "--health-check", "/health/ready", NULL};
    const char *const wrong[] = {"--health-check", "health/ready", NULL};
    check_health(&asked, "/health/ready", 0, NULL);
    check_health(&asked, "/health/live?verbose#top", 0, NULL);
    check_health(&asked, "/nowhere", 1, "answered 404");
    check_health(&asked, "", 0, NULL);
    assert_int_equal(attnd_run(own, out, err), 0);
    assert_int_equal(attnd_run(wrong, out, err), 1);
    attnd_stop(attnd);
    check_health(&asked, "/health/ready", 1, "cannot connect");
    assert_int_equal(attnd_run(own, out, err), 1);
}

static void test_address_in_use(void **state)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    const char *const options[] = {"--listen", attnd->url + strlen("http://"), NULL};
    assert_int_equal(attnd_run(options, out, err), 1);
    assert_non_null(strstr(err, "attnd: cannot listen on 127.0.0.1:"));
    attnd_stop(attnd);
}

/* The running and the queued request are answered, whoever comes later is sent away, and then it ends. */
static void check_drain(int signal_number)
{
    struct attnd *attnd = attnd_start("--threads", "1");
    char *json = busy_json(attnd, 2);
    struct pending *running = post_later(attnd, "/attention", json);
    sleep_s(0.3);
    struct pending *queued = post_later(attnd, "/attention", json);
    sleep_s(0.3);
    struct reply reply = get(attnd, "/health/ready", NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);

    (void)kill(attnd->pid, signal_number);
    sleep_s(0.2);
    reply = get(attnd, "/health/ready", NULL);
    assert_problem(&reply, 503);
    assert_non_null(reply_header(&reply, "Retry-After"));
    reply_done(&reply);
    assert_live(attnd);
    reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_problem(&reply, 503);
    assert_non_null(reply_header(&reply, "Retry-After"));
    assert_string_equal(reply_header(&reply, "Connection"), "close");
    reply_done(&reply);

    reply = pending_reply(running);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    reply = pending_reply(queued);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
    assert_int_equal(attnd_wait(attnd), 0);
    free(json);
}

static void test_drain_on_sigterm(void **state)
{
    (void)state;
    check_drain(SIGTERM);
}

static void test_drain_on_sigint(void **state)
{
    (void)state;
    check_drain(SIGINT);
}

/* With a delay load balancers see that it is not ready while it still serves, on connections old and new. */
static void test_shutdown_delay(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--shutdown-delay", "4");
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    reply_done(&reply);
    (void)kill(attnd->pid, SIGTERM);
    assert_true(attnd_logs(attnd, "serving for another 4 s", 30));
    reply = get(attnd, "/health/ready", NULL);
    assert_problem(&reply, 503);
    reply_done(&reply);
    for (int i = 0; i < 2; i++) {
        reply = request_send(attnd, &(struct request){.path = "/attention",
                                                      .body = SMALL_JSON,
                                                      .body_bytes = strlen(SMALL_JSON),
                                                      .headers = LIST("Content-Type: application/json"),
                                                      .new_connection = i == 1});
        assert_int_equal(reply.status, 200);
        assert_null(strstr(reply.headers, "Connection: close"));
        reply_done(&reply);
    }
    assert_live(attnd);
    assert_int_equal(attnd_wait(attnd), 0);
}

/* A signal that comes at the first moment, or falls on any thread, is no other. */
static void test_end_right_after_the_start(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        attnd_stop(attnd_start(NULL));
}

static void *client_loop(void *argument)
{
    const struct attnd *attnd = argument;
    for (bool answered = true; answered;) {
        struct reply reply = request_send(attnd, &(struct request){.path = "/health/ready"});
        answered = reply.curl_code == 0;
        reply_done(&reply);
    }
    request_cleanup();
    return NULL;
}

/* Clients that never stop sending requests do not keep it from ending. */
static void test_end_while_asked(void **state)
{
    pthread_t askers[4];
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&askers[i], NULL, client_loop, attnd), 0);
    sleep_s(0.5);
    (void)kill(attnd->pid, SIGTERM);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_join(askers[i], NULL), 0);
    assert_int_equal(attnd_wait(attnd), 0);
}

/* What became of a client that opens a connection for each request, until none can be opened. */
struct short_client {
    const struct attnd *attnd;
    pthread_t thread;
    size_t answered, broken;
};

static void *connect_and_ask(void *argument)
{
    struct short_client *client = argument;
    const char *port = strrchr(client->attnd->url, ':') + 1;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(port, NULL, 10))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (;;) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
            (void)close(fd);
            return NULL;
        }
        static const char text[] = "GET /health/live HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        bool sent = raw_try_send(fd, text, sizeof text - 1);
        char *answer = sent ? raw_read(fd, 30) : NULL;
        bool answered = answer != NULL && strncmp(answer, "HTTP/1.1 200 OK", 15) == 0;
        client->answered += answered;
        client->broken += !answered;
        free(answer);
        (void)close(fd);
    }
}

/* Each connection that the system has accepted is answered, the last ones too. */
static void test_no_connection_is_reset(void **state)
{
    enum { CLIENTS = 6, RUNS = 4 };
    struct short_client clients[CLIENTS];
    size_t answered = 0, broken = 0;
    (void)state;
    for (int run = 0; run < RUNS; run++) {
        struct attnd *attnd = attnd_start(NULL);
        for (size_t i = 0; i < CLIENTS; i++) {
            clients[i] = (struct short_client){.attnd = attnd};
            assert_int_equal(pthread_create(&clients[i].thread, NULL, connect_and_ask, &clients[i]), 0);
        }
        sleep_s(0.3);
        (void)kill(attnd->pid, SIGTERM);
        for (size_t i = 0; i < CLIENTS; i++) {
            assert_int_equal(pthread_join(clients[i].thread, NULL), 0);
            answered += clients[i].answered;
            broken += clients[i].broken;
        }
        assert_int_equal(attnd_wait(attnd), 0);
    }
    print_message("%zu connections answered, %zu broken\n", answered, broken);
    assert_true(answered > 0);
    assert_int_equal(broken, 0);
}

/* A body that is on its way belongs to a request that was admitted. */
static void test_drain_waits_for_a_body(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    char *text = raw_post("/attention", "", SMALL_JSON);
    int fd = raw_connect(attnd);
    assert_true(raw_try_send(fd, text, strlen(text) - 10));
    sleep_s(0.3);
    (void)kill(attnd->pid, SIGTERM);
    sleep_s(1);
    raw_send(fd, text + strlen(text) - 10);
    char *answer = raw_read(fd, 60);
    assert_int_equal(strncmp(answer, "HTTP/1.1 200 OK", 15), 0);
    free(answer);
    free(text);
    (void)close(fd);
    assert_int_equal(attnd_wait(attnd), 0);
}

static void test_second_signal(void **state)
{
    static const int signals[] = {SIGTERM, SIGINT};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct attnd *attnd = attnd_start("--request-timeout", "600");
        char *text = raw_post("/attention", "", ENDLESS_JSON);
        int fd = raw_connect(attnd);
        raw_send(fd, text);
        sleep_s(0.5);
        (void)kill(attnd->pid, SIGTERM);
        sleep_s(0.5);
        (void)kill(attnd->pid, signals[i]);
        double since = seconds_now();
        assert_int_equal(attnd_wait(attnd), 128 + signals[i]);
        assert_true(seconds_now() - since < 30);
        (void)close(fd);
        free(text);
    }
}

/* Signals that mean nothing here do not end it; SIGHUP finds no files to read. */
static void test_other_signals(void **state)
{
    static const int signals[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGVTALRM, SIGPROF, SIGIO, SIGXFSZ};
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
        (void)kill(attnd->pid, signals[i]);
    (void)kill(attnd->pid, SIGRTMIN);
    (void)kill(attnd->pid, SIGRTMAX);
    sleep_s(0.2);
    assert_live(attnd);
    assert_true(attnd_logs(attnd, "SIGHUP: there is neither", 30));
    attnd_stop(attnd);
}

/* Requests that arrive while the process is stopped are answered once it goes on, however long that was. */
static void test_stopped_and_continued(void **state)
{
    static const char live[] = "GET /health/live HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    int fds[4], status = 0;
    (void)state;
    struct attnd *attnd = attnd_start("--idle-timeout", "2", "--request-timeout", "4");
    char *text = raw_post("/attention", "Connection: close\r\n", SMALL_JSON);
    for (size_t i = 0; i < 2; i++)
        fds[i] = raw_connect(attnd);
    sleep_s(0.3);
    (void)kill(attnd->pid, SIGSTOP);
    assert_int_equal(waitpid(attnd->pid, &status, WUNTRACED), attnd->pid); /* each of its threads has stopped */
    assert_true(WIFSTOPPED(status));
    for (size_t i = 2; i < 4; i++)
        fds[i] = raw_connect(attnd);
    for (size_t i = 0; i < 4; i++)
        raw_send(fds[i], i % 2 == 0 ? live : text);
    sleep_s(6);
    (void)kill(attnd->pid, SIGCONT);
    for (size_t i = 0; i < 4; i++) {
        char *answer = raw_read(fds[i], 30);
        assert_int_equal(strncmp(answer, "HTTP/1.1 200 OK", 15), 0);
        free(answer);
        (void)close(fds[i]);
    }
    free(text);
    attnd_stop(attnd);
}

/* Idle connections do not keep it from ending. */
static void test_end_with_idle_connections(void **state)
{
    int fds[8];
    (void)state;
    struct attnd *attnd = attnd_start(NULL);
    for (size_t i = 0; i < 8; i++)
        fds[i] = raw_connect(attnd);
    raw_send(fds[0], "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n");
    sleep_s(0.2);
    attnd_stop(attnd);
    for (size_t i = 0; i < 8; i++)
        (void)close(fds[i]);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_help_and_version),
    HTTP_TEST(test_wrong_options),
    HTTP_TEST(test_environment),
    HTTP_TEST(test_environment_lost),
    HTTP_TEST(test_addresses),
    HTTP_TEST(test_ipv6),
    HTTP_TEST(test_health_check),
    HTTP_TEST(test_address_in_use),
    HTTP_TEST(test_drain_on_sigterm),
    HTTP_TEST(test_drain_on_sigint),
    HTTP_TEST(test_shutdown_delay),
    HTTP_TEST(test_end_right_after_the_start),
    HTTP_TEST(test_end_while_asked),
    HTTP_TEST(test_no_connection_is_reset),
    HTTP_TEST(test_drain_waits_for_a_body),
    HTTP_TEST(test_second_signal),
    HTTP_TEST(test_other_signals),
    HTTP_TEST(test_stopped_and_continued),
    HTTP_TEST(test_end_with_idle_connections),
};

const struct group lifecycle_group = GROUP(tests);
