/* access_test.c: API keys, calls from other origins' pages, TLS. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

/* A folder for one test's files. */
struct folder {
    char path[32];
};

static struct folder folder_new(void)
{
    struct folder folder = {"/tmp/attnd-test-XXXXXX"};
    assert_non_null(mkdtemp(folder.path));
    return folder;
}

static char *folder_file(const struct folder *folder, const char *name, const char *text)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", folder->path, name) > 0);
    if (text != NULL) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    return path;
}

static void test_api_key(void **state)
{
    (void)state;
    struct folder folder = folder_new();
    char *file = folder_file(&folder, "keys", "first-key\n\n  second-key \r\nlast-key");
    struct attnd *attnd = attnd_start("--api-key-file", file);
    static const char *const wrong[] = {"X-None: 1",
                                        "X-API-Key: first-ke",
                                        "X-API-Key: first-keys",
                                        "X-API-Key;",
                                        "Authorization: first-key",
                                        "Authorization: Basic first-key",
                                        "Authorization: Bearer",
                                        "Authorization: Bearer third-key"};
    static const char *const right[] = {"X-API-Key: first-key", "Authorization: Bearer second-key",
                                        "authorization: bearer last-key", "X-API-Key: first-key \t"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct reply reply = post_json(attnd, "/attention", SMALL_JSON, wrong[i], NULL);
        assert_problem(&reply, 401);
        assert_string_equal(reply_header(&reply, "WWW-Authenticate"), "Bearer realm=\"attnd\"");
        assert_null(strstr(reply.body, "first-key"));
        reply_done(&reply);
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        struct reply reply = post_json(attnd, "/attention", SMALL_JSON, right[i], NULL);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
    }
    static const char *const paths[] = {"/attention/compare", "/attention/merge"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply = post_json(attnd, paths[i], SMALL_JSON, NULL);
        assert_problem(&reply, 401);
        reply_done(&reply);
    }
    static const char *const open_paths[] = {"/health/ready", "/metrics"};
    struct reply reply;
    for (size_t i = 0; i < sizeof open_paths / sizeof open_paths[0]; i++) {
        reply = get(attnd, open_paths[i], NULL);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
    }
    reply = request_send(attnd, &(struct request){.method = "OPTIONS", .path = "/attention"});
    assert_int_equal(reply.status, 204);
    reply_done(&reply);
    char *log = attnd_log(attnd);
    assert_null(strstr(log, "-key"));
    free(log);
    attnd_stop(attnd);
    (void)unlink(file);
    (void)rmdir(folder.path);
    free(file);
}

static void test_api_key_file_errors(void **state)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX], long_key[400];
    (void)state;
    struct folder folder = folder_new();
    memset(long_key, 'k', sizeof long_key);
    long_key[sizeof long_key - 1] = '\0';
    const char *const texts[] = {"", "\n \n", "two words\n", "caf\xc3\xa9\n", long_key};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char *file = folder_file(&folder, "keys", texts[i]);
        const char *const options[] = {"--listen", "127.0.0.1:0", "--api-key-file", file, NULL};
        assert_int_equal(attnd_run(options, out, err), 2);
        assert_non_null(strstr(err, "attnd: --api-key-file"));
        assert_string_equal(out, "");
        free(file);
    }
    const char *const options[] = {"--listen", "127.0.0.1:0", "--api-key-file", "/nowhere/keys", NULL};
    assert_int_equal(attnd_run(options, out, err), 2);
    const char *const endless[] = {"--listen", "127.0.0.1:0", "--api-key-file", "/dev/zero", NULL};
    assert_int_equal(attnd_run(endless, out, err), 2);
    assert_non_null(strstr(err, "--api-key-file /dev/zero: has more than"));
    char *file = folder_file(&folder, "keys", NULL);
    FILE *zero_byte = fopen(file, "we");
    assert_non_null(zero_byte);
    assert_int_equal(fwrite("abc\0def\n", 1, 8, zero_byte), 8);
    assert_int_equal(fclose(zero_byte), 0);
    const char *const hidden[] = {"--listen", "127.0.0.1:0", "--api-key-file", file, NULL};
    assert_int_equal(attnd_run(hidden, out, err), 2);
    assert_non_null(strstr(err, "line 1 has a byte that is not visible ASCII"));
    (void)unlink(file);
    assert_int_equal(mkfifo(file, 0600), 0); /* without a writer: it must not wait for one */
    assert_int_equal(attnd_run(hidden, out, err), 2);
    assert_non_null(strstr(err, "attnd: --api-key-file"));
    (void)unlink(file);
    (void)rmdir(folder.path);
    free(file);
    const char *const priorities[] = {"--listen", "127.0.0.1:0", "--tls-priorities", "FOO", NULL};
    assert_int_equal(attnd_run(priorities, out, err), 2);
    assert_non_null(strstr(err, "attnd: --tls-priorities"));
}

