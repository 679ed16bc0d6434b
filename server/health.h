/* health.h: what orchestrators ask. Answered by the sockets' thread, so also while every core computes. */
#ifndef ATTND_SERVER_HEALTH_H
#define ATTND_SERVER_HEALTH_H

#include "server/router.h"

/* The process serves. */
route_answer health_live;

/* The process takes new work: 503 once it shuts down. */
route_answer health_ready;

#endif
