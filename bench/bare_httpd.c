/* bare_httpd: libmicrohttpd alone, in the mode that attnd uses it in. It reads each request's body, knows nothing of it, and replies with
 * as many bytes as asked for: the limit that `make bench-http` compares attnd with.
 *
 *   build/bench/bare_httpd PORT BYTES THREADS      on 127.0.0.1, until it is killed */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECTIONS_MAX 2048U

struct reply {
    char *text;
    size_t bytes;
};

static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *data, size_t *data_bytes, void **seen)
{
    const struct reply *reply = context;
    (void)url;
    (void)method;
    (void)version;
    (void)data;
    if (*seen == NULL || *data_bytes > 0) {
        *seen = context;
        *data_bytes = 0;
        return MHD_YES;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(reply->bytes, reply->text, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    (void)MHD_add_response_header(response, "Content-Type", "application/json");
    enum MHD_Result queued = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return queued;
}

int main(int count, char **arguments)
{
    if (count != 4) {
        (void)fprintf(stderr, "usage: bare_httpd PORT BYTES THREADS\n");
        return 2;
    }
    struct reply reply = {.bytes = strtoul(arguments[2], NULL, 10)};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(arguments[1], NULL, 10))};
    const struct MHD_OptionItem pool[] = {{MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)strtoul(arguments[3], NULL, 10), NULL},
                                          {MHD_OPTION_END, 0, NULL}};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    reply.text = malloc(reply.bytes + 1);
    if (reply.text == NULL)
        return 1;
    memset(reply.text, ' ', reply.bytes);
    const struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_TURBO, 0, NULL, NULL, answer, &reply, MHD_OPTION_SOCK_ADDR,
                         (const struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_ARRAY,
                         pool, MHD_OPTION_END);
    if (daemon == NULL)
        return 1;
    for (;;)
        (void)pause();
}
