#include "server/http/kserve_handler.h"

#include "api/protocol/kserve_metadata.h"
#include "server/http/daemon.h"
#include "server/http/health_handler.h"

void kserve_server(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, kserve_metadata_server);
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
    health_reply(call, kserve_metadata_model);
}

void kserve_model_ready(struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, kserve_metadata_model_ready);
}

_Static_assert(STATISTICS_BYTES_MAX <= PROBLEM_BYTES_MAX, "the reply is written where a problem would be");

void kserve_statistics(struct daemon *daemon, struct api_call *call)
{
    size_t bytes = statistics_write(&daemon->statistics[api_protocol_index(&api_protocol_kserve)], call->problem);
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = "application/json",
        .body = call->problem,
        .body_bytes = bytes,
    };
}
