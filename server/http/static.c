#include "server/http/static.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/protocol/media_type.h"

#define FOREVER "public, max-age=31536000, immutable"
#define REVALIDATE "no-cache"

static const char no_ui[] = "attnd computes attention: POST /attention.\n"
                            "The page that shows it is not here: `make web` builds it (it needs npm) into build/web, where\n"
                            "attnd looks for it as it starts; --web-root DIR names another place.\n";

static const struct {
    const char *suffix, *content_type;
} types[] = {
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".json", "application/json"},
    {".yaml", "application/yaml"},
    {".txt", "text/plain; charset=utf-8"},
    {".woff2", "font/woff2"},
    {".webmanifest", "application/manifest+json"},
};

static bool ends_in(const char *text, const char *suffix)
{
    size_t length = strlen(text), suffix_length = strlen(suffix);
    return length >= suffix_length && strcmp(text + length - suffix_length, suffix) == 0;
}

static const char *content_type_of(const char *path)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (ends_in(path, types[i].suffix))
            return types[i].content_type;
    return "application/octet-stream";
}

/* FNV-1a over the content: enough to tell versions of one file apart. */
static void set_etag(struct static_representation *representation)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < representation->bytes; i++)
        hash = (hash ^ (unsigned char)representation->data[i]) * 0x100000001b3u;
    (void)snprintf(representation->etag, sizeof representation->etag, "\"%016llx\"", (unsigned long long)hash);
}

/* ---- loading ---- */

static bool read_representation(int fd, size_t bytes, const char *path, struct static_representation *ret, struct error *err)
{
    ret->data = malloc(bytes + 1);
    if (ret->data == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory for --web-root");
    while (ret->bytes < bytes) {
        ssize_t count = read(fd, ret->data + ret->bytes, bytes - ret->bytes);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return error_set(err, ERROR_INVALID, "--web-root: %s: %s", path,
                             count < 0 ? strerrordesc_np(errno) : "shrank while it was read");
        ret->bytes += (size_t)count;
    }
    set_etag(ret);
    return true;
}

static bool load_file(struct static_files *files, int fd, size_t bytes, const char *path, struct error *err)
{
    if (files->count == STATIC_FILES_MAX)
        return error_set(err, ERROR_INVALID, "--web-root: there are more than %d files", STATIC_FILES_MAX);
    if (bytes > STATIC_BYTES_MAX - files->bytes)
        return error_set(err, ERROR_INVALID, "--web-root: the files have more than %zu bytes", STATIC_BYTES_MAX);
    struct static_file *file = &files->files[files->count++];
    (void)snprintf(file->path, sizeof file->path, "%s", path);
    files->bytes += bytes;
    return read_representation(fd, bytes, path, &file->plain, err);
}

static bool load_folder(struct static_files *files, int fd, const char *path, int depth, struct error *err);

/* Takes over `fd`. */
static bool load_opened(struct static_files *files, int fd, const char *path, int depth, struct error *err)
{
    struct stat about;
    if (fstat(fd, &about) == 0 && S_ISDIR(about.st_mode))
        return load_folder(files, fd, path, depth + 1, err);
    bool loaded = !S_ISREG(about.st_mode) || load_file(files, fd, (size_t)about.st_size, path, err);
    (void)close(fd);
    return loaded;
}

/* Takes over `fd`. */
static bool load_folder(struct static_files *files, int fd, const char *path, int depth, struct error *err)
{
    if (depth > STATIC_DEPTH_MAX) {
        (void)close(fd);
        return error_set(err, ERROR_INVALID, "--web-root: %s: folders are nested more than %d deep", path, STATIC_DEPTH_MAX);
    }
    DIR *folder = fdopendir(fd);
    if (folder == NULL) {
        (void)close(fd);
        return error_set(err, ERROR_NO_MEMORY, "no memory for --web-root");
    }
    bool loaded = true;
    /* cppcheck-suppress readdirCalled ; no other thread has this stream, and readdir_r is deprecated */
    for (const struct dirent *entry; loaded && (entry = readdir(folder)) != NULL;) {
        char below[STATIC_PATH_BYTES_MAX];
        if (entry->d_name[0] == '.')
            continue;
        int length = snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof below) {
            loaded = error_set(err, ERROR_INVALID, "--web-root: %s: the name is too long", path);
            break;
        }
        int opened = openat(fd, entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (opened >= 0)
            loaded = load_opened(files, opened, below, depth, err);
        else if (errno != ELOOP)
            loaded = error_set(err, ERROR_INVALID, "--web-root: %s: %s", below, strerrordesc_np(errno));
    }
    (void)closedir(folder);
    return loaded;
}

static struct static_file *find(const struct static_files *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->files[i].path, path) == 0)
            return &files->files[i];
    return NULL;
}

