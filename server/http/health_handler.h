/* health_handler.h: GET /health/live and /health/ready, for orchestrators. Answered on the connection's thread, so also while
 * every core computes. */
#ifndef ATTND_SERVER_HTTP_HEALTH_HANDLER_H
#define ATTND_SERVER_HTTP_HEALTH_HANDLER_H

#include "server/http/route.h"

/* The process serves requests. */
route_answer health_live;

/* The process takes new work: 503 once it is shutting down. */
route_answer health_ready;

/* Answer 200 with static JSON; the second only while the process takes new work, else 503. For /v2, too. */
void health_reply(struct api_call *call, const char *json);
void health_reply_ready(const struct service *service, struct api_call *call, const char *json);

#endif
