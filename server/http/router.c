#include "server/http/router.h"

#include <stdio.h>
#include <string.h>

#include "api/json/suggest.h"
#include "api/protocol/query_fields.h"
#include "server/http/health_handler.h"
#include "server/http/kserve_handler.h"
#include "server/http/metrics_handler.h"
#include "server/http/static.h"

static const struct route routes[] = {
    {.path = "/attention", .method = "POST", .allow = "POST, OPTIONS", .protocol = &api_protocol_attention},
    {.path = "/attention/compare", .method = "POST", .allow = "POST, OPTIONS", .protocol = &api_protocol_compare},
    {.path = "/attention/merge", .method = "POST", .allow = "POST, OPTIONS", .protocol = &api_protocol_merge},
    {.path = "/health/live", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = health_live},
    {.path = "/health/ready", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = health_ready},
    {.path = "/metrics", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = metrics_handler},
    {.path = "/v2", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = kserve_server},
    {.path = "/v2/health/live", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = kserve_live},
    {.path = "/v2/health/ready", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = kserve_ready},
    {.path = "/v2/models/attention", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = kserve_model},
    {.path = "/v2/models/attention/config", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = kserve_config},
    {.path = "/v2/models/attention/ready", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = kserve_model_ready},
    {.path = "/v2/models/attention/stats", .method = "GET", .allow = "GET, HEAD, OPTIONS", .answer = kserve_statistics},
    {.path = "/v2/models/attention/infer", .method = "POST", .allow = "POST, OPTIONS", .protocol = &api_protocol_kserve},
    {"/v2/models/stats", "GET", "GET, HEAD, OPTIONS", .unlisted = true, .answer = kserve_statistics},
    {"/v2/models/attention/versions/1", "GET", "GET, HEAD, OPTIONS", .unlisted = true, .answer = kserve_model},
    {"/v2/models/attention/versions/1/config", "GET", "GET, HEAD, OPTIONS", .unlisted = true, .answer = kserve_config},
    {"/v2/models/attention/versions/1/ready", "GET", "GET, HEAD, OPTIONS", .unlisted = true, .answer = kserve_model_ready},
    {"/v2/models/attention/versions/1/stats", "GET", "GET, HEAD, OPTIONS", .unlisted = true, .answer = kserve_statistics},
    {"/v2/models/attention/versions/1/infer", "POST", "POST, OPTIONS", .unlisted = true, .protocol = &api_protocol_kserve},
};

#define ROUTE_COUNT (sizeof routes / sizeof routes[0])
#define ROUTER_LIST_BYTES_MAX 560
#define ROUTER_NEAR_BYTES_MAX 64 /* longer paths are near to none */

/* The path of a whole URL, or the target as it is. */
static const char *skip_origin(const char *target)
{
    const char *after = strncmp(target, "http://", 7) == 0    ? target + 7
                        : strncmp(target, "https://", 8) == 0 ? target + 8
                                                              : NULL;
    return after == NULL ? target : after + strcspn(after, "/?");
}

static bool path_is(const char *path, const char *wanted)
{
    size_t length = strcspn(path, "?");
    return strncmp(path, wanted, length) == 0 && wanted[length] == '\0';
}

const struct api_protocol *router_protocol(const char *target)
{
    const char *path = skip_origin(target);
    bool v2 = strncmp(path, "/v2", 3) == 0 && (path[3] == '\0' || path[3] == '/' || path[3] == '?');
    return v2 ? &api_protocol_kserve : &api_protocol_attention;
}

static bool method_is(const char *method, const struct route *route)
{
    return strcmp(method, route->method) == 0 || (strcmp(method, "HEAD") == 0 && strcmp(route->method, "GET") == 0);
}

static const struct route *route_at(const struct static_files *files, size_t i)
{
    return i < ROUTE_COUNT ? &routes[i] : &files->files[i - ROUTE_COUNT].route;
}

