/* infer.h: the GET requests of the Open Inference Protocol: health and metadata of the server and of its one model, and statistics. */
#ifndef ATTND_SERVER_INFER_H
#define ATTND_SERVER_INFER_H

#include "server/router.h"

route_answer infer_server, infer_live, infer_ready, infer_model, infer_model_ready, infer_statistics;

#endif
