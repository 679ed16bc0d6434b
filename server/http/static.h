/* static.h: the files of the web UI, read into memory as the daemon starts; so serving them touches no disk, and a path of a
 * request is compared with what was found, never opened.
 *
 * Paths    DIR/index.html is "/", DIR/docs.html "/docs", DIR/assets/app.js "/assets/app.js". Names that start with a dot,
 *          links, and what is neither file nor folder are left out. NAME.gz beside NAME is its compressed form.
 * Caching  what is under /assets/ has its content's hash in its name and may be kept for ever; all else is asked for anew
 *          with If-None-Match.
 * Threads  read-only once loaded. */
#ifndef ATTND_SERVER_HTTP_STATIC_H
#define ATTND_SERVER_HTTP_STATIC_H

#include <stdbool.h>
#include <stddef.h>

#include "api/api.h"
#include "core/error.h"
#include "server/http/head.h"
#include "server/http/router.h"

#define STATIC_FILES_MAX 256
#define STATIC_BYTES_MAX ((size_t)16 << 20) /* of all files together */
#define STATIC_DEPTH_MAX 4                  /* folders in folders */
#define STATIC_PATH_BYTES_MAX 192
#define STATIC_ETAG_BYTES_MAX 32

struct static_representation {
    char *data; /* owned; NULL: there is no such form */
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
    size_t bytes; /* of all forms */
};

/* Reads all files under `root`. NULL: there is no UI, and "/" is a text that says how to get it.
 * Fails  invalid: no such folder, no index.html in it, or more than the limits above; no_memory. Nothing is loaded then. */
bool static_load(const char *root, struct static_files *ret, struct error *err) __attribute__((warn_unused_result));

/* Frees. Safe on a zeroed struct, and twice. */
void static_done(struct static_files *files);

/* The form of the file that goes out: the compressed one where there is one and the client takes it. */
const struct static_representation *static_representation_for(const struct static_file *file, const struct head *head);

/* Makes `call` the reply: the form's bytes, borrowed, or 304 where the client has them already. */
void static_answer(const struct static_file *file, const struct static_representation *form, const struct head *head,
                   struct api_call *call);

#endif
