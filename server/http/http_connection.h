/* http_connection.h: a client's connection, from accept to close.
 *
 * It owns its request until that is freed: libmicrohttpd drops some requests without a word (more query arguments or cookies
 * than fit its memory), and what it leaves behind is replied to, logged and freed as the connection closes. So is what
 * libmicrohttpd does not even recognise as a request line.
 *
 * Threads  the connection's own: one of those for sockets, which libmicrohttpd hands it to for good. */
#ifndef ATTND_SERVER_HTTP_HTTP_CONNECTION_H
#define ATTND_SERVER_HTTP_HTTP_CONNECTION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/http/service.h"
#include "server/http/tls.h"

struct http_request;

struct http_connection {
    struct http_connection *previous, *next; /* of its thread's connections */
    struct service *service;                 /* borrowed */
    struct connection *watch;                /* owned: the monitor's view */
    int fd;                                  /* borrowed: libmicrohttpd closes it */
    struct tls *tls;                         /* borrowed; NULL: none, and a reply can be written past libmicrohttpd */
    struct tls_certificate *certificate;     /* of tls, since the handshake; NULL before */
    bool fresh;                              /* without a first request */
    bool reused;                             /* a request has been answered, and another may follow */
    atomic_bool cut;                         /* to make room for others: by any thread for sockets */
    bool lingers;                            /* unread bytes must not reset it */
    atomic_bool closes;                      /* after the reply that was given last; read by any thread for sockets */
    uint64_t accounted_bytes;                /* received, and part of requests that were answered */
    uint32_t sent_segments;                  /* then */
    struct http_request *request;            /* in progress; NULL: none */
};

/* Those of the calling thread, linked, and their number. */
struct http_connection *http_connection_first(void);
size_t http_connection_count(void);

/* New; NULL where there is no memory. */
struct http_connection *http_connection_new(struct service *service, int fd, struct tls *tls);

/* A first request begins. */
void http_connection_leave_fresh(struct http_connection *connection);

/* From now on the connection waits for a request. */
void http_connection_enter_idle(struct http_connection *connection);

/* True where its time was up, or it had to make room for another. */
bool http_connection_was_cut(struct http_connection *connection);

/* A request of `bytes`, head and body, has been answered; 0: of all that has been received. */
void http_connection_account(struct http_connection *connection, uint64_t bytes);

/* How many bytes libmicrohttpd has read since the last request that was answered; 0 where the system does not say. */
uint64_t http_connection_read_bytes(const struct http_connection *connection);

/* True where bytes were received that belong to no request and were not replied to, and the client may still read a reply. */
bool http_connection_has_stray_bytes(const struct http_connection *connection);

/* Keeps the connection open for a while after libmicrohttpd closes it, for the client to read the reply (see lingering.h). */
void http_connection_linger(struct http_connection *connection);

/* The connection is about to be closed. NULL-safe. */
void http_connection_free(struct http_connection *connection);

#endif
