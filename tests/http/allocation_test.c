/* allocation_test.c: each allocation of a request fails once: the request is answered all the same, and nothing leaks. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define ALLOCATIONS_MAX 400

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define OWN_ALLOCATOR true /* which leaves no room for another */
#else
#define OWN_ALLOCATOR false
#endif

/* What tests/tools/fail_allocation.c reads. */
struct control {
    volatile int left, failed;
};

/* Finds the library beside this program. */
static bool find_library(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 64);
    assert_true(length > 0);
    path[length] = '\0';
    char *name = strrchr(path, '/');
    (void)snprintf(name, (size_t)(path + PATH_MAX - name), "/tools/fail_allocation.so");
    return access(path, R_OK) == 0;
}

static struct control *control_new(char *path)
{
    const struct control none = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, &none, sizeof none), sizeof none);
    void *mapped = mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(mapped != MAP_FAILED);
    (void)close(fd);
    return mapped;
}

static struct attnd *start_preloaded(const char *library, const char *control_file)
{
    assert_int_equal(setenv("LD_PRELOAD", library, 1), 0);
    assert_int_equal(setenv("ATTND_FAIL_ALLOCATION", control_file, 1), 0);
    struct attnd *attnd = attnd_start("--threads", "2");
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("ATTND_FAIL_ALLOCATION");
    return attnd;
}

/* The status of the next reply on the connection, 0 where it closes without one. */
static int next_status(int fd)
{
    char text[16384];
    size_t bytes = 0;
    text[0] = '\0';
    while (strstr(text, "\r\n\r\n") == NULL && bytes < sizeof text - 1) {
        ssize_t got = read(fd, text + bytes, sizeof text - 1 - bytes);
        if (got <= 0)
            return 0;
        bytes += (size_t)got;
        text[bytes] = '\0';
    }
    assert_int_equal(strncmp(text, "HTTP/1.1 ", 9), 0);
    return (int)strtol(text + 9, NULL, 10);
}

#define LIVE "GET /health/live HTTP/1.1\r\nHost: test\r\n\r\n"

/* Fails the request's allocations one after the other, each on a connection that has served a request before: what accepting one
 * takes is libmicrohttpd's own. Returns how many there were. */
static int fail_each(const struct attnd *attnd, struct control *control, const char *name, const char *text, int status)
{
    for (int n = 1; n <= ALLOCATIONS_MAX; n++) {
        int fd = raw_connect(attnd);
        raw_send(fd, LIVE);
        assert_int_equal(next_status(fd), 200);
        control->failed = 0;
        control->left = n;
        raw_send(fd, text);
        int answered = next_status(fd);
        bool failed = control->failed > 0;
        control->left = 0;
        (void)close(fd);
        if (answered != status && !(failed && answered == 503))
            print_error("%s, allocation %d: status %d\n", name, n, answered);
        assert_true(answered == status || (failed && answered == 503));
        if (!failed)
            return n - 1;
    }
    fail_msg("%s: more than %d allocations", name, ALLOCATIONS_MAX);
    return 0;
}

#define MERGE_JSON "{\"parts\": [{\"output\": [[5]], \"lse\": [1]}, {\"output\": [[6]], \"lse\": [1]}]}"
#define COMPARE_JSON "{\"request\": " SMALL_JSON ", \"expected\": {\"output\": [[10], [20]]}}"

static void test_each_allocation_fails(void **state)
{
    static const char infer[] =
        "{\"inputs\": [{\"name\": \"Q\", \"shape\": [1,1,1,2], \"datatype\": \"FP32\", \"data\": [1,0]}, "
        "{\"name\": \"K\", \"shape\": [1,1,1,2], \"datatype\": \"FP32\", \"data\": [1,0]}, "
        "{\"name\": \"V\", \"shape\": [1,1,1,2], \"datatype\": \"FP32\", \"data\": [1,0]}]}";
    static const char seeded[] = "{\"seed\": 1, \"x\": {\"shape\": [256, 64]}, \"projection\": \"identity\"}";
    static const char long_enough[] =
        "{\"seed\": 1, \"x\": {\"shape\": [32, 64]}, \"projection\": \"identity\", \"return\": [\"output\"]}";
    char *const posts[] = {
        raw_post("/attention", "", SMALL_JSON),
        raw_post("/attention", "", seeded),
        raw_post("/attention", "Accept-Encoding: gzip\r\n", long_enough),
        raw_post("/attention", "Accept: application/x-safetensors\r\n", SMALL_JSON),
        raw_post("/attention", "", "{\"query\": 1}"),
        raw_post("/attention", "", "{"),
        raw_post("/v2/models/attention/infer", "", infer),
        raw_post("/nowhere", "", "{}"),
        raw_post("/attention/compare", "", COMPARE_JSON),
        raw_post("/attention", "Transfer-Encoding: gzip\r\n", "{}"),
        raw_post("/attention/merge", "", MERGE_JSON),
    };
    const struct {
        const char *name, *text;
        int status;
    } cases[] = {
        {"small", posts[0], 200},
        {"seeded", posts[1], 200},
        {"gzip", posts[2], 200},
        {"safetensors", posts[3], 200},
        {"invalid", posts[4], 422},
        {"malformed", posts[5], 400},
        {"infer", posts[6], 200},
        {"nowhere", posts[7], 404},
        {"live", LIVE, 200},
        {"metrics", "GET /metrics HTTP/1.1\r\nHost: test\r\n\r\n", 200},
        {"options", "OPTIONS /attention HTTP/1.1\r\nHost: test\r\n\r\n", 204},
        {"page", "GET / HTTP/1.1\r\nHost: test\r\n\r\n", 200},
        {"chunked", "POST /attention HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 422},
        {"compare", posts[8], 200},
        {"merge", posts[10], 200},
        {"two framings", posts[9], 400},
        {"wrong length", "POST /attention HTTP/1.1\r\nHost: test\r\nContent-Length: 2x\r\n\r\n{}", 400},
        {"bare LF", "GET /health/live HTTP/1.1\nHost: test\r\n\r\n", 400},
        {"no HTTP", "GET / /HTTP/1.1 HTTP/1.1\r\nHost: test\r\n\r\n", 400},
    };
    char library[PATH_MAX], control_file[] = "/tmp/attnd-test-XXXXXX";
    (void)state;
    if (OWN_ALLOCATOR || !find_library(library)) {
        print_message("allocations cannot be made to fail here\n");
        goto done;
    }
    struct control *control = control_new(control_file);
    struct attnd *attnd = start_preloaded(library, control_file);
    size_t before = 0;
    for (int round = 0; round < 4; round++) { /* the heap has its size after two */
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
            (void)fail_each(attnd, control, cases[i].name, cases[i].text, cases[i].status);
        before = round == 1 ? attnd_resident_bytes(attnd) : before;
    }
    size_t after = attnd_resident_bytes(attnd);
    print_message("resident %zu KiB before, %zu KiB after\n", before / 1024, after / 1024);
    assert_true(after <
                before + ((size_t)3 << 20)); /* the heap is cut up differently; a leak of each failed request would be more */
    assert_true(attnd_logs(attnd, "end=\"no memory\"", 5));
    attnd_stop(attnd);
    (void)munmap(control, sizeof *control);
    (void)unlink(control_file);
done:
    for (size_t i = 0; i < sizeof posts / sizeof posts[0]; i++)
        free(posts[i]);
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_each_allocation_fails),
};

const struct group allocation_group = GROUP(tests);
