/* latency: how long small requests take on an idle daemon, and beside clients that compute large attention.
 *
 *   build/bench/latency ATTND [SECONDS] [LARGE_CLIENTS] [SMALL_CLIENTS]
 *
 * Starts that program on a free port of 127.0.0.1. Each phase takes SECONDS (10). Large requests are drawn from a seed or uploaded as
 * safetensors, [1,8,4096,64]; small ones are two queries of two dimensions. In the last phase MANY_CLIENTS send small ones. Prints the
 * machine, its load and a Markdown table. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SAMPLES_MAX ((size_t)1 << 20)
#define CLIENTS_MAX 512
#define HEAD_BYTES_MAX 4096
#define TIMEOUT_S 120
#define MANY_CLIENTS 256

static const char small_body[] = "{\"query\":[[1,0],[0,1]],\"key\":[[1,0],[0,1]],\"value\":[[10],[20]]}";
static const char drawn_body[] = "{\"seed\":1,\"query\":{\"shape\":[1,8,4096,64]},\"key\":{\"shape\":[1,8,4096,64]},"
                                 "\"value\":{\"shape\":[1,8,4096,64]},\"return\":[\"output\"]}";

struct message {
    char *text;
    size_t bytes;
};

struct client {
    pthread_t thread;
    int port;
    const struct message *message;
    const atomic_bool *stop;
    double *samples_ms; /* [SAMPLES_MAX / clients] */
    size_t sample_count, sample_count_max, refused_count;
};

static void must(bool done, const char *what)
{
    if (done)
        return;
    perror(what);
    exit(1);
}

static double now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static struct message post(const char *headers, const void *body, size_t body_bytes)
{
    struct message message = {.text = malloc(HEAD_BYTES_MAX + body_bytes)};
    must(message.text != NULL, "malloc");
    message.bytes =
        (size_t)snprintf(message.text, HEAD_BYTES_MAX,
                         "POST /attention HTTP/1.1\r\nHost: bench\r\n%sContent-Length: %zu\r\n\r\n", headers, body_bytes);
    memcpy(message.text + message.bytes, body, body_bytes);
    message.bytes += body_bytes;
    return message;
}

/* Three tensors [1,8,4096,64] of float32, numbers between -1 and 1. */
static struct message post_uploaded(void)
{
    const size_t count = (size_t)8 * 4096 * 64, bytes = count * sizeof(float);
    char header[512];
    int length = snprintf(header, sizeof header,
                          "{\"query\":{\"dtype\":\"F32\",\"shape\":[1,8,4096,64],\"data_offsets\":[0,%zu]},"
                          "\"key\":{\"dtype\":\"F32\",\"shape\":[1,8,4096,64],\"data_offsets\":[%zu,%zu]},"
                          "\"value\":{\"dtype\":\"F32\",\"shape\":[1,8,4096,64],\"data_offsets\":[%zu,%zu]}}",
                          bytes, bytes, 2 * bytes, 2 * bytes, 3 * bytes);
    size_t padded = ((size_t)length + 7) / 8 * 8;
    char *body = malloc(8 + padded + 3 * bytes);
    must(body != NULL, "malloc");
    memset(body, 0, 8);
    body[0] = (char)(padded & 0xff);
    body[1] = (char)(padded >> 8);
    memset(body + 8, ' ', padded);
    memcpy(body + 8, header, (size_t)length);
    unsigned drawn = 1;
    for (size_t i = 0; i < 3 * count; i++) {
        float number = (float)((int)(drawn >> 8) - (1 << 23)) / (float)(1 << 23);
        drawn = drawn * 1664525 + 1013904223;
        memcpy(body + 8 + padded + i * sizeof number, &number, sizeof number);
    }
    struct message message =
        post("Content-Type: application/x-safetensors\r\nAccept: application/x-safetensors\r\n", body, 8 + padded + 3 * bytes);
    free(body);
    return message;
}

static int connect_to(int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    const int on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    return fd;
}

/* Reads one reply, dropping its body. Returns its status. */
static int read_reply(int fd)
{
    char head[HEAD_BYTES_MAX + 1];
    size_t bytes = 0;
    char *end = NULL;
    while (end == NULL) {
        ssize_t got = recv(fd, head + bytes, HEAD_BYTES_MAX - bytes, 0);
        must(got > 0, "recv");
        bytes += (size_t)got;
        head[bytes] = '\0';
        end = strstr(head, "\r\n\r\n");
    }
    const char *length = strcasestr(head, "\r\nContent-Length:");
    must(length != NULL, "Content-Length");
    size_t left = strtoul(length + 17, NULL, 10) - (bytes - (size_t)(end + 4 - head));
    while (left > 0) {
        /* cppcheck-suppress nullPointer ; MSG_TRUNC drops the bytes without copying */
        ssize_t got = recv(fd, NULL, left, MSG_TRUNC);
        must(got > 0, "recv");
        left -= (size_t)got;
    }
    return (int)strtol(head + 9, NULL, 10);
}

static void *run_client(void *argument)
{
    struct client *client = argument;
    int fd = connect_to(client->port);
    while (!atomic_load(client->stop) && client->sample_count < client->sample_count_max) {
        double sent_ms = now_ms();
        for (size_t at = 0; at < client->message->bytes;) {
            ssize_t sent = send(fd, client->message->text + at, client->message->bytes - at, MSG_NOSIGNAL);
            must(sent > 0, "send");
            at += (size_t)sent;
        }
        if (read_reply(fd) == 200)
            client->samples_ms[client->sample_count++] = now_ms() - sent_ms;
        else
            client->refused_count++;
    }
    (void)close(fd);
    return NULL;
}

