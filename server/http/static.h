/* static.h: the files of the web UI, read into memory as the daemon starts: serving them touches no disk, and a request's path
 * is compared with those that were found, never opened.
 *
 * Paths    DIR/index.html is "/", DIR/docs.html "/docs", to which "/docs/" redirects, and DIR/assets/app.js "/assets/app.js". Names
 *          that start with a dot, links, and anything but files and folders are skipped. NAME.gz beside NAME is its compressed
 *          representation.
 * Caching  names under /assets/ hold their content's hash, so browsers may keep them for ever; the rest is revalidated with
 *          If-None-Match.
 * Threads  read-only once loaded. */
#ifndef ATTND_SERVER_HTTP_STATIC_H
#define ATTND_SERVER_HTTP_STATIC_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "core/error.h"
#include "server/http/head.h"
#include "server/http/route.h"

#define STATIC_FILES_MAX 256
#define STATIC_BYTES_MAX ((size_t)16 << 20) /* of all files together */
#define STATIC_DEPTH_MAX 4                  /* folders in folders */
#define STATIC_PATH_BYTES_MAX 192
#define STATIC_ETAG_BYTES_MAX 32

struct static_representation {
    char *data; /* owned; NULL: there is no such representation */
    size_t bytes;
    char etag[STATIC_ETAG_BYTES_MAX]; /* in its quotes */
};

struct static_file {
    struct route route; /* its path is `path` */
    char path[STATIC_PATH_BYTES_MAX];
    const char *content_type;
    const char *cache_control;
    struct static_representation plain, gzip;
};

struct static_files {
    struct static_file *files; /* owned; never moved once loaded */
    size_t count;
    size_t bytes; /* of all representations */
};

/* Reads all files under `root`. NULL: there is no UI, and "/" is a text that says how to build it.
 * Fails  invalid: no such folder, no index.html in it, or more than the limits above; no_memory. Nothing is loaded then. */
bool static_load(const char *root, struct static_files *ret, struct error *err) __attribute__((warn_unused_result));

/* Frees. Safe on a zeroed struct, and twice. */
void static_done(struct static_files *files);

/* The representation to send: the compressed one where there is one and the client accepts it. */
const struct static_representation *static_representation_for(const struct static_file *file, const struct head *head);

/* Makes `call` the reply: the representation's bytes, borrowed, or 304 where the client has them already. */
void static_answer(const struct static_file *file, const struct static_representation *representation, const struct head *head,
                   struct api_call *call);

#endif
