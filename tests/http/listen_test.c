/* listen_test.c: sockets on paths, and sockets that a parent process passes. */
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define RESTARTS 20
#define LOAD_THREADS 4

/* ---- paths ---- */

static char folder[64], socket_path[80], listen_option[96];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/attnd-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(socket_path, sizeof socket_path, "%s/attnd.sock", folder);
    (void)snprintf(listen_option, sizeof listen_option, "unix:%s", socket_path);
    return 0;
}

static int remove_folder(void **state)
{
    int failed = harness_teardown(state);
    (void)unlink(socket_path);
    return rmdir(folder) != 0 || failed;
}

static void assert_computes(const struct attnd *attnd)
{
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, NULL);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "13.302384"));
    reply_done(&reply);
}

static mode_t mode_of_socket(void)
{
    struct stat there;
    assert_int_equal(lstat(socket_path, &there), 0);
    assert_true(S_ISSOCK(there.st_mode));
    return there.st_mode & 07777;
}

static void test_path(void **state)
{
    struct stat there;
    (void)state;
    struct attnd *attnd = attnd_start("--listen", listen_option);
    assert_string_equal(attnd->url, listen_option);
    assert_int_equal(mode_of_socket(), 0660);
    assert_computes(attnd);
    attnd_stop(attnd);
    assert_int_equal(lstat(socket_path, &there), -1);
}

/* Whatever the umask is. */
static void test_mode(void **state)
{
    (void)state;
    mode_t mask = umask(0077);
    struct attnd *attnd = attnd_start("--listen", listen_option, "--socket-mode", "666");
    (void)umask(mask);
    assert_int_equal(mode_of_socket(), 0666);
    attnd_stop(attnd);
    mask = umask(0);
    attnd = attnd_start("--listen", listen_option, "--socket-mode", "0600");
    (void)umask(mask);
    assert_int_equal(mode_of_socket(), 0600);
    attnd_stop(attnd);
}

static void test_large_over_path(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--listen", listen_option);
    struct reply reply =
        post_json(attnd, "/attention", "{\"seed\": 1, \"x\": {\"shape\": [700, 4]}, \"projection\": \"identity\"}", NULL);
    assert_int_equal(reply.status, 200);
    assert_true(reply.body_bytes > 1000000);
    reply_done(&reply);
    attnd_stop(attnd);
}

/* A daemon that was killed leaves its file, which the next one replaces. */
static void test_stale_file(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--listen", listen_option);
    (void)kill(attnd->pid, SIGKILL);
    assert_int_equal(attnd_wait(attnd), -SIGKILL);
    assert_int_equal(mode_of_socket(), 0660);
    attnd = attnd_start("--listen", listen_option);
    assert_computes(attnd);
    attnd_stop(attnd);
}

static void assert_refused(const char *listen, int status, const char *says)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    const char *const options[] = {"--listen", listen, NULL};
    assert_int_equal(attnd_run(options, out, err), status);
    assert_non_null(strstr(err, says));
}

static void test_path_in_use(void **state)
{
    (void)state;
    struct attnd *attnd = attnd_start("--listen", listen_option);
    assert_refused(listen_option, 1, "Address already in use");
    assert_computes(attnd);
    attnd_stop(attnd);
}

/* What is no socket is not removed. */
static void test_file_in_the_way(void **state)
{
    char too_long[200];
    (void)state;
    FILE *file = fopen(socket_path, "we");
    assert_non_null(file);
    (void)fclose(file);
    assert_refused(listen_option, 1, "there is a file that is no socket");
    assert_int_equal(access(socket_path, F_OK), 0);
    assert_refused("unix:/no/such/folder/socket", 1, "No such file or directory");
    assert_refused("unix:", 2, "1 to 107 bytes");
    memset(too_long, 'x', sizeof too_long - 1);
    memcpy(too_long, "unix:", 5);
    too_long[sizeof too_long - 1] = '\0';
    assert_refused(too_long, 2, "1 to 107 bytes");
}

/* The end of one daemon does not remove the file of another, which was put in its place. */
static void test_file_of_another(void **state)
{
    (void)state;
    struct attnd *first = attnd_start("--listen", listen_option);
    assert_int_equal(unlink(socket_path), 0);
    struct attnd *second = attnd_start("--listen", listen_option);
    attnd_stop(first);
    assert_computes(second);
    attnd_stop(second);
}

static void test_health_of_path(void **state)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    const char *const options[] = {"--listen", listen_option, "--health-check", "/health/ready", NULL};
    (void)state;
    struct attnd *attnd = attnd_start("--listen", listen_option);
    assert_int_equal(attnd_run(options, out, err), 0);
    attnd_stop(attnd);
    assert_int_equal(attnd_run(options, out, err), 1);
    assert_non_null(strstr(err, "cannot connect to /tmp/"));
}

/* ---- inherited sockets ---- */

static int open_tcp(void)
{
    const struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&loopback, sizeof loopback), 0);
    return fd;
}

struct load {
    struct attnd attnd; /* whoever listens at the address */
    bool keeps_connection;
    atomic_bool *ends;
    size_t answered, lost;
};

static void *ask_on(void *argument)
{
    struct load *load = argument;
    const struct request request = {.method = "POST",
                                    .path = "/attention",
                                    .body = SMALL_JSON,
                                    .body_bytes = strlen(SMALL_JSON),
                                    .headers = load->keeps_connection ? NULL : LIST("Connection: close")};
    while (!atomic_load(load->ends)) {
        struct reply reply = request_send(&load->attnd, &request);
        bool answered = reply.curl_code == 0 && reply.status == 200;
        load->answered += answered;
        load->lost += !answered;
        if (!answered)
            print_error("lost: curl %d, status %ld\n", reply.curl_code, reply.status);
        reply_done(&reply);
    }
    request_cleanup();
    return NULL;
}

