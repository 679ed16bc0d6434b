#include "tests/support/case_file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    json_error_t fault;
    json_t *root = json_load_file(path, JSON_REJECT_DUPLICATES, &fault);
    json_t *own = json_object_get(root, "cases");
    if (!json_is_array(own) || json_array_extend(cases, own) != 0) {
        (void)fprintf(stderr, "%s: line %d: %s\n", path, fault.line, root == NULL ? fault.text : "no cases");
        exit(1);
    }
    (void)printf("%s: %zu cases\n", path, json_array_size(own));
    json_decref(root);
}

json_t *cases_load(void)
{
    glob_t files;
    json_t *cases = json_array();
    if (glob("tests/cases/*.json", 0, NULL, &files) != 0) {
        (void)fprintf(stderr, "no tests/cases: the tests run from the repository's root\n");
        exit(1);
    }
    add_file("tests/conformance/cases.json", cases);
    for (size_t i = 0; i < files.gl_pathc; i++)
        add_file(files.gl_pathv[i], cases);
    globfree(&files);
    (void)printf("%zu cases\n", json_array_size(cases));
    return cases;
}
