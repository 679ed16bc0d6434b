#include "tests/support/test_data.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/view.h"

#define PATH_BYTES_MAX 256

/* ---- cases ---- */

const char *case_text(const json_t *test, const char *name)
{
    return json_string_value(json_object_get(test, name));
}

char *case_body(const json_t *test)
{
    const char *body = case_text(test, "body");
    return body != NULL ? strdup(body) : json_dumps(json_object_get(test, "request"), JSON_ENCODE_ANY);
}

static void add_file(const char *path, json_t *cases)
{
    json_error_t error;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    json_t *own = json_object_get(root, "cases");
    if (!json_is_array(own) || json_array_extend(cases, own) != 0) {
        (void)fprintf(stderr, "%s: line %d: %s\n", path, error.line, root == NULL ? error.text : "no cases");
        exit(1);
    }
    (void)printf("%s: %zu cases\n", path, json_array_size(own));
    json_decref(root);
}

static void add_files(const char *pattern, json_t *cases)
{
    glob_t files;
    if (glob(pattern, 0, NULL, &files) != 0) {
        (void)fprintf(stderr, "no %s: the tests run from the repository's root\n", pattern);
        exit(1);
    }
    for (size_t i = 0; i < files.gl_pathc; i++)
        add_file(files.gl_pathv[i], cases);
    globfree(&files);
    (void)printf("%zu cases\n", json_array_size(cases));
}

json_t *cases_load(void)
{
    json_t *cases = json_array();
    add_file("tests/conformance/cases.json", cases);
    add_file("tests/conformance/rope.json", cases);
    add_file("tests/conformance/biases.json", cases);
    add_files("tests/cases/*.json", cases);
    return cases;
}

json_t *mistakes_load(void)
{
    json_t *mistakes = json_array();
    add_files("tests/cases/mistakes/*.json", mistakes);
    return mistakes;
}

/* ---- conformance ---- */

json_t *conformance_load(const char *name)
{
    char path[PATH_BYTES_MAX];
    (void)snprintf(path, sizeof path, "tests/conformance/%s", name);
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error);
    if (!root)
        fail_msg("%s: %s (the tests run from the repository's root)", path, error.text);
    return root;
}

json_t *conformance_at(json_t *root, const char *path)
{
    char keys[PATH_BYTES_MAX];
    (void)snprintf(keys, sizeof keys, "%s", path);
    json_t *node = root;
    char *rest = NULL;
    for (const char *key = strtok_r(keys, "/", &rest); key; key = strtok_r(NULL, "/", &rest))
        node = json_object_get(node, key);
    if (!node)
        fail_msg("no %s in the file", path);
    return node;
}

static size_t numbers_count(const json_t *node)
{
    if (!json_is_array(node))
        return 1;
    size_t count = 0;
    for (size_t k = 0; k < json_array_size(node); k++)
        count += numbers_count(json_array_get(node, k));
    return count;
}

static double *numbers_copy(const json_t *node, double *to)
{
    if (!json_is_array(node)) {
        if (!json_is_number(node) && !json_is_string(node))
            fail_msg("a number was expected");
        *to = json_is_string(node) ? strtod(json_string_value(node), NULL) : json_number_value(node);
        return to + 1;
    }
    for (size_t k = 0; k < json_array_size(node); k++)
        to = numbers_copy(json_array_get(node, k), to);
    return to;
}

double *conformance_numbers(json_t *node, size_t *ret_count)
{
    *ret_count = numbers_count(node);
    double *numbers = test_alloc(*ret_count, sizeof *numbers);
    (void)numbers_copy(node, numbers);
    return numbers;
}

size_t conformance_shape(json_t *node, size_t *ret, size_t capacity)
{
    size_t rank = json_array_size(node);
    if (!json_is_array(node) || rank > capacity)
        fail_msg("a shape of at most %zu axes was expected", capacity);
    for (size_t axis = 0; axis < rank; axis++)
        ret[axis] = (size_t)json_integer_value(json_array_get(node, axis));
    return rank;
}
