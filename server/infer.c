#include "server/infer.h"

#include "server/daemon.h"
#include "server/health.h"

void infer_server(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, api_infer_document(API_INFER_SERVER));
}

void infer_live(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, "{\"live\":true}\n");
}

void infer_ready(struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, "{\"ready\":true}\n");
}

void infer_model(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, api_infer_document(API_INFER_MODEL));
}

void infer_model_ready(struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, api_infer_document(API_INFER_MODEL_READY));
}

_Static_assert(STATISTICS_BYTES_MAX <= PROBLEM_BYTES_MAX, "the reply is written where a problem would be");

void infer_statistics(struct daemon *daemon, struct api_call *call)
{
    size_t bytes = statistics_write(&daemon->statistics, call->problem);
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = "application/json",
        .body = call->problem,
        .body_bytes = bytes,
    };
}
