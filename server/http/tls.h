/* tls.h: the certificate that the daemon shows its clients, and which versions and ciphers it takes.
 *
 * A certificate can be replaced while connections use it: each keeps the one that it began with.
 *
 * Threads  tls_reload from any thread, the rest on the connection's thread. */
#ifndef ATTND_SERVER_HTTP_TLS_H
#define ATTND_SERVER_HTTP_TLS_H

#include <gnutls/abstract.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"
#include "server/setup/options.h"

struct tls_certificate; /* a chain and its key */

struct tls {
    const struct options *options; /* borrowed */
    pthread_mutex_t mutex;
    struct tls_certificate *current; /* owned; NULL without TLS */
};

/* Reads the files that the options name, if any.
 * Fails  invalid: they cannot be read, or do not fit together, or there are no such priorities. no_memory. */
bool tls_load(struct tls *tls, const struct options *options, struct error *err) __attribute__((warn_unused_result));

/* Reads the files again, for connections to come. Keeps what it had on failure. */
bool tls_reload(struct tls *tls, struct error *err) __attribute__((warn_unused_result));

bool tls_is_on(const struct tls *tls);

/* Returns the certificate in use, which tls_release must be given back. */
struct tls_certificate *tls_acquire(struct tls *tls);
void tls_release(struct tls *tls, struct tls_certificate *certificate); /* NULL-safe */

/* As GnuTLS's retrieve function returns them. */
void tls_certificate_parts(struct tls_certificate *certificate, gnutls_pcert_st **ret_chain, unsigned *ret_count,
                           gnutls_privkey_t *ret_key);

/* Safe on a zeroed struct. No connection may be left. */
void tls_done(struct tls *tls);

#endif
