/* Conventions planted into drawn requests by the naive evaluation, and found again by POST /attention/compare.
 *
 *   ATTND_COMPARE_TEST   one test alone: singles, packed, pairs, equal or unrelated
 *   ATTND_COMPARE_CASES  requests drawn for each name; for equal and unrelated, of all
 *   ATTND_COMPARE_NAME   one name alone; with ATTND_COMPARE_SECOND that pair
 *   ATTND_RANDOM_SEED    the first request's seed
 *
 * A name that the data cannot tell (the answer is the same) is no case. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/planted.h"
#include "tests/support/random_request.h"

#define SHARE_MIN 0.99
#define PAIR_SHARE_MIN 0.95

static json_t *nested(const struct json_tensor *t, size_t axis, size_t *next)
{
    if (axis == t->rank) {
        double x = t->values[(*next)++];
        return isnan(x) ? json_string("NaN") : isinf(x) ? json_string(x > 0 ? "Infinity" : "-Infinity") : json_real(x);
    }
    json_t *array = json_array();
    for (size_t i = 0; i < t->shape[axis]; i++)
        json_array_append_new(array, nested(t, axis + 1, next));
    return array;
}

static void expect(json_t *expected, const struct request_answer *answer, enum answer_name which)
{
    size_t next = 0;
    if (answer->results[which].count > 0)
        json_object_set_new(expected, answer_names[which], nested(&answer->results[which], 0, &next));
}

/* What someone who compares would have at hand; of some names it takes more than the output. */
static json_t *expected_of(const struct request_answer *answer, const char *name, struct draw *draw)
{
    json_t *expected = json_object();
    bool lse = strncmp(name, "lse_", 4) == 0;
    if (!lse || draw_chance(draw, 0.3))
        expect(expected, answer, ANSWER_OUTPUT);
    if (lse)
        expect(expected, answer, ANSWER_LSE);
    else if (draw_chance(draw, 0.3))
        expect(expected, answer, ANSWER_WEIGHTS);
    if (draw_chance(draw, 0.15))
        expect(expected, answer, ANSWER_MASKED_SCORES);
    return expected;
}

static void compare(struct client *client, const char *label, json_t *request, json_t *expected, bool pairs)
{
    json_t *body = json_pack("{s:O,s:O,s:{s:b}}", "request", request, "expected", expected, "search", "pairs", pairs);
    char *text = json_dumps(body, JSON_REAL_PRECISION(17));
    client_compare(client, label, text, strlen(text), NULL);
    client_check_ok(client);
    free(text);
    json_decref(body);
}

static bool verdict_is(const struct client *client, const char *verdict)
{
    return strcmp(json_string_value(json_object_get(client->reply, "verdict")), verdict) == 0;
}

static bool explains(const json_t *explanation, const char *a, const char *b)
{
    const json_t *names = json_object_get(explanation, "names");
    bool has_a = false, has_b = b == NULL;
    for (size_t i = 0; i < json_array_size(names); i++) {
        has_a |= strcmp(json_string_value(json_array_get(names, i)), a) == 0;
        has_b |= b != NULL && strcmp(json_string_value(json_array_get(names, i)), b) == 0;
    }
    return has_a && has_b && json_array_size(names) == 1 + (size_t)(b != NULL);
}

/* First, or tied with the first: every explanation lists the others. */
static bool found(const struct client *client, const char *a, const char *b, size_t among)
{
    const json_t *explanations = json_object_get(client->reply, "explanations");
    size_t count = json_array_size(explanations);
    for (size_t i = 0; i < count; i++)
        if (verdict_is(client, "explained") && explains(json_array_get(explanations, i), a, b))
            return i < among ||
                   json_array_size(json_object_get(json_array_get(explanations, i), "indistinguishable_from")) == count - 1;
    return false;
}

/* Of a pair the data shows one alone. */
static bool explained_by_one(const struct client *client)
{
    const json_t *first = json_array_get(json_object_get(client->reply, "explanations"), 0);
    return verdict_is(client, "explained") && json_array_size(json_object_get(first, "names")) == 1;
}

/* ---- JSON Patch (RFC 6902), as far as `changes` use it: add, remove and move of members of objects ---- */

/* The object that holds the path's last member, whose name is *ret_name. */
static json_t *patch_parent(json_t *request, const char *path, const char **ret_name)
{
    json_t *parent = request;
    *ret_name = path + 1;
    for (const char *slash = strchr(*ret_name, '/'); slash != NULL; slash = strchr(*ret_name, '/')) {
        char member[64];
        (void)snprintf(member, sizeof member, "%.*s", (int)(slash - *ret_name), *ret_name);
        parent = json_object_get(parent, member);
        *ret_name = slash + 1;
    }
    return parent;
}

