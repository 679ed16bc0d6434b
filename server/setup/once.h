/* once.h: --once: one request from a stream, answered on another as the daemon would, without a socket. */
#ifndef ATTND_SERVER_SETUP_ONCE_H
#define ATTND_SERVER_SETUP_ONCE_H

#include <stdio.h>

#include "server/setup/options.h"

/* Statuses of the process. The reply's body says more, unless there is none: then stderr does. */
enum once_status {
    ONCE_ANSWERED = 0, /* 200 */
    ONCE_REFUSED = 1,  /* 4xx: the request is wrong */
    ONCE_FAILED = 3,   /* 5xx; or the streams cannot be read or written */
};

/* Reads `in` to its end, computes on options->threads within the options' limits on body and memory, and writes the reply's body to `out`.
 * There is no limit on time. */
enum once_status once(const struct options *options, FILE *in, FILE *out);

#endif
