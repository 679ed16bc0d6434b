/* router.h: finds the route of a path and a method, in one table that the files of the web UI continue. */
#ifndef ATTND_SERVER_HTTP_ROUTER_H
#define ATTND_SERVER_HTTP_ROUTER_H

#include <stdbool.h>

#include "core/error.h"
#include "server/http/route.h"

struct static_files;

enum router_outcome {
    ROUTER_FOUND, /* *ret_route leads on */
    ROUTER_MOVED, /* the path is that of a page, *ret_route, with a slash behind it, where the page's relative links would break */
    ROUTER_OPTIONS, /* OPTIONS: the reply is the Allow header */
    ROUTER_ERROR,   /* err says why: not_found, method; invalid, a field in the path's query */
};

/* The protocol that words the path's errors, also of a path that leads nowhere. */
const struct api_protocol *router_protocol(const char *target);

/* `target` is the request's as the client sent it: a path with an optional query, a whole URL, or "*".
 * Puts the Allow header's value, static, or NULL to *ret_allow. */
enum router_outcome router_find(const char *method, const char *target, const struct static_files *files,
                                const struct route **ret_route, const char **ret_allow, struct error *err)
    __attribute__((warn_unused_result));

#endif