static void patch_apply(json_t *request, const json_t *operation)
{
    const char *op = json_string_value(json_object_get(operation, "op")), *name, *from_name;
    json_t *parent = patch_parent(request, json_string_value(json_object_get(operation, "path")), &name);
    assert_non_null(parent);
    if (strcmp(op, "add") == 0) {
        assert_int_equal(json_object_set(parent, name, json_object_get(operation, "value")), 0);
    } else if (strcmp(op, "remove") == 0) {
        assert_int_equal(json_object_del(parent, name), 0);
    } else {
        assert_string_equal(op, "move");
        json_t *from = patch_parent(request, json_string_value(json_object_get(operation, "from")), &from_name);
        json_t *moved = json_incref(json_object_get(from, from_name));
        assert_non_null(moved);
        assert_int_equal(json_object_del(from, from_name), 0);
        assert_int_equal(json_object_set_new(parent, name, moved), 0);
    }
}

/* Every explanation whose changes are said: the request that they make of it computes what was expected. */
static bool changes_hold(const struct client *client, json_t *request, json_t *expected)
{
    const json_t *explanations = json_object_get(client->reply, "explanations");
    bool all = true;
    for (size_t i = 0; verdict_is(client, "explained") && i < json_array_size(explanations); i++) {
        const json_t *changes = json_object_get(json_array_get(explanations, i), "changes");
        struct client again;
        if (json_is_null(changes))
            continue;
        json_t *changed = json_deep_copy(request);
        for (size_t k = 0; k < json_array_size(changes); k++)
            patch_apply(changed, json_array_get(changes, k));
        compare(&again, client->label, changed, expected, false);
        bool equal = verdict_is(&again, "equal");
        if (!equal)
            print_message("%s: changes %zu make another request: %s\n", client->label, i, again.reply_text);
        all &= equal;
        client_done(&again);
        json_decref(changed);
    }
    return all;
}

/* ---- cases ---- */

static size_t cases_wanted(size_t count, size_t quick, size_t slow)
{
    return environment_size("ATTND_COMPARE_CASES", environment_cases(count, quick, slow));
}

static uint64_t first_seed(void)
{
    return environment_size("ATTND_RANDOM_SEED", 0);
}

static bool is_only(const char *variable, const char *name)
{
    const char *only = getenv(variable);
    return only == NULL || strcmp(only, name) == 0;
}

/* Asks what explains the planted answer. Returns 1 where found, 0 where not, -1 where it is no case. */
static int try_planted(const char *label, struct planted *planted, json_t *request, const char *name, const char *second,
                       struct draw *draw)
{
    struct request_answer answer;
    struct client client;
    int result = -1;
    planted_answer(planted, &answer);
    json_t *expected = expected_of(&answer, name, draw);
    if (json_object_size(expected) > 0) {
        compare(&client, label, request, expected, second != NULL);
        if (!verdict_is(&client, "equal") && !(second != NULL && explained_by_one(&client)))
            result = found(&client, name, second, second != NULL ? 3 : 1);
        if (!changes_hold(&client, request, expected))
            result = 0;
        if (result == 0)
            print_message("%s: %s\n", label, client.reply_text);
        client_done(&client);
    }
    json_decref(expected);
    request_answer_done(&answer);
    return result;
}

/* Whether a request has what a rare name needs. */
static bool may_differ(const struct random_request *c, const char *name)
{
    bool weights = false;
    for (size_t i = RANDOM_WEIGHT_KEY; i <= RANDOM_WEIGHT_OUTPUT; i++)
        weights |= c->tensors[i].values != NULL && c->tensors[i].shape[0] == c->tensors[i].shape[1];
    if (strcmp(name, "projection_transposed") == 0)
        return weights;
    if (strcmp(name, "rope_scaling") == 0)
        return c->rope != NULL && strstr(c->rope, "scaling") != NULL;
    return strncmp(name, "rope_", strlen("rope_")) != 0 || c->rope != NULL;
}

/* Draws a request; its text only where it is small, may have the name planted and, if asked for, is packed. */
static bool draw_small(struct random_request *c, uint64_t seed, const char *name, bool packed)
{
    struct draw draw = random_request_draw(c, seed);
    bool small = c->B * c->H * c->Tq * (c->Tpast + c->Tnew) <= environment_cases(10000, 1, 5);
    bool taken = small && c->D > 0 && (c->sequence_count > 0 || !packed) && may_differ(c, name);
    if (taken)
        random_request_write(c, &draw);
    return taken;
}

/* Plants into one request. */
static int try_one(const char *test, const char *name, const char *second, uint64_t seed)
{
    struct random_request c;
    struct draw draw = {.state = seed * 2 + 1};
    char label[200];
    int result = -1;
    (void)snprintf(label, sizeof label,
                   "ATTND_COMPARE_TEST=%s ATTND_COMPARE_CASES=1 ATTND_COMPARE_NAME=%s %s%s ATTND_RANDOM_SEED=%" PRIu64, test,
                   name, second ? "ATTND_COMPARE_SECOND=" : "", second ? second : "", seed);
    if (draw_small(&c, seed, name, strcmp(test, "packed") == 0)) {
        struct planted planted;
        json_t *request = random_request_parse(c.text);
        (void)json_object_del(request, "select"); /* what is expected is whole */
        planted_init(&planted, request);
        if (planted_add(&planted, name, &draw) && (second == NULL || planted_add(&planted, second, &draw)))
            result = try_planted(label, &planted, request, name, second, &draw);
        planted_done(&planted);
        json_decref(request);
    }
    random_request_done(&c);
    return result;
}