static struct client *start(size_t count, int port, const struct message *message, const atomic_bool *stop)
{
    struct client *clients = calloc(count + 1, sizeof *clients);
    must(clients != NULL, "calloc");
    for (size_t i = 0; i < count; i++) {
        clients[i] = (struct client){.port = port, .message = message, .stop = stop, .sample_count_max = SAMPLES_MAX / count};
        clients[i].samples_ms = malloc(clients[i].sample_count_max * sizeof(double));
        must(clients[i].samples_ms != NULL && pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) == 0, "thread");
    }
    return clients;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Joins and frees the clients. Prints " count | p50 | p99 | max | refused |". */
static void report(struct client *clients, size_t client_count)
{
    size_t count = 0, refused = 0;
    double *samples_ms = malloc((SAMPLES_MAX + 1) * sizeof(double));
    must(samples_ms != NULL, "malloc");
    for (size_t i = 0; i < client_count; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        memcpy(samples_ms + count, clients[i].samples_ms, clients[i].sample_count * sizeof(double));
        count += clients[i].sample_count;
        refused += clients[i].refused_count;
        free(clients[i].samples_ms);
    }
    free(clients);
    qsort(samples_ms, count, sizeof(double), compare);
    if (count == 0)
        (void)printf(" 0 | | | | %zu |", refused);
    else
        (void)printf(" %zu | %.3g | %.3g | %.3g | %zu |", count, samples_ms[count / 2], samples_ms[count - 1 - count / 100],
                     samples_ms[count - 1], refused);
    free(samples_ms);
}

/* One phase, one line of the table; `large` NULL: small requests alone. */
static void phase(const char *name, int port, int seconds, const struct message *small, size_t small_clients,
                  const struct message *large, size_t large_clients)
{
    atomic_bool stop_small = false, stop_large = false;
    struct client *large_running = start(large != NULL ? large_clients : 0, port, large, &stop_large);
    if (large != NULL)
        (void)sleep(1); /* so that they compute */
    struct client *small_running = start(small_clients, port, small, &stop_small);
    (void)sleep((unsigned)seconds);
    (void)printf("| %s |", name);
    atomic_store(&stop_small, true);
    report(small_running, small_clients);
    atomic_store(&stop_large, true);
    report(large_running, large != NULL ? large_clients : 0);
    (void)printf("\n");
    (void)fflush(stdout);
}

static const char *instructions(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f"))
        return ", AVX-512";
    if (__builtin_cpu_supports("avx2"))
        return ", AVX2";
#endif
    return "";
}

static void print_machine(void)
{
    char line[256] = "", processor[256] = "an unknown processor";
    double load = 0;
    FILE *file = fopen("/proc/cpuinfo", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "model name : %255[^\n]", processor) == 1)
            break;
    if (file != NULL)
        (void)fclose(file);
    (void)getloadavg(&load, 1);
    (void)printf(
        "# Small requests beside large ones\n\n%s, %ld cores%s; load %.1f at the start. Written by `make bench-latency`.\n\n",
        processor, sysconf(_SC_NPROCESSORS_ONLN), instructions(), load);
}

/* Starts the daemon; returns its process. Its first line ends in its port. */
static pid_t start_attnd(const char *program, int *ret_port)
{
    int out[2];
    char line[256] = "";
    must(pipe(out) == 0, "pipe");
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid == 0) {
        (void)dup2(out[1], 1);
        must(freopen("/dev/null", "w", stderr) != NULL, "/dev/null");
        (void)execl(program, program, "--listen", "127.0.0.1:0", (char *)NULL);
        _exit(127);
    }
    (void)close(out[1]);
    must(read(out[0], line, sizeof line - 1) > 0 && strrchr(line, ':') != NULL, program);
    (void)close(out[0]);
    *ret_port = (int)strtol(strrchr(line, ':') + 1, NULL, 10);
    return pid;
}

static size_t argument_or(int count, char **arguments, int at, size_t otherwise)
{
    return at < count ? strtoul(arguments[at], NULL, 10) : otherwise;
}

int main(int count, char **arguments)
{
    int port, seconds = (int)argument_or(count, arguments, 2, 10);
    size_t large_clients = argument_or(count, arguments, 3, 2), small_clients = argument_or(count, arguments, 4, 1);
    if (count < 2 || seconds < 1 || seconds > 600 || small_clients < 1 || small_clients > CLIENTS_MAX ||
        large_clients > CLIENTS_MAX) {
        (void)fprintf(stderr, "usage: latency ATTND [SECONDS] [LARGE_CLIENTS] [SMALL_CLIENTS]\n");
        return 2;
    }
    pid_t attnd = start_attnd(arguments[1], &port);
    struct message small = post("", small_body, strlen(small_body));
    struct message drawn = post("", drawn_body, strlen(drawn_body)), uploaded = post_uploaded();
    print_machine();
    (void)printf("%zu clients with small requests, beside %zu with large ones, %d s each:\n\n"
                 "| beside | small requests | p50 ms | p99 ms | max ms | refused | large requests | p50 ms | p99 ms | max ms | "
                 "refused |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
                 small_clients, large_clients, seconds);
    phase("nothing", port, seconds, &small, small_clients, NULL, 0);
    phase("drawn [1,8,4096,64], JSON out", port, seconds, &small, small_clients, &drawn, large_clients);
    phase("uploaded [1,8,4096,64], safetensors", port, seconds, &small, small_clients, &uploaded, large_clients);
    phase("nothing, from 256 clients", port, seconds, &small, MANY_CLIENTS, NULL, 0);
    free(small.text);
    free(drawn.text);
    free(uploaded.text);
    (void)kill(attnd, SIGTERM);
    (void)waitpid(attnd, NULL, 0);
    return 0;
}
