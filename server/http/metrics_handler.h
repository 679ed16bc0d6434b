/* metrics_handler.h: GET /metrics. */
#ifndef ATTND_SERVER_HTTP_METRICS_HANDLER_H
#define ATTND_SERVER_HTTP_METRICS_HANDLER_H

#include "server/http/route.h"

route_answer metrics_handler;

#endif
