/* scrape.h: GET /metrics: what was counted, and what is so right now. */
#ifndef ATTND_SERVER_SCRAPE_H
#define ATTND_SERVER_SCRAPE_H

#include "server/router.h"

route_answer scrape_metrics;

#endif
