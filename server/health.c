#include "server/health.h"

#include "server/daemon.h"

static void reply_json(struct api_call *call, const char *body, size_t body_bytes)
{
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = "application/json",
        .body = body,
        .body_bytes = body_bytes,
    };
}

void health_live(const struct daemon *daemon, struct api_call *call)
{
    static const char live[] = "{\"status\":\"live\"}\n";
    (void)daemon;
    reply_json(call, live, sizeof live - 1);
}

void health_ready(const struct daemon *daemon, struct api_call *call)
{
    static const char ready[] = "{\"status\":\"ready\"}\n";
    if (!daemon_is_draining(daemon)) {
        reply_json(call, ready, sizeof ready - 1);
        return;
    }
    struct error err = {0};
    (void)error_set(&err, ERROR_BUSY, "the daemon is shutting down");
    api_problem(&err, NULL, call);
}
