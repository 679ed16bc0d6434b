#include "server/http/kserve_handler.h"

#include "api/protocol/kserve_metadata.h"
#include "server/http/health_handler.h"
#include "server/http/service.h"

void kserve_server(struct service *service, struct api_call *call)
{
    (void)service;
    health_reply(call, kserve_metadata_server);
}

void kserve_live(struct service *service, struct api_call *call)
{
    (void)service;
    health_reply(call, "{\"live\":true}\n");
}

void kserve_ready(struct service *service, struct api_call *call)
{
    health_reply_ready(service, call, "{\"ready\":true}\n");
}

void kserve_model(struct service *service, struct api_call *call)
{
    (void)service;
    health_reply(call, kserve_metadata_model);
}

void kserve_config(struct service *service, struct api_call *call)
{
    (void)service;
    health_reply(call, kserve_metadata_config);
}

void kserve_model_ready(struct service *service, struct api_call *call)
{
    health_reply_ready(service, call, kserve_metadata_model_ready);
}

_Static_assert(STATISTICS_BYTES_MAX <= PROBLEM_BYTES_MAX, "the reply is written where a problem would be");

void kserve_statistics(struct service *service, struct api_call *call)
{
    size_t bytes = statistics_write(&service->statistics[api_protocol_index(&api_protocol_kserve)], call->problem);
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = "application/json",
        .body = call->problem,
        .body_bytes = bytes,
    };
}
