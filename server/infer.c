#include "server/infer.h"

#include "server/health.h"

void infer_server(const struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, api_infer_document(API_INFER_SERVER));
}

void infer_live(const struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, "{\"live\":true}\n");
}

void infer_ready(const struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, "{\"ready\":true}\n");
}

void infer_model(const struct daemon *daemon, struct api_call *call)
{
    (void)daemon;
    health_reply(call, api_infer_document(API_INFER_MODEL));
}

void infer_model_ready(const struct daemon *daemon, struct api_call *call)
{
    health_reply_ready(daemon, call, api_infer_document(API_INFER_MODEL_READY));
}
