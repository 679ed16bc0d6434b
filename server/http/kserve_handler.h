/* kserve_handler.h: the GET requests of the Open Inference Protocol: health and metadata of the server and of its one model, and
 * the model's statistics. */
#ifndef ATTND_SERVER_HTTP_KSERVE_HANDLER_H
#define ATTND_SERVER_HTTP_KSERVE_HANDLER_H

#include "server/http/route.h"

route_answer kserve_server, kserve_live, kserve_ready, kserve_model, kserve_config, kserve_model_ready, kserve_statistics;

#endif
