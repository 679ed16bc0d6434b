#include "api/api.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/json/document_memory.h"
#include "api/protocol/problem.h"
#include "core/blas.h"
#include "core/kernels/kernels.h"

void api_init(void)
{
    blas_init();
    document_memory_init();
    json_object_seed(0); /* jansson's hash, drawn once here rather than by two threads at once */
}

bool api_use_kernel(const char *name, struct error *err)
{
    char names[64] = "";
    if (kernels_choose(name))
        return true;
    for (size_t i = 0; kernels_at(i) != NULL; i++) {
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", kernels_at(i)->name);
    }
    return error_set(err, ERROR_INVALID, "no kernel \"%.20s\"; this processor runs %s", name, names);
}

const char *api_kernel(void)
{
    return kernels_in_use()->name;
}

const char *api_blas(void)
{
    return blas_name();
}

bool api_blas_knows_processor(void)
{
    return blas_knows_processor();
}

void api_compute(const struct api_protocol *protocol, const struct api_request *request, const struct api_limits *limits,
                 const struct executor *executor, struct api_call *call)
{
    struct api_request sent = *request;
    struct error err;
    error_init(&err);
    if (sent.body_bytes == 0)
        sent.body = "";
    memset(call, 0, offsetof(struct api_call, problem)); /* whose kilobytes an error alone needs */
    call->protocol = protocol;
    arena_init(&call->arena, 0);
    bool answered = protocol->accepts(&sent, &err) && protocol->answer(&sent, limits, executor, call, &err);
    if (!answered && err.code != ERROR_NONE)
        api_problem(&err, NULL, call);
}

void api_problem(const struct error *err, const char *allow, struct api_call *call)
{
    call->reply = (struct api_reply){
        .status = problem_status(err->code),
        .content_type = call->protocol->error_type,
        .body = call->problem,
        .body_bytes = call->protocol->write_error(err, call->problem, sizeof call->problem),
        .allow = allow,
        .retry_after_s = problem_retry_after_s(err->code),
        .error = err->code,
    };
}

void api_call_done(struct api_call *call)
{
    arena_done(&call->arena);
}
