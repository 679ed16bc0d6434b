/* The seed notebook through POST /attention: the requests that the README shows, and every number that it prints of them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/test_data.h"

#define HALF_A_DIGIT 0.51e-4

/* The first numbers of a result are those at `path`: of the first item, where the notebook prints no more. */
static void check_printed(const struct client *client, const char *result, size_t rank, const size_t *shape, json_t *notebook,
                          const char *path)
{
    size_t count;
    double *want = conformance_numbers(conformance_at(notebook, path), &count);
    double *got = client_numbers(client, json_object_get(client->reply, result), result, rank, shape);
    for (size_t k = 0; k < count; k++)
        if (got[k] != want[k] && !(fabs(got[k] - want[k]) <= HALF_A_DIGIT))
            fail_msg("%s[%zu] is %.9g, the notebook prints %.4f", result, k, got[k], want[k]);
    free(want);
    free(got);
}

static void test_head(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"seed\": 1337, \"x\": {\"shape\": [4, 8, 32]}, \"head_size\": 16, \"causal\": true, \"scale\": 1, \"return\": "
        "[\"scores\", "
        "\"masked_scores\", \"weights\", \"output\"]}",
        "{\"seed\": 1337, \"x\": {\"shape\": [4, 8, 32]}, \"head_size\": 16, \"causal\": true, \"scale\": 1, \"return\": "
        "[\"scores\", "
        "\"masked_scores\", \"weights\", \"output\"], \"decimals\": 4}",
    };
    const size_t pairs[3] = {4, 8, 8};
    json_t *notebook = conformance_load("notebook.json");
    size_t output[3];
    assert_int_equal(conformance_shape(conformance_at(notebook, "head/output_shape"), output, 3), 3);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct client client;
        client_attention(&client, "head", texts[i], strlen(texts[i]), NULL);
        client_check_ok(&client);
        check_printed(&client, "scores", 3, pairs, notebook, "head/scores_batch0");
        check_printed(&client, "masked_scores", 3, pairs, notebook, "head/masked_scores_batch0");
        check_printed(&client, "weights", 3, pairs, notebook, "head/weights_batch0");
        free(client_numbers(&client, json_object_get(client.reply, "output"), "output", 3, output));
        client_done(&client);
    }
    json_decref(notebook);
}

static void test_averages(void **state)
{
    (void)state;
    const char text[] = "{\"seed\": 1337, \"x\": {\"shape\": [4, 8, 2]}, \"projection\": \"identity\", \"causal\": true, "
                        "\"scale\": 0, \"return\": [\"output\", \"weights\", \"x\"]}";
    const size_t pairs[3] = {4, 8, 8}, tokens[3] = {4, 8, 2};
    json_t *notebook = conformance_load("notebook.json");
    struct client client;
    client_attention(&client, "averages", text, strlen(text), NULL);
    client_check_ok(&client);
    check_printed(&client, "output", 3, tokens, notebook, "averaging/running_means");
    check_printed(&client, "output", 3, tokens, notebook, "averaging/xbow_batch0");
    check_printed(&client, "x", 3, tokens, notebook, "averaging/x_batch0");
    check_printed(&client, "weights", 3, pairs, notebook, "averaging/weights");
    client_done(&client);
    json_decref(notebook);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_averages),
    };
    api_init();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
