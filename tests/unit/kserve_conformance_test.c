/* The ONNX operator's own tests through /v2: every file of tests/conformance/onnx is sent as a request and its outputs are held
 * against the reply's. tests/conformance/onnx/README.md says where they come from; infer_test.c tests what they leave open. */
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/test_data.h"

#define FILE_COUNT 87

/* Upstream's tolerance, and what FP32 reaches. */
#define RELATIVE_TOLERANCE 1e-3
#define ABSOLUTE_TOLERANCE 1e-7
#define FP32_TOLERANCE 1e-6

/* {"Q": {"shape", "datatype", "data"}, ..} -> [{"name": "Q", "shape", ..}, ..], or names alone. New reference. */
static json_t *named_list(json_t *tensors, bool names_alone)
{
    json_t *list = json_array();
    const char *name;
    json_t *tensor;
    json_object_foreach(tensors, name, tensor)
    {
        json_t *item = names_alone ? json_object() : json_copy(tensor);
        assert_int_equal(json_object_set_new(item, "name", json_string(name)), 0);
        assert_int_equal(json_array_append_new(list, item), 0);
    }
    return list;
}

/* The file's test as a request. The caller frees it. */
static char *request_text(json_t *file)
{
    json_t *request =
        json_pack("{s:O, s:O, s:o, s:o}", "id", json_object_get(file, "name"), "parameters",
                  json_object_get(file, "attributes"), "inputs", named_list(conformance_at(file, "inputs"), false), "outputs",
                  named_list(conformance_at(file, "outputs"), true));
    char *text = json_dumps(request, JSON_COMPACT);
    assert_non_null(text);
    json_decref(request);
    return text;
}

static void check_numbers(const char *label, const char *name, bool fp32, const double *got, const double *want, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        if (got[k] == want[k] || (isnan(got[k]) && isnan(want[k])))
            continue;
        double off = fabs(got[k] - want[k]);
        if (!(off <= ABSOLUTE_TOLERANCE + RELATIVE_TOLERANCE * fabs(want[k])) || (fp32 && !(off <= FP32_TOLERANCE)))
            fail_msg("%s: %s[%zu] is %.9g, %.9g is expected: off by %.3g", label, name, k, got[k], want[k], off);
    }
}

/* One output of the reply: its name, datatype, shape and numbers. */
static void check_output(const struct client *client, const char *name, json_t *want, const json_t *got)
{
    size_t want_count, got_count;
    assert_string_equal(json_string_value(json_object_get(got, "name")), name);
    if (!json_equal(json_object_get(got, "shape"), json_object_get(want, "shape")) ||
        !json_equal(json_object_get(got, "datatype"), json_object_get(want, "datatype")))
        fail_msg("%s: the shape or the datatype of %s differs", client->label, name);
    double *want_numbers = conformance_numbers(json_object_get(want, "data"), &want_count);
    double *got_numbers = conformance_numbers(json_object_get(got, "data"), &got_count);
    if (want_count != got_count)
        fail_msg("%s: %s has %zu numbers, %zu are expected", client->label, name, got_count, want_count);
    bool fp32 = strcmp(json_string_value(json_object_get(want, "datatype")), "FP32") == 0;
    check_numbers(client->label, name, fp32, got_numbers, want_numbers, want_count);
    free(want_numbers);
    free(got_numbers);
}

static void check_file(const char *path)
{
    json_t *file = conformance_load(path);
    const char *label = json_string_value(conformance_at(file, "name"));
    json_t *outputs = conformance_at(file, "outputs");
    char *text = request_text(file);
    struct client client;
    client_kserve(&client, label, text, strlen(text), NULL);
    client_check_ok(&client);
    const json_t *list = json_object_get(client.reply, "outputs");
    assert_string_equal(json_string_value(json_object_get(client.reply, "id")), label);
    assert_int_equal(json_array_size(list), json_object_size(outputs));
    size_t at = 0;
    const char *name;
    json_t *want;
    json_object_foreach(outputs, name, want)
    {
        check_output(&client, name, want, json_array_get(list, at++));
    }
    client_done(&client);
    free(text);
    json_decref(file);
}

static void every_file(void **state)
{
    (void)state;
    static const char folder[] = "tests/conformance/";
    glob_t files;
    assert_int_equal(glob("tests/conformance/onnx/*.json", 0, NULL, &files), 0);
    for (size_t k = 0; k < files.gl_pathc; k++)
        check_file(files.gl_pathv[k] + strlen(folder));
    print_message("%zu files of the ONNX operator Attention agree\n", files.gl_pathc);
    assert_int_equal(files.gl_pathc, FILE_COUNT);
    globfree(&files);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
