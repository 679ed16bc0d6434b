/* route.h: what a path and a method lead to. */
#ifndef ATTND_SERVER_HTTP_ROUTE_H
#define ATTND_SERVER_HTTP_ROUTE_H

#include <stdbool.h>

#include "api/api.h"

struct service;
struct static_file;

/* Answers at once, on the connection's thread: must neither wait nor compute. */
typedef void route_answer(struct service *service, struct api_call *call);

struct route {
    const char *path;
    const char *method; /* GET includes HEAD */
    const char *allow;  /* the path's Allow header */
    bool unlisted;      /* an alias, or part of a page: left out of the list that a 404 shows */
    /* One of: */
    route_answer *answer;
    const struct api_protocol *protocol; /* computes, on a worker; needs an API key where there are any */
    const struct static_file *file;      /* of the web UI */
};

#endif
