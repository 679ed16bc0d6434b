#include "tests/support/kserve_check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"

void kserve_text(const char *parameters, const char *inputs, const char *outputs, char text[KSERVE_TEXT_BYTES_MAX])
{
    int length = snprintf(text, KSERVE_TEXT_BYTES_MAX, "{\"parameters\":{%s},\"inputs\":[%s]%s%s%s}", parameters, inputs,
                          outputs ? ",\"outputs\":[" : "", outputs ? outputs : "", outputs ? "]" : "");
    assert_true(length > 0 && length < KSERVE_TEXT_BYTES_MAX);
}

static void check_output(const struct client *client, const json_t *got, const struct kserve_wanted *wanted)
{
    const char *name = json_string_value(json_object_get(got, "name"));
    const char *datatype = json_string_value(json_object_get(got, "datatype"));
    char *shape = json_dumps(json_object_get(got, "shape"), JSON_COMPACT);
    if (name == NULL || datatype == NULL || shape == NULL || strcmp(name, wanted->name) != 0 ||
        strcmp(datatype, wanted->datatype) != 0 || strcmp(shape, wanted->shape) != 0)
        fail_msg("%s: %s of %s and shape %s, where %s of %s and shape %s is expected", client->label, name, datatype, shape,
                 wanted->name, wanted->datatype, wanted->shape);
    free(shape);
    double *numbers = client_numbers(client, json_object_get(got, "data"), name, 1, &wanted->count);
    for (size_t k = 0; k < wanted->count; k++) {
        double want = wanted->numbers[k];
        if (strcmp(wanted->datatype, "FP64") != 0) { /* written with the digits of a float32 */
            numbers[k] = (double)(float)numbers[k];
            want = (double)(float)want;
        }
        if (numbers[k] == want || (isnan(numbers[k]) && isnan(want)) || fabs(numbers[k] - want) <= wanted->tolerance)
            continue;
        fail_msg("%s: %s[%zu] is %.17g, %.17g is expected", client->label, name, k, numbers[k], want);
    }
    free(numbers);
}

void kserve_check(const char *parameters, const char *inputs, const char *outputs, const struct kserve_wanted *wanted,
                  size_t wanted_count)
{
    char text[KSERVE_TEXT_BYTES_MAX];
    kserve_text(parameters, inputs, outputs, text);
    struct client client;
    client_kserve(&client, text, text, strlen(text), NULL);
    client_check_ok(&client);
    const json_t *list = json_object_get(client.reply, "outputs");
    if (json_array_size(list) != wanted_count)
        fail_msg("%s: %zu outputs, where %zu are expected", text, json_array_size(list), wanted_count);
    for (size_t k = 0; k < wanted_count; k++)
        check_output(&client, json_array_get(list, k), &wanted[k]);
    client_done(&client);
}

void kserve_check_error(const char *text, int status, const char *error)
{
    struct client client;
    client_kserve(&client, text, text, strlen(text), NULL);
    const char *got = json_string_value(json_object_get(client.reply, "error"));
    if (client.call.reply.status != status || got == NULL || strcmp(got, error) != 0 || json_object_size(client.reply) != 1)
        fail_msg("%s: status %d with %.*s, where %d with %s is expected", text, client.call.reply.status,
                 (int)client.call.reply.body_bytes, client.call.reply.body, status, error);
    assert_string_equal(client.call.reply.content_type, "application/json");
    client_done(&client);
}
