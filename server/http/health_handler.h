/* health.h: what orchestrators ask. Answered by the sockets' thread, so also while every core computes. */
#ifndef ATTND_SERVER_HTTP_HEALTH_HANDLER_H
#define ATTND_SERVER_HTTP_HEALTH_HANDLER_H

#include "server/http/router.h"

/* The process serves. */
route_answer health_live;

/* The process takes new work: 503 once it shuts down. */
route_answer health_ready;

/* Answer 200 with static JSON; the second only while the process takes new work, else 503. */
void health_reply(struct api_call *call, const char *json);
void health_reply_ready(const struct daemon *daemon, struct api_call *call, const char *json);

#endif
