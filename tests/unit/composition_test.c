/* Requests drawn over all fields of POST /attention together, each against a naive evaluation in double.
 *
 *   ATTND_COMPOSITION_COUNT  how many; 10000 unless said otherwise
 *   ATTND_COMPOSITION_SEED   the first one's seed
 *
 * A failure names the request's seed. A count of 1 shows the request. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor.h"
#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/each_kernel.h"
#include "tests/support/environment.h"
#include "tests/support/random_request.h"
#include "tests/support/worker_pool.h"

#define REQUEST_COUNT 10000

/* One request, its reply, and what that must be. */
struct exchange {
    struct random_request request;
    struct random_expected expected;
    struct client client;
    char label[100];
};

/* What stands at `path` of the reply is just that text. */
static void check_applied(const struct exchange *x, const char *name, const char *want)
{
    const json_t *got = json_object_get(json_object_get(x->client.reply, "applied"), name);
    char *text = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (want ? !text || strcmp(text, want) != 0 : text != NULL)
        fail_msg("%s: applied.%s is %s, where %s is expected", x->label, name, text ? text : "absent", want ? want : "nothing");
    free(text);
}

static void check_applied_integer(const struct exchange *x, const char *name, int64_t want)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%" PRId64, want);
    check_applied(x, name, text);
}

static void check_applied_number(const struct exchange *x, const char *name, double want)
{
    const json_t *got = json_object_get(json_object_get(x->client.reply, "applied"), name);
    double off = json_is_number(got) ? fabs(json_number_value(got) - want) : INFINITY;
    if (!(off <= fabs(want) * (x->request.wide ? 1e-15 : 1.2e-7)))
        fail_msg("%s: applied.%s is not %.17g", x->label, name, want);
}

/* The names of what the seed drew, in its order. */
static void check_draw_order(const struct exchange *x)
{
    static const char *const names[COMPOSED_DRAWABLE] = {
        "x", "context", "key", "query", "value", "projection.key", "projection.query", "projection.value", "projection.output"};
    char text[400] = "[";
    for (size_t k = 0; k < COMPOSED_DRAWABLE; k++) {
        const struct random_request_tensor *t = &x->request.tensors[k];
        size_t used = strlen(text);
        if (t->values && t->form == FORM_DRAWN)
            (void)snprintf(text + used, sizeof text - used, "%s\"%s\"", used > 1 ? "," : "", names[k]);
    }
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "]");
    check_applied(x, "draw_order", x->request.has_seed ? text : NULL);
}

static void check_conventions(const struct exchange *x)
{
    const struct random_request *c = &x->request;
    const struct random_request_tensor *mask = &c->tensors[COMPOSED_MASK];
    char window[60];
    check_applied_number(x, "scale", c->scale);
    check_applied(x, "causal", c->causal ? c->causal : "false");
    check_applied_integer(x, "query_offset", c->query_offset);
    bool boolean = mask->boolean && shape_count(mask->rank, mask->shape) > 0;
    check_applied(x, "mask", !mask->given ? "null" : boolean ? "\"boolean\"" : "\"additive\"");
    check_applied(x, "mask_semantics", c->mask_semantics && strcmp(c->mask_semantics, "drop") == 0 ? "\"drop\"" : "\"keep\"");
    check_applied_integer(x, "num_heads", (int64_t)c->H);
    check_applied_integer(x, "num_kv_heads", (int64_t)c->Hkv);
    check_applied_integer(x, "head_size", (int64_t)c->D);
    check_applied(x, "layout", !c->rank4 ? NULL : c->heads_first ? "\"bhtd\"" : "\"bthd\"");
    check_applied(x, "precision", c->wide ? "\"float64\"" : "\"float32\"");
    (void)snprintf(window, sizeof window, "[%" PRId64 ",%" PRId64 "]", c->window_left, c->window_right);
    check_applied(x, "window", c->window_left < 0 && c->window_right < 0 ? NULL : window);
    if (c->softcap > 0)
        check_applied_number(x, "softcap", c->softcap);
    check_draw_order(x);
}

/* How many fields get a warning since they decide nothing, or leave open where positions begin. */
static size_t fields_without_effect(const struct random_request *c)
{
    bool causal = c->causal != NULL && strcmp(c->causal, "false") != 0;
    bool window = c->has_window && (c->window_left >= 0 || c->window_right >= 0);
    bool alibi = c->tensors[COMPOSED_ALIBI].given || (c->alibi != NULL && strcmp(c->alibi, "true") == 0);
    bool positions = window || alibi || (c->has_rope && c->rope_dims > 0);
    bool open = positions && !c->has_query_offset && !causal && c->Tpast == 0 && c->Tq != c->Tpast + c->Tnew;
    bool idle_offset = c->has_query_offset && !causal && !positions;
    const struct random_request_tensor *mask = &c->tensors[COMPOSED_MASK];
    return (size_t)open + idle_offset +
           (c->mask_semantics != NULL && !(mask->given && (mask->boolean || shape_count(mask->rank, mask->shape) == 0)));
}