/* Each name by itself; some are rare in drawn requests, which are tried up to `seeds` for each that is wanted. */
static void plant_singles(const char *test, size_t wanted, size_t seeds, const char *never)
{
    const bool all_seeds = environment_step(0, 0) == 1;
    size_t all = 0, all_found = 0;
    for (size_t i = 0; planted_name(i) != NULL; i++) {
        size_t cases = 0, right = 0;
        if (!is_only("ATTND_COMPARE_NAME", planted_name(i)))
            continue;
        for (uint64_t seed = first_seed(); cases < wanted && seed < first_seed() + seeds * wanted; seed++) {
            int result = try_one(test, planted_name(i), NULL, seed);
            cases += result >= 0;
            right += result == 1;
        }
        print_message("%-22s %zu of %zu\n", planted_name(i), right, cases);
        assert_true(cases > 0 || !all_seeds || strcmp(planted_name(i), never) == 0);
        all += cases;
        all_found += right;
    }
    print_message("%s: %zu of %zu\n", test, all_found, all);
    assert_true(all > 0 && (double)all_found >= SHARE_MIN * (double)all);
}

static void singles(void **state)
{
    (void)state;
    plant_singles("singles", cases_wanted(60, 15, 30), environment_step(60, 60) == 1 ? 1000 : 60, "");
}

/* Beside packed sequences, where nothing is padded. */
static void packed(void **state)
{
    (void)state;
    plant_singles("packed", cases_wanted(20, 20, 20), environment_step(60, 60) == 1 ? 600 : 120, "padding");
}

/* Two names at once; the second is drawn. */
static void pairs(void **state)
{
    (void)state;
    const size_t wanted = cases_wanted(10, 10, 10);
    const char *second_only = getenv("ATTND_COMPARE_SECOND");
    size_t names = 0, cases = 0, right = 0;
    while (planted_name(names) != NULL)
        names++;
    for (size_t i = 0; i < names; i++) {
        size_t own = 0;
        for (uint64_t seed = first_seed();
             own < wanted && seed < first_seed() + (environment_step(60, 60) == 1 ? 200 : 20) * wanted; seed++) {
            struct draw draw = {.state = seed * 31 + i};
            const char *second = planted_name(draw_size(&draw, 0, names - 1));
            if (!is_only("ATTND_COMPARE_NAME", planted_name(i)) || (second_only == NULL && second == planted_name(i)))
                continue;
            int result = try_one("pairs", planted_name(i), second_only != NULL ? second_only : second, seed);
            own += result >= 0;
            right += result == 1;
        }
        cases += own;
    }
    print_message("pairs: %zu of %zu\n", right, cases);
    assert_true(cases > 0 && (double)right >= PAIR_SHARE_MIN * (double)cases);
}

/* The answer itself, and numbers that have nothing to do with it. */
static void check_unplanted(const char *text, const char *label, struct draw *unrelated)
{
    struct request_answer answer;
    struct client client;
    json_t *request = random_request_parse(text);
    request_answer_init(&answer, request);
    struct json_tensor *output = &answer.results[ANSWER_OUTPUT];
    for (size_t i = 0; i < output->count && unrelated != NULL; i++)
        output->values[i] = draw_normal(unrelated);
    json_t *expected = json_object();
    expect(expected, &answer, ANSWER_OUTPUT);
    if (json_object_size(expected) > 0) {
        compare(&client, label, request, expected, false);
        if (!verdict_is(&client, unrelated != NULL ? "unexplained" : "equal"))
            fail_msg("%s: %s", label, client.reply_text);
        client_done(&client);
    }
    json_decref(expected);
    json_decref(request);
    request_answer_done(&answer);
}

static void unplanted(const char *test, size_t wanted, bool unrelated)
{
    size_t cases = 0;
    for (uint64_t seed = first_seed(); cases < wanted; seed++) {
        struct random_request c;
        struct draw draw = {.state = seed};
        char label[80];
        (void)snprintf(label, sizeof label, "ATTND_COMPARE_TEST=%s ATTND_COMPARE_CASES=1 ATTND_RANDOM_SEED=%" PRIu64, test,
                       seed);
        bool small = draw_small(&c, seed, "", false);
        if (small)
            check_unplanted(c.text, label, unrelated ? &draw : NULL);
        cases += small;
        random_request_done(&c);
    }
    print_message("%s: %zu\n", test, cases);
}

static void equal(void **state)
{
    (void)state;
    unplanted("equal", cases_wanted(200, 4, 20), false);
}

static void unrelated(void **state)
{
    (void)state;
    unplanted("unrelated", cases_wanted(200, 8, 20), true);
}

int main(void)
{
    api_init();
    cmocka_set_test_filter(getenv("ATTND_COMPARE_TEST"));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singles), cmocka_unit_test(packed),    cmocka_unit_test(pairs),
        cmocka_unit_test(equal),   cmocka_unit_test(unrelated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
