/* Requests with numerics "row_invariant": a sequence in chunks with a cache, tokens through projections, and packed sequences come to the
 * numbers of the whole, digit for digit. The whole is large enough that by default it would be computed otherwise than its parts. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/core_setup.h"
#include "tests/support/draw.h"
#include "tests/support/text.h"

#define TOKENS 90
#define WIDTH 64

static struct text text;

/* ,"name":[[..], ..]: rows [first, first + count) of a matrix that `seed` draws, WIDTH wide. */
static void add_rows(const char *name, uint64_t seed, size_t first, size_t count)
{
    struct draw draw = {seed};
    text_add(&text, ",\"%s\":[", name);
    for (size_t i = 0; i < first + count; i++) {
        for (size_t d = 0; d < WIDTH; d++) {
            double x = draw_normal(&draw);
            if (i >= first)
                text_add(&text, "%s%.9g", d > 0 ? "," : i > first ? "],[" : "[", (double)(float)x);
        }
    }
    text_add(&text, "%s]", count > 0 ? "]" : "");
}

static void add_json(const char *name, const json_t *node)
{
    char *dump = json_dumps(node, JSON_COMPACT | JSON_REAL_PRECISION(17));
    text_add(&text, ",\"%s\":%s", name, dump);
    free(dump);
}

static void begin(const char *conventions)
{
    text.bytes = 0;
    text_add(&text, "{\"numerics\":\"row_invariant\",%s", conventions);
}

static void post(struct client *client, const char *label)
{
    text_add(&text, "}");
    client_attention(client, label, text.chars, text.bytes, NULL);
    client_check_ok(client);
}

/* Rows of one reply are rows from `first` on of another's, in each result that is named. */
static void check_rows(const struct client *part, const struct client *whole, size_t first, const char *const *names)
{
    for (; *names != NULL; names++) {
        const json_t *mine = json_object_get(part->reply, *names), *all = json_object_get(whole->reply, *names);
        assert_true(json_array_size(mine) > 0);
        for (size_t i = 0; i < json_array_size(mine); i++)
            if (!json_equal(json_array_get(mine, i), json_array_get(all, first + i)))
                fail_msg("%s: row %zu of %s has other digits than row %zu of the whole", part->label, i, *names, first + i);
    }
}

/* Prefill, then chunks of several tokens and of one, each with the keys and values that the reply before returned. */
static void chunks_with_a_cache(void **state)
{
    (void)state;
    static const char *const conventions[] = {
        "\"causal\":true,\"rope\":{\"style\":\"half\",\"scaling\":{\"rope_type\":\"yarn\",\"factor\":4,"
        "\"original_max_position_embeddings\":32}},\"qk_norm\":{\"query\":true,\"key\":true}",
        "\"causal\":true,\"window\":[40,0],\"num_sink_tokens\":3,\"softcap\":20,\"sinks\":[0.5]",
        "\"causal\":true,\"alibi\":[0.25],\"precision\":\"float64\"",
        "\"causal\":true,\"rope\":{\"style\":\"interleaved\",\"length\":90,\"scaling\":{\"rope_type\":\"dynamic\",\"factor\":2,"
        "\"original_max_position_embeddings\":40}}",
    };
    static const char *const names[] = {"output", "lse", "entropy", NULL};
    static const size_t ends[] = {61, 62, 63, 75, 89, TOKENS};
    for (size_t k = 0; k < sizeof conventions / sizeof *conventions; k++) {
        static const char results[] = ",\"return\":[\"output\",\"lse\",\"entropy\",\"present_key\",\"present_value\"]";
        struct client whole = {0}, chunks[2] = {{0}};
        kernel_in_turn(k);
        for (size_t step = 0; step < 1 + sizeof ends / sizeof *ends; step++) {
            size_t first = step < 2 ? 0 : ends[step - 2], end = step == 0 ? TOKENS : ends[step - 1];
            struct client *client = step == 0 ? &whole : &chunks[step % 2], *before = &chunks[(step + 1) % 2];
            begin(conventions[k]);
            text_add(&text, "%s", results);
            add_rows("query", 1, first, end - first);
            add_rows("key", 2, first, end - first);
            add_rows("value", 3, first, end - first);
            if (first > 0) {
                add_json("past_key", json_object_get(before->reply, "present_key"));
                add_json("past_value", json_object_get(before->reply, "present_value"));
                client_done(before);
            }
            post(client, step == 0 ? "whole" : "chunk");
            if (step > 0)
                check_rows(client, &whole, first, names);
        }
        client_done(&chunks[sizeof ends / sizeof *ends % 2]);
        client_done(&whole);
    }
}

/* The first tokens of a sequence, and a token alone whose context is what stands before it. */
static void tokens_through_projections(void **state)
{
    (void)state;
    static const char *const names[] = {"output", "query", "lse", NULL};
    for (size_t k = 0; k < 3; k++) {
        struct client whole, part;
        char conventions[300];
        kernel_in_turn(k);
        (void)snprintf(conventions, sizeof conventions,
                       "\"seed\":%zu,\"head_size\":48,\"causal\":true,\"return\":[\"output\",\"query\",\"lse\"],"
                       "\"projection\":{\"output\":{\"weight\":{\"shape\":[7,48]},\"bias\":[1,2,3,4,5,6,7]}}",
                       k);
        begin(conventions);
        add_rows("x", 5, 0, TOKENS);
        post(&whole, "all tokens");
        for (size_t count = 1; count <= 57; count += 28) {
            begin(conventions);
            add_rows("x", 5, 0, count);
            post(&part, "the first tokens");
            check_rows(&part, &whole, 0, names);
            client_done(&part);
            begin(conventions);
            text_add(&text, ",\"query_offset\":%zu", count);
            add_rows("x", 5, count, 1);
            add_rows("context", 5, 0, count + 1);
            post(&part, "a token and its context");
            check_rows(&part, &whole, count, names);
            client_done(&part);
        }
        client_done(&whole);
    }
}

static void packed_and_alone(void **state)
{
    (void)state;
    static const char *const names[] = {"output", "lse", NULL};
    static const size_t ends[] = {0, 1, 1, 30, 90};
    for (size_t k = 0; k < 3; k++) {
        struct client packed, alone;
        const char *conventions =
            k == 1 ? "\"causal\":true,\"return\":[\"output\",\"lse\"]" : "\"return\":[\"output\",\"lse\"]";
        kernel_in_turn(k);
        begin(conventions);
        text_add(&text, ",\"cu_seqlens\":[0,1,1,30,90]");
        add_rows("query", 1, 0, TOKENS);
        add_rows("key", 2, 0, TOKENS);
        add_rows("value", 3, 0, TOKENS);
        post(&packed, "packed");
        for (size_t s = 0; s < 4; s++) {
            size_t count = ends[s + 1] - ends[s];
            if (count == 0)
                continue;
            begin(conventions);
            add_rows("query", 1, ends[s], count);
            add_rows("key", 2, ends[s], count);
            add_rows("value", 3, ends[s], count);
            post(&alone, "a sequence alone");
            check_rows(&alone, &packed, ends[s], names);
            client_done(&alone);
        }
        client_done(&packed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_with_a_cache),
        cmocka_unit_test(tokens_through_projections),
        cmocka_unit_test(packed_and_alone),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
