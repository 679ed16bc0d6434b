#include "tests/http/harness.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS_MAX 40
#define START_SECONDS_MAX 60
#define STOP_SECONDS_MAX 120

static struct attnd shared;
static struct attnd *own_daemons; /* that run */

/* What ran where. */
static struct {
    bool shared_in_test, own_in_test;
    size_t shared, own, skipped;
} counts;

double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void sleep_s(double seconds)
{
    struct timespec rest = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR)
        continue;
}

static const char *binary(void)
{
    const char *given = getenv("ATTND_BIN");
    return given != NULL && given[0] != '\0' ? given : "build/attnd";
}

static const char *url_elsewhere(void)
{
    const char *url = getenv("ATTND_URL");
    return url != NULL && url[0] != '\0' ? url : NULL;
}

/* Skips the running test where there is no binary to start. */
static void want_binary(void)
{
    if (url_elsewhere() != NULL && getenv("ATTND_BIN") == NULL) {
        counts.skipped++;
        skip();
    }
    counts.own_in_test = true;
}

/* In the child: passes descriptor 3 on to the program that comes next, as sd_listen_fds(3) has it. */
static void pass_socket(int listen_fd)
{
    static char count[] = "LISTEN_FDS=1", process[32];
    (void)snprintf(process, sizeof process, "LISTEN_PID=%d", (int)getpid());
    if (listen_fd == 3)
        (void)fcntl(listen_fd, F_SETFD, 0);
    else
        (void)dup2(listen_fd, 3);
    (void)putenv(count);
    (void)putenv(process);
}

/* Starts the binary with its stdout and stderr going where told; it inherits listen_fd, unless that is -1. Returns its process id. */
static pid_t spawn(const char *const *options, int listen_fd, int out, int err)
{
    const char *arguments[OPTIONS_MAX + 2] = {binary()};
    size_t count = 1;
    for (; options[count - 1] != NULL; count++) {
        assert_true(count <= OPTIONS_MAX);
        arguments[count] = options[count - 1];
    }
    (void)fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(out, STDOUT_FILENO);
        (void)dup2(err, STDERR_FILENO);
        if (listen_fd >= 0)
            pass_socket(listen_fd);
        (void)execv(binary(), (char *const *)arguments);
        (void)fprintf(stderr, "cannot run %s: %s\n", binary(), strerror(errno));
        _exit(127);
    }
    return pid;
}

/* Returns the exit status, minus the signal that killed it, or -1000 where it did not end. */
static int wait_for(pid_t pid, double seconds)
{
    int status = 0;
    for (double until = seconds_now() + seconds; seconds_now() < until; sleep_s(0.01)) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, &status, 0);
    return -1000;
}

/* Reads the first line; "" where none came. */
static void read_line(int fd, char *line, size_t line_bytes)
{
    size_t length = 0;
    while (length + 1 < line_bytes && read(fd, line + length, 1) == 1 && line[length] != '\n')
        length++;
    line[length] = '\0';
}