static void check_warnings(const struct exchange *x)
{
    const json_t *warnings = json_object_get(x->client.reply, "warnings");
    size_t masked = x->expected.masked_row_count, at = 0;
    char start[60];
    (void)snprintf(start, sizeof start, "%zu row%s every key masked", masked, masked == 1 ? " has" : "s have");
    const char *first = json_string_value(json_array_get(warnings, 0));
    if (masked > 0 && (!first || strncmp(first, start, strlen(start)) != 0))
        fail_msg("%s: no warning that %s", x->label, start);
    at += masked > 0;
    const char *flags = json_string_value(json_array_get(warnings, at));
    if (x->expected.mask_looks_boolean && (!flags || !strstr(flags, "0 and 1")))
        fail_msg("%s: no warning that the mask looks boolean", x->label);
    at += x->expected.mask_looks_boolean + fields_without_effect(&x->request);
    if (!json_is_array(warnings) || json_array_size(warnings) != at)
        fail_msg("%s: %zu warnings, where %zu are expected", x->label, json_array_size(warnings), at);
}

static void check_numbers(const struct exchange *x, size_t name, const json_t *node, size_t rank, const size_t *shape)
{
    const struct random_request_wanted *w = &x->expected.results[name];
    double *got = client_numbers(&x->client, node, random_request_result_names[name], rank, shape);
    size_t count = shape_count(w->rank, w->shape);
    for (size_t k = 0; k < count; k++) {
        if (!x->request.wide) /* written with the digits that a float32 needs */
            got[k] = (double)(float)got[k];
        double want = w->values[k], off = fabs(got[k] - want);
        if (got[k] == want || (isnan(got[k]) && isnan(want)))
            continue;
        bool masked = want == 0 && (name == GIVES_WEIGHTS || name == GIVES_MEAN_WEIGHTS);
        if (!(off <= (masked ? 0 : w->allowed[k])))
            fail_msg("%s: %s[%zu] is %.9g, where %.9g is expected: off by %.3g, %.3g is allowed", x->label,
                     random_request_result_names[name], k, got[k], want, off, w->allowed[k]);
    }
    free(got);
}

/* {"shape", "dtype", "data"} */
static const json_t *check_flat(const struct exchange *x, size_t name, const json_t *node)
{
    const struct random_request_wanted *w = &x->expected.results[name];
    const json_t *shape = json_object_get(node, "shape");
    const char *dtype = json_string_value(json_object_get(node, "dtype"));
    bool same = json_array_size(shape) == w->rank;
    for (size_t axis = 0; same && axis < w->rank; axis++)
        same = (size_t)json_integer_value(json_array_get(shape, axis)) == w->shape[axis];
    if (!same || !dtype || strcmp(dtype, x->request.wide ? "float64" : "float32") != 0)
        fail_msg("%s: the shape or the dtype of %s differs", x->label, random_request_result_names[name]);
    return json_object_get(node, "data");
}

static void check_result(const struct exchange *x, size_t name)
{
    const struct random_request_wanted *w = &x->expected.results[name];
    const json_t *node = json_object_get(x->client.reply, random_request_result_names[name]);
    if (!x->request.wanted[name] && node)
        fail_msg("%s: %s was not asked for", x->label, random_request_result_names[name]);
    if (!x->request.wanted[name])
        return;
    size_t count = shape_count(w->rank, w->shape);
    if (x->request.format && strcmp(x->request.format, "flat") == 0)
        check_numbers(x, name, check_flat(x, name, node), 1, &count);
    else
        check_numbers(x, name, node, w->rank, w->shape);
}

/* On the caller alone, or on a few threads; by the fastest kernels, or every fourth by all of them in turn. */
static void send(struct exchange *x)
{
    const struct random_request *c = &x->request;
    struct worker_pool pool;
    worker_pool_init(&pool, 1 + c->seed % 3);
    each_kernel(c->seed % 4 == 3 ? (size_t)(c->seed / 4) : 0);
    client_attention(&x->client, x->label, c->text, c->text_bytes, c->seed % 8 == 0 ? &pool.executor : NULL);
    client_check_ok(&x->client);
}

static void check_request(uint64_t seed, bool shown)
{
    static struct exchange x; /* too large for the stack */
    random_request_init(&x.request, seed);
    (void)snprintf(x.label, sizeof x.label, "ATTND_COMPOSITION_COUNT=1 ATTND_COMPOSITION_SEED=%" PRIu64, seed);
    if (shown)
        (void)printf("%s\n", x.request.text);
    send(&x);
    random_request_expect(&x.request, &x.expected);
    for (size_t name = 0; name < GIVES; name++)
        check_result(&x, name);
    check_conventions(&x);
    check_warnings(&x);
    client_done(&x.client);
    random_expected_done(&x.expected);
    random_request_done(&x.request);
}

static void random_requests(void **state)
{
    (void)state;
    size_t count = environment_size("ATTND_COMPOSITION_COUNT", environment_slow() ? REQUEST_COUNT / 25 : REQUEST_COUNT);
    uint64_t first = environment_size("ATTND_COMPOSITION_SEED", 0);
    for (uint64_t k = 0; k < count; k++)
        check_request(first + k, count == 1);
    print_message("%zu requests over all fields agree with the oracle\n", count);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
