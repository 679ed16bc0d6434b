#include "server/http/health_handler.h"

#include <string.h>

#include "server/http/admission.h"

void health_reply(struct api_call *call, const char *json)
{
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = "application/json",
        .body = json,
        .body_bytes = strlen(json),
    };
}

void health_reply_ready(const struct service *service, struct api_call *call, const char *json)
{
    struct error err = {0};
    if (admission_while_ready(service, &err))
        health_reply(call, json);
    else
        api_problem(&err, NULL, call);
}

void health_live(struct service *service, struct api_call *call)
{
    (void)service;
    health_reply(call, "{\"status\":\"live\"}\n");
}

void health_ready(struct service *service, struct api_call *call)
{
    health_reply_ready(service, call, "{\"status\":\"ready\"}\n");
}