static void launch(struct attnd *attnd, const char *const *options, int listen_fd)
{
    static const char greeting[] = "attnd listening on ";
    char line[ATTND_URL_BYTES_MAX];
    int pipe_fds[2];
    (void)snprintf(attnd->log_file, sizeof attnd->log_file, "/tmp/attnd-test-XXXXXX");
    int log_fd = mkstemp(attnd->log_file);
    assert_true(log_fd >= 0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    attnd->pid = spawn(options, listen_fd, pipe_fds[1], log_fd);
    (void)close(pipe_fds[1]);
    (void)close(log_fd);
    read_line(pipe_fds[0], line, sizeof line);
    (void)close(pipe_fds[0]);
    if (strncmp(line, greeting, sizeof greeting - 1) != 0) {
        char *log = attnd_log(attnd);
        print_error("attnd did not start: \"%s\"\n%s\n", line, log);
        free(log);
        (void)wait_for(attnd->pid, START_SECONDS_MAX);
        attnd->pid = 0;
        fail();
    }
    (void)snprintf(attnd->url, sizeof attnd->url, "%s", line + sizeof greeting - 1);
}

const struct attnd *attnd_shared(void)
{
    static const char *const options[] = {"--listen", "127.0.0.1:0", NULL};
    counts.shared_in_test = true;
    if (shared.url[0] != '\0')
        return &shared;
    if (url_elsewhere() != NULL)
        (void)snprintf(shared.url, sizeof shared.url, "%s", url_elsewhere());
    else
        launch(&shared, options, -1);
    size_t length = strlen(shared.url);
    if (length > 0 && shared.url[length - 1] == '/')
        shared.url[length - 1] = '\0';
    return &shared;
}

static struct attnd *start(const char *const *options, int listen_fd)
{
    struct attnd *attnd = calloc(1, sizeof *attnd);
    assert_non_null(attnd);
    attnd->next = own_daemons;
    own_daemons = attnd;
    launch(attnd, options, listen_fd);
    return attnd;
}

struct attnd *attnd_start_with(const char *const *options)
{
    const char *all[OPTIONS_MAX + 1] = {NULL};
    size_t count = 0;
    bool listens = false;
    want_binary();
    for (; options[count] != NULL; count++) {
        assert_true(count + 2 < OPTIONS_MAX);
        listens |= strncmp(options[count], "--listen", 8) == 0;
        all[count] = options[count];
    }
    if (!listens) {
        all[count++] = "--listen";
        all[count++] = "127.0.0.1:0";
    }
    return start(all, -1);
}

struct attnd *attnd_start_on(int listen_fd, const char *const *options)
{
    want_binary();
    return start(options, listen_fd);
}

static void forget(struct attnd *attnd)
{
    for (struct attnd **at = &own_daemons; *at != NULL; at = &(*at)->next)
        if (*at == attnd) {
            *at = attnd->next;
            break;
        }
    (void)unlink(attnd->log_file);
    free(attnd);
}

int attnd_wait(struct attnd *attnd)
{
    int status = wait_for(attnd->pid, STOP_SECONDS_MAX);
    forget(attnd);
    return status;
}

static void show_log(const struct attnd *attnd)
{
    char *log = attnd_log(attnd);
    size_t length = strlen(log);
    print_error("%s\n", length > 4000 ? log + length - 4000 : log);
    free(log);
}

void attnd_stop(struct attnd *attnd)
{
    (void)kill(attnd->pid, SIGTERM);
    int status = wait_for(attnd->pid, STOP_SECONDS_MAX);
    if (status != 0)
        show_log(attnd);
    attnd->pid = 0;
    assert_int_equal(status, 0);
    forget(attnd);
}

char *attnd_log(const struct attnd *attnd)
{
    size_t bytes = 0, capacity = 65536;
    char *text = malloc(capacity);
    int fd = open(attnd->log_file, O_RDONLY | O_CLOEXEC);
    assert_non_null(text);
    for (ssize_t got; fd >= 0 && (got = read(fd, text + bytes, capacity - 1 - bytes)) > 0;) {
        bytes += (size_t)got;
        if (capacity - 1 - bytes > 0)
            continue;
        capacity *= 2;
        char *grown = realloc(text, capacity);
        assert_non_null(grown);
        text = grown;
    }
    if (fd >= 0)
        (void)close(fd);
    text[bytes] = '\0';
    return text;
}

bool attnd_logs(const struct attnd *attnd, const char *text, double seconds)
{
    bool found = false;
    for (double until = seconds_now() + seconds; !found && seconds_now() < until; sleep_s(0.02)) {
        char *log = attnd_log(attnd);
        found = strstr(log, text) != NULL;
        free(log);
    }
    return found;
}

size_t attnd_resident_bytes(const struct attnd *attnd)
{
    char path[64];
    unsigned long total = 0, resident = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)attnd->pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lu %lu", &total, &resident), 2);
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

size_t attnd_peak_bytes(const struct attnd *attnd)
{
    char path[64], line[200];
    size_t kilobytes = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/status", (int)attnd->pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (kilobytes == 0 && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "VmHWM:", 6) == 0)
            kilobytes = strtoul(line + 6, NULL, 10);
    (void)fclose(file);
    assert_true(kilobytes > 0);
    return kilobytes * 1024;
}

static void read_back(int fd, char text[OUTPUT_BYTES_MAX])
{
    ssize_t bytes = pread(fd, text, OUTPUT_BYTES_MAX - 1, 0);
    text[bytes > 0 ? bytes : 0] = '\0';
    (void)close(fd);
}

int attnd_run(const char *const *options, char out[OUTPUT_BYTES_MAX], char err[OUTPUT_BYTES_MAX])
{
    return attnd_run_on(-1, options, out, err);
}

int attnd_run_on(int listen_fd, const char *const *options, char out[OUTPUT_BYTES_MAX], char err[OUTPUT_BYTES_MAX])
{
    want_binary();
    int out_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int err_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    assert_true(out_fd >= 0 && err_fd >= 0);
    int status = wait_for(spawn(options, listen_fd, out_fd, err_fd), START_SECONDS_MAX);
    read_back(out_fd, out);
    read_back(err_fd, err);
    return status;
}

/* The C library keeps what a test freed, which daemons under the same limit of a container would lack: it goes back. */
int harness_teardown(void **state)
{
    (void)state;
    (void)malloc_trim(0);
    for (struct attnd *left = own_daemons; left != NULL; left = left->next)
        if (left->pid > 0)
            (void)kill(left->pid, SIGKILL);
    requests_abandon();
    while (own_daemons != NULL) {
        struct attnd *left = own_daemons;
        own_daemons = left->next;
        if (left->pid > 0)
            (void)wait_for(left->pid, STOP_SECONDS_MAX);
        (void)unlink(left->log_file);
        free(left);
    }
    counts.own += counts.own_in_test;
    counts.shared += counts.shared_in_test && !counts.own_in_test;
    counts.own_in_test = false;
    counts.shared_in_test = false;
    return 0;
}

int harness_done(void **state)
{
    (void)state;
    int status = 0;
    request_cleanup();
    print_message("%zu tests with the daemon at %s, %zu with daemons of their own, %zu skipped for want of one\n",
                  counts.shared, shared.url[0] != '\0' ? shared.url : "no address", counts.own, counts.skipped);
    if (shared.pid > 0) {
        (void)kill(shared.pid, SIGTERM);
        status = wait_for(shared.pid, STOP_SECONDS_MAX);
        if (status != 0) {
            print_error("the shared daemon ended with status %d\n", status);
            show_log(&shared);
        }
        (void)unlink(shared.log_file);
    }
    return status;
}
