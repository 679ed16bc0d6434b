/* pages_test.c: the files of --web-root: types, caching, what is left out, what is refused at the start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/http/groups.h"
#include "tests/http/harness.h"

#define PATH_BYTES_MAX 256

static char root[PATH_BYTES_MAX];

static const char *below_root(const char *name)
{
    static char path[2 * PATH_BYTES_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(below_root(name), "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_root(void)
{
    (void)snprintf(root, sizeof root, "/tmp/attnd-pages-XXXXXX");
    assert_non_null(mkdtemp(root));
}

static void make_site(void)
{
    make_root();
    assert_int_equal(mkdir(below_root("assets"), 0755), 0);
    write_file("index.html", "<p>hello</p>");
    write_file("docs.html", "<p>docs</p>");
    write_file("assets/app.js", "let a = 1;");
    write_file("assets/app.js.gz", "not really gzip");
    write_file(".secret", "hidden");
    assert_int_equal(symlink("/etc/passwd", below_root("link.txt")), 0);
    assert_int_equal(mkfifo(below_root("pipe.txt"), 0600), 0);
}

static void remove_site(void)
{
    static const char *const names[] = {"pipe.txt",      "link.txt",  ".secret",   "assets/app.js.gz",
                                        "assets/app.js", "docs.html", "index.html"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(below_root(names[i]));
    (void)rmdir(below_root("assets"));
    (void)rmdir(root);
}

static void check_page(const struct attnd *attnd, const char *path, const char *type, const char *cache, const char *body)
{
    struct reply reply = get(attnd, path, NULL);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, body);
    assert_string_equal(reply_header(&reply, "Content-Type"), type);
    assert_string_equal(reply_header(&reply, "Cache-Control"), cache);
    assert_string_equal(reply_header(&reply, "X-Content-Type-Options"), "nosniff");
    assert_non_null(strstr(reply_header(&reply, "Content-Security-Policy"), "script-src 'self';"));
    reply_done(&reply);
}

static void check_conditional(const struct attnd *attnd)
{
    char condition[128];
    struct reply reply = get(attnd, "/", NULL);
    (void)snprintf(condition, sizeof condition, "If-None-Match: \"other\", %s", reply_header(&reply, "ETag"));
    reply_done(&reply);
    reply = get(attnd, "/", condition, NULL);
    assert_int_equal(reply.status, 304);
    assert_int_equal(reply.body_bytes, 0);
    assert_null(reply_header(&reply, "Content-Type"));
    assert_non_null(strstr(condition, reply_header(&reply, "ETag")));
    reply_done(&reply);
    reply = get(attnd, "/docs", condition, NULL);
    assert_int_equal(reply.status, 200);
    reply_done(&reply);
}

static void check_compressed(const struct attnd *attnd)
{
    struct reply reply = get(attnd, "/assets/app.js", "Accept-Encoding: br, gzip", NULL);
    assert_string_equal(reply.body, "not really gzip");
    assert_string_equal(reply_header(&reply, "Content-Encoding"), "gzip");
    assert_string_equal(reply_header(&reply, "Vary"), "Accept-Encoding");
    reply_done(&reply);
    reply = get(attnd, "/assets/app.js", "Accept-Encoding: gzip;q=0", NULL);
    assert_string_equal(reply.body, "let a = 1;");
    assert_null(reply_header(&reply, "Content-Encoding"));
    reply_done(&reply);
}

static void check_left_out(const struct attnd *attnd)
{
    static const char *const paths[] = {"/.secret", "/link.txt",      "/pipe.txt",     "/assets",         "/assets/app.js.gz",
                                        "/docs//",  "/../etc/passwd", "/%2e%2e/x",     "/assets/../docs", "/docs.html",
                                        "//docs",   "/index.html",    "/assets/app.j", "/assets/app.js/", "//"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply = get(attnd, paths[i], NULL);
        assert_problem(&reply, 404);
        reply_done(&reply);
    }
}

static void check_moved(const struct attnd *attnd)
{
    static const char *const paths[] = {"/docs/", "/docs/?q=1"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct reply reply = get(attnd, paths[i], NULL);
        assert_int_equal(reply.status, 308);
        assert_string_equal(reply_header(&reply, "Location"), "../docs");
        assert_int_equal(reply.body_bytes, 0);
        reply_done(&reply);
    }
    struct reply reply = request_send(attnd, &(struct request){.method = "POST", .path = "/docs/"});
    assert_problem(&reply, 404);
    reply_done(&reply);
}

static void test_pages(void **state)
{
    (void)state;
    make_site();
    struct attnd *attnd = attnd_start("--web-root", root, NULL);
    check_page(attnd, "/", "text/html; charset=utf-8", "no-cache", "<p>hello</p>");
    check_page(attnd, "/?q=1", "text/html; charset=utf-8", "no-cache", "<p>hello</p>");
    check_page(attnd, "/docs", "text/html; charset=utf-8", "no-cache", "<p>docs</p>");
    check_page(attnd, "/assets/app.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", "let a = 1;");
    check_conditional(attnd);
    check_compressed(attnd);
    check_left_out(attnd);
    check_moved(attnd);

    /* Read at the start, once. */
    write_file("index.html", "changed");
    check_page(attnd, "/", "text/html; charset=utf-8", "no-cache", "<p>hello</p>");

    struct reply reply = request_send(attnd, &(struct request){.method = "HEAD", .path = "/"});
    assert_int_equal(reply.status, 200);
    assert_int_equal(reply.body_bytes, 0);
    assert_string_equal(reply_header(&reply, "Content-Length"), "12");
    reply_done(&reply);
    reply = request_send(attnd, &(struct request){.method = "DELETE", .path = "/"});
    assert_problem(&reply, 405);
    assert_string_equal(reply_header(&reply, "Allow"), "GET, HEAD, OPTIONS");
    reply_done(&reply);
    attnd_stop(attnd);
    remove_site();
}

static void check_refused(const char *text)
{
    char out[OUTPUT_BYTES_MAX], err[OUTPUT_BYTES_MAX];
    const char *const options[] = {"--listen", "127.0.0.1:0", "--web-root", root, NULL};
    assert_int_equal(attnd_run(options, out, err), 2);
    assert_string_equal(out, "");
    assert_non_null(strstr(err, text));
}

static void test_web_root_refused(void **state)
{
    char name[64];
    (void)state;
    make_root();
    check_refused("there is no index.html");

    write_file("index.html", "");
    assert_int_equal(truncate(below_root("index.html"), (16 << 20) + 1), 0);
    check_refused("the files have more than 16777216 bytes");
    assert_int_equal(unlink(below_root("index.html")), 0);

    for (int i = 0; i < 257; i++) {
        (void)snprintf(name, sizeof name, "%d.txt", i);
        write_file(name, "x");
    }
    check_refused("there are more than 256 files");
    for (int i = 0; i < 257; i++) {
        (void)snprintf(name, sizeof name, "%d.txt", i);
        assert_int_equal(unlink(below_root(name)), 0);
    }
    assert_int_equal(rmdir(root), 0);
    check_refused("No such file or directory");
}

static const struct CMUnitTest tests[] = {
    HTTP_TEST(test_pages),
    HTTP_TEST(test_web_root_refused),
};

const struct group pages_group = GROUP(tests);