static void assert_cors(const struct reply *reply, const char *origin)
{
    assert_non_null(reply_header(reply, "Access-Control-Allow-Origin"));
    assert_string_equal(reply_header(reply, "Access-Control-Allow-Origin"), origin);
    assert_non_null(strstr(reply_header(reply, "Access-Control-Expose-Headers"), "X-Request-Id"));
    const char *vary = reply_header(reply, "Vary");
    assert_true((vary != NULL && strstr(vary, "Origin") != NULL) == (strcmp(origin, "*") != 0));
}

static void test_cors(void **state)
{
    static const char *const origins[] = {"*", "https://example.org:8443"};
    static const char *const preflight[] = {"Origin: https://example.org:8443", "Access-Control-Request-Method: POST",
                                            "Access-Control-Request-Headers: content-type", NULL};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct attnd *attnd = attnd_start("--cors-origin", origins[i], "--max-body", "1K");
        struct reply reply = post_json(attnd, "/attention", SMALL_JSON, "Origin: https://example.org:8443", NULL);
        assert_int_equal(reply.status, 200);
        assert_cors(&reply, origins[i]);
        reply_done(&reply);

        reply = get(attnd, "/nowhere", NULL);
        assert_problem(&reply, 404);
        assert_cors(&reply, origins[i]);
        reply_done(&reply);

        char large[4096];
        memset(large, ' ', sizeof large);
        struct request request = {.path = "/attention", .body = large, .body_bytes = sizeof large, .chunked = true};
        reply = request_send(attnd, &request);
        assert_problem(&reply, 413);
        assert_cors(&reply, origins[i]);
        reply_done(&reply);

        reply = request_send(attnd, &(struct request){.method = "OPTIONS", .path = "/attention", .headers = preflight});
        assert_int_equal(reply.status, 204);
        assert_cors(&reply, origins[i]);
        assert_non_null(strstr(reply_header(&reply, "Access-Control-Allow-Methods"), "POST"));
        assert_non_null(strstr(reply_header(&reply, "Access-Control-Allow-Headers"), "Content-Type"));
        assert_non_null(strstr(reply_header(&reply, "Access-Control-Allow-Headers"), "Authorization"));
        assert_non_null(reply_header(&reply, "Access-Control-Max-Age"));
        reply_done(&reply);
        attnd_stop(attnd);
    }
}

/* Makes a certificate for 127.0.0.1 with an "ec" or "rsa:BITS" key. Returns false where there is no openssl command. */
static bool make_certificate(const char *cert, const char *key, const char *type)
{
    const char *curve = strcmp(type, "ec") == 0 ? "ec_paramgen_curve:prime256v1" : "rsa_keygen_pubexp:65537";
    const char *const arguments[] = {
        "openssl", "req",   "-x509", "-newkey", type,       "-pkeyopt", curve,
        "-nodes",  "-days", "2",     "-subj",   "/CN=test", "-addext",  "subjectAltName=IP:127.0.0.1",
        "-keyout", key,     "-out",  cert,      NULL};
    int status = 0;
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(STDERR_FILENO);
        (void)execvp(arguments[0], (char *const *)arguments);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_tls(const struct attnd *attnd, const char *ca_file)
{
    assert_int_equal(strncmp(attnd->url, "https://127.0.0.1:", 18), 0);
    struct request request = {.path = "/health/ready", .ca_file = ca_file};
    struct reply reply = request_send(attnd, &request);
    assert_int_equal(reply.curl_code, 0);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);

    request = (struct request){.path = "/attention", .body = SMALL_JSON, .body_bytes = strlen(SMALL_JSON), .ca_file = ca_file};
    for (int i = 0; i < 3; i++) {
        reply = request_send(attnd, &request);
        assert_int_equal(reply.status, 200);
        assert_int_equal(reply.connection_count, 0);
        reply_done(&reply);
    }

    /* Too large, by its length and by its chunks. */
    char *large = calloc(1, 300000);
    assert_non_null(large);
    for (int chunked = 0; chunked < 2; chunked++) {
        request.body = large;
        request.body_bytes = 300000;
        request.chunked = chunked != 0;
        reply = request_send(attnd, &request);
        assert_int_equal(reply.curl_code, 0);
        assert_problem(&reply, 413);
        reply_done(&reply);
    }
    free(large);
}