/* Another model, or another version of the only one. */
static bool set_no_model(const char *path, struct error *err)
{
    static const char models[] = "/v2/models/", versions[] = "/v2/models/attention/versions/";
    bool version = strncmp(path, versions, strlen(versions)) == 0;
    if (!version && strncmp(path, models, strlen(models)) != 0)
        return false;
    const char *name = path + (version ? strlen(versions) : strlen(models));
    size_t length = strcspn(name, "/?");
    if (version && !(length == 1 && name[0] == '1'))
        return !error_set(
            err, ERROR_NOT_FOUND,
            "the model attention has no version \"%.*s\": its only one is 1, /v2/models/attention/versions/1/infer",
            length > 40 ? 40 : (int)length, name);
    if (!version && !(length == strlen("attention") && strncmp(name, "attention", length) == 0))
        return !error_set(err, ERROR_NOT_FOUND,
                          "there is no model \"%.*s\": the only one is attention, /v2/models/attention/infer",
                          length > 40 ? 40 : (int)length, name);
    return false;
}

/* The listed path that was probably meant; NULL where none is near. */
static const char *nearest_path(const char *path)
{
    const char *names[ROUTE_COUNT + 1] = {NULL};
    char bare[ROUTER_NEAR_BYTES_MAX];
    size_t length = strcspn(path, "?");
    while (length > 1 && path[length - 1] == '/')
        length--;
    if (length >= sizeof bare)
        return NULL;
    memcpy(bare, path, length);
    bare[length] = '\0';
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        names[i] = routes[i].path;
        if (strcmp(bare, names[i]) == 0)
            return names[i];
    }
    return suggest_nearest(bare, names);
}

/* Lists every endpoint and page for a client with a wrong path, but not what pages load. */
static void set_not_found(const struct static_files *files, const char *path, struct error *err)
{
    const char *nearest = nearest_path(path);
    if (set_no_model(path, err))
        return;
    char list[ROUTER_LIST_BYTES_MAX] = "";
    size_t length = 0;
    for (size_t i = 0; i < ROUTE_COUNT + files->count && length < sizeof list; i++) {
        const struct route *route = route_at(files, i);
        if (!route->unlisted)
            length +=
                (size_t)snprintf(list + length, sizeof list - length, "%s%s %s", i > 0 ? ", " : "", route->method, route->path);
    }
    (void)error_set(err, ERROR_NOT_FOUND, "there is nothing at this path%s%s; there are %s",
                    nearest == NULL ? "" : ", did you mean ", nearest == NULL ? "" : nearest, list);
}

/* The page whose path is this one without the slash at its end; NULL: there is none. */
static const struct route *page_without_slash(const char *path, const struct static_files *files)
{
    size_t length = strcspn(path, "?");
    if (length < 3 || path[length - 1] != '/')
        return NULL;
    for (size_t i = 0; i < files->count; i++) {
        const struct route *route = &files->files[i].route;
        if (!route->unlisted && strncmp(path, route->path, length - 1) == 0 && route->path[length - 1] == '\0')
            return route;
    }
    return NULL;
}

enum router_outcome router_find(const char *method, const char *target, const struct static_files *files,
                                const struct route **ret_route, const char **ret_allow, struct error *err)
{
    const char *path = skip_origin(target);
    const struct route *other_method = NULL;
    bool options = strcmp(method, "OPTIONS") == 0;
    *ret_allow = NULL;
    if (options && strcmp(path, "*") == 0) {
        *ret_allow = "GET, HEAD, POST, OPTIONS";
        return ROUTER_OPTIONS;
    }
    for (size_t i = 0; i < ROUTE_COUNT + files->count; i++) {
        const struct route *route = route_at(files, i);
        if (!path_is(path, route->path))
            continue;
        *ret_allow = route->allow;
        if (method_is(method, route)) {
            const char *query = strchr(path, '?');
            *ret_route = route;
            if (route->protocol != &api_protocol_attention || query == NULL || query_fields_check(query + 1, err))
                return ROUTER_FOUND;
            *ret_allow = NULL;
            return ROUTER_ERROR;
        }
        other_method = route;
    }
    const struct route *page = page_without_slash(path, files);
    if (page != NULL && method_is(method, page)) {
        *ret_route = page;
        return ROUTER_MOVED;
    }
    if (other_method == NULL) {
        set_not_found(files, path, err);
        return ROUTER_ERROR;
    }
    if (options)
        return ROUTER_OPTIONS;
    (void)error_set(err, ERROR_METHOD, "%s takes %s", other_method->path, other_method->method);
    return ROUTER_ERROR;
}
