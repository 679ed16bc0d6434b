#include "server/http/health_handler.h"

#include <string.h>

#include "server/http/daemon.h"

void health_reply(struct api_call *call, const char *json)
{
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = "application/json",
        .body = json,
        .body_bytes = strlen(json),
    };
}

void health_reply_ready(const struct daemon *daemon, struct api_call *call, const char *json)
{
    if (!daemon_is_draining(daemon)) {
        health_reply(call, json);
        return;
    }
    struct error err = {0};
    (void)error_set(&err, ERROR_BUSY, "the daemon is shutting down");
    api_problem(&err, NULL, call);
}

void health_live(struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, "{\"status\":\"live\"}\n");
}

void health_ready(struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, "{\"status\":\"ready\"}\n");
}
