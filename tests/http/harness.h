/* harness.h: talks HTTP to attnd, as a client would: libcurl for what clients send, bare sockets for what they should not.
 *
 *   static void test_example(void **state)
 *   {
 *       const struct attnd *attnd = attnd_shared();
 *       struct reply reply = post_json(attnd, "/attention", "{...}", "Accept: application/json");
 *       assert_int_equal(reply.status, 200);
 *       assert_string_equal(reply_header(&reply, "Content-Type"), "application/json");
 *       ... reply.body ...
 *       reply_done(&reply);
 *   }
 *
 * Daemons  attnd_shared: one for all tests, with default options. With ATTND_URL in the environment it is that one, which
 *          runs somewhere already; else the harness starts $ATTND_BIN (build/attnd) on a free port.
 *          attnd_start: one with options of its own; the test is skipped where ATTND_URL is given and ATTND_BIN is not.
 * Failure  what cannot be done (no daemon, no connection) fails the running test.
 * Cleanup  HTTP_TEST ends what a failed test left running. */
#ifndef ATTND_TESTS_HTTP_HARNESS_H
#define ATTND_TESTS_HTTP_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "tests/support/check.h"

#define HTTP_TEST(function) cmocka_unit_test_teardown(function, harness_teardown)

/* ---- daemons ---- */

#define ATTND_URL_BYTES_MAX 256

struct attnd {
    char url[ATTND_URL_BYTES_MAX]; /* without a slash at the end; or unix:PATH */
    pid_t pid;                     /* 0 where it runs elsewhere */
    char log_file[64];             /* its stderr; "" where it runs elsewhere */
    struct attnd *next;
};

const struct attnd *attnd_shared(void);

/* A list of strings that ends with NULL, from strings or NULL. */
#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

/* attnd_start("--threads", "2"), attnd_start(NULL): options as on the command line. A free port on 127.0.0.1 unless
 * --listen is among them. */
#define attnd_start(...) attnd_start_with(LIST(__VA_ARGS__))
struct attnd *attnd_start_with(const char *const *options);

/* The same with a listening socket for it to inherit, as systemd passes it; `options` are a list. */
struct attnd *attnd_start_on(int listen_fd, const char *const *options);

/* SIGTERM, waits, frees. Fails the test unless the exit status is 0. */
void attnd_stop(struct attnd *attnd);

/* Waits for the daemon's end, frees. Returns the exit status, or minus the signal that killed it. */
int attnd_wait(struct attnd *attnd);

/* What the daemon has logged so far; new, to be freed. */
char *attnd_log(const struct attnd *attnd);

/* Waits up to `seconds` for a text in the log. Returns whether it came. */
bool attnd_logs(const struct attnd *attnd, const char *text, double seconds);

/* Memory in RAM, in bytes. */
size_t attnd_resident_bytes(const struct attnd *attnd);

/* The most that it ever had there. */
size_t attnd_peak_bytes(const struct attnd *attnd);

/* Runs the daemon's binary to its end, with a descriptor for it to inherit or, by attnd_run, none. Returns the exit status; what it printed goes to the two buffers. */
#define OUTPUT_BYTES_MAX 16384
int attnd_run_on(int listen_fd, const char *const *options, char out[OUTPUT_BYTES_MAX], char err[OUTPUT_BYTES_MAX]);
int attnd_run(const char *const *options, char out[OUTPUT_BYTES_MAX], char err[OUTPUT_BYTES_MAX]);

/* ---- requests ---- */

struct reply {
    long status;
    char *headers; /* as received, of the last reply where interim ones came before */
    char *body;    /* NUL-terminated behind body_bytes */
    size_t body_bytes;
    double seconds;
    int curl_code;         /* 0, or libcurl's code: then there is no reply */
    long connection_count; /* connections opened for it; 0 on a connection that was there */
};

/* The last arguments are header lines, as "Accept: text/plain"; NULL where there are none. */
#define get(attnd, path, ...) get_with(attnd, path, LIST(__VA_ARGS__))
#define post(attnd, path, body, body_bytes, ...) post_with(attnd, path, body, body_bytes, LIST(__VA_ARGS__))
#define post_json(attnd, path, json, ...) post_json_with(attnd, path, json, LIST(__VA_ARGS__))
struct reply get_with(const struct attnd *attnd, const char *path, const char *const *headers);
struct reply post_with(const struct attnd *attnd, const char *path, const void *body, size_t body_bytes,
                       const char *const *headers);
struct reply post_json_with(const struct attnd *attnd, const char *path, const char *json, const char *const *headers);

/* Any request. Takes over nothing, follows nothing, verifies the server's certificate against `ca_file`. */
struct request {
    const char *method, *path;
    const void *body; /* NULL: none */
    size_t body_bytes;
    const char *const *headers; /* NULL at the end; NULL: none */
    bool chunked, http_1_0, new_connection;
    double timeout_s; /* 0: 120 */
    const char *ca_file;
};
struct reply request_send(const struct attnd *attnd, const struct request *request);

/* The value of a header, case-insensitive; NULL where absent. Valid until the next four calls. */
const char *reply_header(const struct reply *reply, const char *name);

/* Fails the test unless the reply is problem+json with that status and its own status inside. */
void assert_problem(const struct reply *reply, long status);

void reply_done(struct reply *reply);

/* A request in a thread of its own. */
struct pending;
struct pending *post_later(const struct attnd *attnd, const char *path, const char *json);
struct reply pending_reply(struct pending *pending); /* waits, frees */

/* ---- bare sockets ---- */

int raw_connect(const struct attnd *attnd);
void raw_send(int fd, const char *text);
bool raw_try_send(int fd, const char *text, size_t bytes); /* false once the other side does not take it */

/* Everything until the other side closes, at most `seconds`; new, NUL-terminated, to be freed. Does not close. */
char *raw_read(int fd, double seconds);

/* Sends on a connection of its own, closes the sending side if `half_close`, and returns everything until the other side closes; new. */
char *raw_exchange(const struct attnd *attnd, const char *text, bool half_close);

/* Puts a whole POST together; new, to be freed. `headers` are lines that end in \r\n, or "". */
char *raw_post(const char *path, const char *headers, const char *body);

size_t count_of(const char *text, const char *part);

/* ---- bodies ---- */

/* A request that computes for about so many seconds on that daemon, replying little; to be freed. */
char *busy_json(const struct attnd *attnd, double seconds);

/* Computes for minutes, wherever; its reply would have 2.6 MB. */
#define ENDLESS_JSON "{\"seed\": 1, \"x\": {\"shape\": [524288, 4]}, \"projection\": \"identity\", \"return\": [\"lse\"]}"

/* Its reply takes 35 MiB of memory, and is more than the system holds for a client that does not read. */
#define LONG_REPLY_JSON                                                                                                        \
    "{\"seed\": 1, \"x\": {\"shape\": [256, 64, 64]}, \"projection\": \"identity\", \"return\": [\"output\"], \"decimals\": "  \
    "1}"

/* The README's smallest: 200. */
#define SMALL_JSON "{\"query\": [[1, 0], [0, 1]], \"key\": [[1, 0], [0, 1]], \"value\": [[10], [20]]}"

/* ---- for main and for HTTP_TEST ---- */

/* Frees what the calling thread keeps for its next request. */
void request_cleanup(void);

/* Waits for the requests that a failed test left pending. */
void requests_abandon(void);

double seconds_now(void);
void sleep_s(double seconds);
int harness_teardown(void **state);
int harness_done(void **state); /* ends the shared daemon, says what ran where */

#endif
