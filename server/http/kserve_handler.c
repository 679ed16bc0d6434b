#include "server/http/kserve_handler.h"

#include "server/http/daemon.h"
#include "server/http/health_handler.h"

void kserve_server(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, api_kserve_document(API_KSERVE_SERVER));
}

void kserve_live(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, "{\"live\":true}\n");
}

void kserve_ready(struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, "{\"ready\":true}\n");
}

void kserve_model(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, api_kserve_document(API_KSERVE_MODEL));
}

void kserve_model_ready(struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, api_kserve_document(API_KSERVE_MODEL_READY));
}

_Static_assert(STATISTICS_BYTES_MAX <= PROBLEM_BYTES_MAX, "the reply is written where a problem would be");

void kserve_statistics(struct daemon *daemon, struct api_call *call)
{
    size_t bytes = statistics_write(&daemon->statistics, call->problem);
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = "application/json",
        .body = call->problem,
        .body_bytes = bytes,
    };
}