static void test_tls(void **state)
{
    (void)state;
    struct folder folder = folder_new();
    char *cert = folder_file(&folder, "cert.pem", NULL), *key = folder_file(&folder, "key.pem", NULL);
    if (make_certificate(cert, key, "ec")) {
        struct attnd *attnd = attnd_start("--tls-cert", cert, "--tls-key", key, "--max-body", "100K", "--request-timeout", "3");
        check_tls(attnd, cert);

        /* Plain HTTP, silence and a client that goes away in the middle harm no other client. */
        int fd = raw_connect(attnd), silent = raw_connect(attnd);
        raw_send(fd, "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n");
        char *answer = raw_read(fd, 30);
        assert_null(strstr(answer, "HTTP/1.1 200"));
        free(answer);
        (void)close(fd);
        struct request request = {
            .path = "/attention", .body = ENDLESS_JSON, .body_bytes = strlen(ENDLESS_JSON), .ca_file = cert, .timeout_s = 0.7};
        struct reply reply = request_send(attnd, &request);
        assert_int_not_equal(reply.curl_code, 0);
        reply_done(&reply);
        assert_true(attnd_logs(attnd, "client gone", 30));
        request = (struct request){.path = "/health/live", .ca_file = cert};
        reply = request_send(attnd, &request);
        assert_int_equal(reply.status, 200);
        reply_done(&reply);
        (void)close(silent);
        attnd_stop(attnd);
    } else {
        print_message("there is no openssl command to make a certificate with\n");
    }
    (void)unlink(cert);
    (void)unlink(key);
    (void)rmdir(folder.path);
    free(cert);
    free(key);
}