/* Clients ask all the time, on connections that they keep or on new ones, and each request is answered with 200. */
static void check_restarts(int listen_fd)
{
    pthread_t threads[LOAD_THREADS];
    struct load loads[LOAD_THREADS];
    atomic_bool ends = false;
    size_t answered = 0;
    struct attnd *attnd = attnd_start_on(listen_fd, LIST("--listen", "127.0.0.1:1", "--threads", "2"));
    assert_true(attnd_logs(attnd, "listening on the socket that the parent process passes", 10));
    for (size_t i = 0; i < LOAD_THREADS; i++) {
        loads[i] = (struct load){.attnd = *attnd, .keeps_connection = i % 2 == 1, .ends = &ends};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_on, &loads[i]), 0);
    }
    for (int i = 0; i < RESTARTS; i++) {
        sleep_s(0.02);
        attnd_stop(attnd);
        sleep_s(0.02);
        attnd = attnd_start_on(listen_fd, LIST("--threads", "2"));
    }
    atomic_store(&ends, true);
    for (size_t i = 0; i < LOAD_THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(loads[i].lost, 0);
        assert_true(loads[i].answered > 0);
        answered += loads[i].answered;
    }
    print_message("%d restarts, %zu requests answered, none lost\n", RESTARTS, answered);
    attnd_stop(attnd);
}

static void test_restarts(void **state)
{
    (void)state;
    int fd = open_tcp();
    assert_int_equal(listen(fd, SOMAXCONN), 0);
    check_restarts(fd);
    (void)close(fd);
}

static int listen_on_path(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path, socket_path, strlen(socket_path));
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, SOMAXCONN), 0);
    return fd;
}

/* Its file is the parent's, and stays. */
static void test_inherited_path(void **state)
{
    (void)state;
    int fd = listen_on_path();
    for (int i = 0; i < 2; i++) {
        struct attnd *attnd = attnd_start_on(fd, LIST(NULL));
        assert_string_equal(attnd->url, listen_option);
        assert_computes(attnd);
        attnd_stop(attnd);
        assert_int_equal(access(socket_path, F_OK), 0);
    }
    (void)close(fd);
}

/* What arrives on a connection that is open already is computed, and the connection ends with its reply. */
static void test_last_request_of_a_connection(void **state)
{
    (void)state;
    int listen_fd = open_tcp();
    assert_int_equal(listen(listen_fd, SOMAXCONN), 0);
    struct attnd *attnd = attnd_start_on(listen_fd, LIST(NULL));
    int fd = raw_connect(attnd);
    raw_send(fd, "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n");
    assert_true(attnd_logs(attnd, "/health/live", 10));
    (void)kill(attnd->pid, SIGTERM);
    assert_true(attnd_logs(attnd, "shutting down", 10));
    sleep_s(0.05);
    char *request = raw_post("/attention", "", SMALL_JSON);
    raw_send(fd, request);
    char *answer = raw_read(fd, 10);
    assert_int_equal(count_of(answer, "HTTP/1.1 200"), 2);
    assert_int_equal(count_of(answer, "Connection: close"), 1);
    free(answer);
    free(request);
    (void)close(fd);
    assert_int_equal(attnd_wait(attnd), 0);
    (void)close(listen_fd);
}

static void test_wrong_inheritance(void **state)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    const char *const none[] = {NULL};
    (void)state;
    int fd = open_tcp();
    assert_int_equal(attnd_run_on(fd, none, out, err), 2);
    assert_non_null(strstr(err, "descriptor 3 is no stream socket that listens"));
    (void)close(fd);
    /* Meant for another process: the variables are left over from a parent's own start. */
    assert_int_equal(setenv("LISTEN_PID", "1", 1), 0);
    assert_int_equal(setenv("LISTEN_FDS", "1", 1), 0);
    struct attnd *attnd = attnd_start(NULL);
    assert_computes(attnd);
    attnd_stop(attnd);
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
}

/* What systemd's Type=notify waits for. */
static void test_supervisor(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char said[64] = "";
    (void)state;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    memcpy(address.sun_path, socket_path, strlen(socket_path));
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", socket_path, 1), 0);
    struct attnd *attnd = attnd_start(NULL);
    (void)unsetenv("NOTIFY_SOCKET");
    assert_int_equal(recv(fd, said, sizeof said - 1, 0), strlen("READY=1"));
    assert_string_equal(said, "READY=1");
    attnd_stop(attnd);
    assert_int_equal(recv(fd, said, sizeof said - 1, MSG_DONTWAIT), strlen("STOPPING=1"));
    assert_string_equal(said, "STOPPING=1");
    (void)close(fd);
}

#define PATH_TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

static const struct CMUnitTest tests[] = {
    PATH_TEST(test_path),
    PATH_TEST(test_mode),
    PATH_TEST(test_large_over_path),
    PATH_TEST(test_stale_file),
    PATH_TEST(test_path_in_use),
    PATH_TEST(test_file_in_the_way),
    PATH_TEST(test_file_of_another),
    PATH_TEST(test_health_of_path),
    HTTP_TEST(test_restarts),
    PATH_TEST(test_inherited_path),
    HTTP_TEST(test_last_request_of_a_connection),
    HTTP_TEST(test_wrong_inheritance),
    PATH_TEST(test_supervisor),
};

const struct group listen_group = GROUP(tests);
