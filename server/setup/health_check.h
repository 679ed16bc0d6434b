/* health_check.h: `attnd --health-check`: asks a running daemon whether it is healthy, for containers that hold no other client.
 *
 * Of https it only checks that the daemon answers a TLS ClientHello: nothing is decrypted, so it sees neither the certificate nor the
 * status. */
#ifndef ATTND_SERVER_SETUP_HEALTH_CHECK_H
#define ATTND_SERVER_SETUP_HEALTH_CHECK_H

#include <stdbool.h>

#include "core/error.h"
#include "server/setup/options.h"

/* `url` is http://HOST[:PORT][/PATH], or the same with https; or only a /PATH, which is asked of the daemon that runs with
 * these options on this machine. True where the answer's status is 200 to 299; else err says what came instead.
 * Takes 4 seconds at the most. */
bool health_check(const char *url, const struct options *options, struct error *err) __attribute__((warn_unused_result));

#endif