/* Moves each NAME.gz into NAME, and closes the gaps. */
static void attach_compressed(struct static_files *files)
{
    size_t kept = 0;
    for (size_t i = 0; i < files->count; i++) {
        struct static_file *file = &files->files[i], *base = NULL;
        char name[STATIC_PATH_BYTES_MAX];
        if (ends_in(file->path, ".gz")) {
            (void)snprintf(name, sizeof name, "%.*s", (int)(strlen(file->path) - strlen(".gz")), file->path);
            base = find(files, name);
        }
        if (base != NULL && base->plain.data != NULL)
            base->gzip = file->plain;
        else
            files->files[kept++] = *file;
        if (kept <= i)
            file->plain.data = NULL;
    }
    files->count = kept;
}

static void set_route(struct static_file *file)
{
    static const char index[] = "/index.html", page[] = ".html";
    bool document = ends_in(file->path, page) || ends_in(file->path, ".yaml");
    file->content_type = content_type_of(file->path);
    file->cache_control = strncmp(file->path, "/assets/", strlen("/assets/")) == 0 ? FOREVER : REVALIDATE;
    if (strcmp(file->path, index) == 0)
        file->path[1] = '\0';
    else if (ends_in(file->path, page))
        file->path[strlen(file->path) - strlen(page)] = '\0';
    file->route =
        (struct route){.path = file->path, .method = "GET", .allow = "GET, HEAD, OPTIONS", .unlisted = !document, .file = file};
}

static bool load_no_ui(struct static_files *files, struct error *err)
{
    struct static_file *file = &files->files[files->count++];
    file->plain.data = strdup(no_ui);
    if (file->plain.data == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory to start");
    file->plain.bytes = sizeof no_ui - 1;
    (void)snprintf(file->path, sizeof file->path, "/");
    set_etag(&file->plain);
    set_route(file);
    file->content_type = "text/plain; charset=utf-8";
    return true;
}

static bool load_root(const char *root, struct static_files *files, struct error *err)
{
    int fd = open(root, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (fd < 0)
        return error_set(err, ERROR_INVALID, "--web-root %s: %s", root, strerrordesc_np(errno));
    if (!load_folder(files, fd, "", 0, err))
        return false;
    attach_compressed(files);
    if (find(files, "/index.html") == NULL)
        return error_set(err, ERROR_INVALID, "--web-root %s: there is no index.html", root);
    for (size_t i = 0; i < files->count; i++)
        set_route(&files->files[i]);
    return true;
}

bool static_load(const char *root, struct static_files *ret, struct error *err)
{
    *ret = (struct static_files){.files = calloc(STATIC_FILES_MAX, sizeof *ret->files)};
    if (ret->files == NULL)
        return error_set(err, ERROR_NO_MEMORY, "no memory to start");
    if (root != NULL ? load_root(root, ret, err) : load_no_ui(ret, err))
        return true;
    static_done(ret);
    return false;
}

void static_done(struct static_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->files[i].plain.data);
        free(files->files[i].gzip.data);
    }
    free(files->files);
    *files = (struct static_files){0};
}

/* ---- answering ---- */

const struct static_representation *static_representation_for(const struct static_file *file, const struct head *head)
{
    return file->gzip.data != NULL && media_type_accepts(head->accept_encoding, "gzip", "identity") ? &file->gzip
                                                                                                    : &file->plain;
}

/* An etag includes its quotes, so none can be found inside another. */
static bool client_has(const struct static_representation *representation, const char *if_none_match)
{
    return if_none_match != NULL && (strcmp(if_none_match, "*") == 0 || strstr(if_none_match, representation->etag) != NULL);
}

void static_answer(const struct static_file *file, const struct static_representation *representation, const struct head *head,
                   struct api_call *call)
{
    if (client_has(representation, head->if_none_match)) {
        call->reply = (struct api_reply){.status = 304};
        return;
    }
    call->reply = (struct api_reply){
        .status = 200,
        .content_type = file->content_type,
        .body = representation->data,
        .body_bytes = representation->bytes,
    };
}
