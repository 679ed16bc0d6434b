/* router.h: which path and method lead where: one table, continued by the files of the web UI. */
#ifndef ATTND_SERVER_HTTP_ROUTER_H
#define ATTND_SERVER_HTTP_ROUTER_H

#include <stdbool.h>

#include "api/api.h"
#include "core/error.h"

struct daemon;
struct static_file;
struct static_files;

/* Answers at once, on the sockets' thread: must neither wait nor compute. */
typedef void route_answer(struct daemon *daemon, struct api_call *call);

struct route {
    const char *path;
    const char *method; /* GET serves HEAD, too */
    const char *allow;  /* the Allow header of the path */
    bool unlisted;      /* leads where another path does, or is part of a page: need not be named */
    /* One of: */
    route_answer *answer;
    const struct api_protocol *protocol; /* computes, on a worker; asks for a key where there are keys */
    const struct static_file *file;      /* of the web UI */
};

enum router_outcome {
    ROUTER_FOUND,   /* *ret_route is to be followed */
    ROUTER_OPTIONS, /* OPTIONS: only the Allow header is wanted */
    ROUTER_ERROR,   /* err says why: not_found, method */
};

/* Whose form the path's errors have, whether there is anything at the path or not. */
const struct api_protocol *router_protocol(const char *target);

/* `target` is the request's as the client sent it: a path with an optional query, a whole URL, or "*".
 * Puts the Allow header's value, static, or NULL to *ret_allow. */
enum router_outcome router_find(const char *method, const char *target, const struct static_files *files,
                                const struct route **ret_route, const char **ret_allow, struct error *err)
    __attribute__((warn_unused_result));

#endif
