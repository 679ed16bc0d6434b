/* scrape.h: GET /metrics: what was counted, and what is so right now. */
#ifndef ATTND_SERVER_HTTP_METRICS_HANDLER_H
#define ATTND_SERVER_HTTP_METRICS_HANDLER_H

#include "server/http/router.h"

route_answer metrics_handler;

#endif