/* Whether openssl's client comes to terms with the daemon; `arguments` are its own. */
static bool openssl_connects(const struct attnd *attnd, const char *arguments)
{
    char command[512];
    (void)snprintf(command, sizeof command, "openssl s_client -connect %s %s </dev/null >/dev/null 2>&1",
                   attnd->url + strlen("https://"), arguments);
    int status = system(command); /* NOLINT(cert-env33-c): the arguments are the tests' own */
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Only TLS 1.2 and 1.3, and no key exchange without forward secrecy. */
static void test_tls_versions(void **state)
{
    (void)state;
    struct folder folder = folder_new();
    char *cert = folder_file(&folder, "cert.pem", NULL), *key = folder_file(&folder, "key.pem", NULL);
    if (make_certificate(cert, key, "rsa:2048")) {
        struct attnd *attnd = attnd_start("--tls-cert", cert, "--tls-key", key);
        assert_true(openssl_connects(attnd, "-tls1_3"));
        assert_true(openssl_connects(attnd, "-tls1_2"));
        assert_true(openssl_connects(attnd, "-tls1_2 -cipher ECDHE-RSA-AES128-GCM-SHA256"));
        assert_false(openssl_connects(attnd, "-tls1_2 -cipher AES128-GCM-SHA256:AES128-SHA"));
        assert_false(openssl_connects(attnd, "-tls1_1 -cipher ALL:@SECLEVEL=0"));
        assert_false(openssl_connects(attnd, "-tls1 -cipher ALL:@SECLEVEL=0"));
        attnd_stop(attnd);

        attnd = attnd_start("--tls-cert", cert, "--tls-key", key, "--tls-priorities", "SECURE256:-VERS-ALL:+VERS-TLS1.3");
        assert_true(openssl_connects(attnd, "-tls1_3"));
        assert_false(openssl_connects(attnd, "-tls1_2"));
        attnd_stop(attnd);

        char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
        const char *const wrong[] = {"--tls-cert", cert, "--tls-key", key, "--tls-priorities", "NORMAL:+NONSENSE", NULL};
        assert_int_equal(attnd_run(wrong, out, err), 2);
        assert_non_null(strstr(err, "--tls-priorities: GnuTLS does not understand"));
    }
    (void)unlink(cert);
    (void)unlink(key);
    (void)rmdir(folder.path);
    free(cert);
    free(key);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_key(const struct attnd *attnd, const char *header, long status)
{
    struct reply reply = post_json(attnd, "/attention", SMALL_JSON, header);
    assert_int_equal(reply.status, status);
    reply_done(&reply);
}

/* SIGHUP has the key file read again; what is wrong with the new one leaves the old keys. Requests in between are answered. */
static void test_keys_read_again(void **state)
{
    (void)state;
    struct folder folder = folder_new();
    char *file = folder_file(&folder, "keys", "first");
    struct attnd *attnd = attnd_start("--api-key-file", file);
    assert_key(attnd, "X-API-Key: first", 200);
    assert_key(attnd, "X-API-Key: second", 401);
    write_file(file, "second\nthird\n");
    assert_key(attnd, "X-API-Key: second", 401);
    (void)kill(attnd->pid, SIGHUP);
    assert_true(attnd_logs(attnd, "read again", 30));
    assert_key(attnd, "X-API-Key: first", 401);
    assert_key(attnd, "X-API-Key: second", 200);
    write_file(file, "\n");
    (void)kill(attnd->pid, SIGHUP);
    assert_true(attnd_logs(attnd, "there is no key in it", 30));
    assert_true(attnd_logs(attnd, "the ones in use stay", 30));
    assert_key(attnd, "X-API-Key: third", 200);
    (void)unlink(file);
    (void)kill(attnd->pid, SIGHUP);
    assert_true(attnd_logs(attnd, "No such file", 30));
    assert_key(attnd, "X-API-Key: third", 200);
    attnd_stop(attnd);
    (void)rmdir(folder.path);
    free(file);
}

/* The daemon's certificate is that of `ca_file`. */
static void assert_certificate(const struct attnd *attnd, const char *ca_file, bool is)
{
    struct request request = {.path = "/health/live", .ca_file = ca_file, .new_connection = true};
    struct reply reply = request_send(attnd, &request);
    assert_true((reply.curl_code == 0) == is);
    reply_done(&reply);
}

static void test_certificate_read_again(void **state)
{
    (void)state;
    struct folder folder = folder_new();
    char *cert = folder_file(&folder, "cert.pem", NULL), *key = folder_file(&folder, "key.pem", NULL);
    char *next_cert = folder_file(&folder, "next.pem", NULL), *next_key = folder_file(&folder, "next.key", NULL);
    if (make_certificate(cert, key, "ec") && make_certificate(next_cert, next_key, "ec")) {
        struct attnd *attnd = attnd_start("--tls-cert", cert, "--tls-key", key);
        assert_certificate(attnd, cert, true);
        assert_int_equal(rename(next_key, key), 0); /* half of the new pair */
        (void)kill(attnd->pid, SIGHUP);
        assert_true(attnd_logs(attnd, "do not fit together", 30));
        assert_certificate(attnd, cert, true);

        char *before = folder_file(&folder, "before.pem", NULL);
        assert_int_equal(link(cert, before), 0);
        assert_int_equal(rename(next_cert, cert), 0);
        (void)kill(attnd->pid, SIGHUP);
        assert_true(attnd_logs(attnd, "--tls-cert", 30) && attnd_logs(attnd, "read again", 30));
        struct reply reply = request_send(attnd, &(struct request){.path = "/health/live", .ca_file = cert});
        assert_int_equal(reply.status, 200); /* the connection that was open goes on */
        assert_int_equal(reply.connection_count, 0);
        reply_done(&reply);
        assert_certificate(attnd, cert, true);
        assert_certificate(attnd, before, false);
        attnd_stop(attnd);
        (void)unlink(before);
        free(before);
    }
    (void)unlink(cert);
    (void)unlink(key);
    (void)unlink(next_cert);
    (void)unlink(next_key);
    (void)rmdir(folder.path);
    free(cert);
    free(key);
    free(next_cert);
    free(next_key);
}

static void test_tls_errors(void **state)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    (void)state;
    const char *const half[] = {"--tls-cert", "/nowhere/cert.pem", NULL};
    assert_int_equal(attnd_run(half, out, err), 2);
    assert_non_null(strstr(err, "--tls-key"));
    const char *const missing[] = {"--listen", "127.0.0.1:0", "--tls-cert", "/nowhere/cert", "--tls-key", "/nowhere/key", NULL};
    assert_int_equal(attnd_run(missing, out, err), 2);
    assert_non_null(strstr(err, "--tls-cert /nowhere/cert"));

    struct folder folder = folder_new();
    char *file = folder_file(&folder, "cert.pem", "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n");
    const char *const broken[] = {"--listen", "127.0.0.1:0", "--tls-cert", file, "--tls-key", file, NULL};
    assert_int_equal(attnd_run(broken, out, err), 2);
    assert_non_null(strstr(err, "do not fit together"));
    assert_non_null(strstr(err, file));
    (void)unlink(file);
    (void)rmdir(folder.path);
    free(file);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_api_key),
    HTTP_TEST(test_api_key_file_errors),
    HTTP_TEST(test_cors),
    HTTP_TEST(test_tls),
    HTTP_TEST(test_tls_errors),
    HTTP_TEST(test_tls_versions),
    HTTP_TEST(test_keys_read_again),
    HTTP_TEST(test_certificate_read_again),
};

const struct group access_group = GROUP(tests);
