/* POST /attention/merge: keys split at random places against one computation over all of them; what it refuses; files.
 *
 *   ATTND_MERGE_CASES=1 ATTND_MERGE_SEED=17 build/tests/unit/merge_test     one case, which a failure names */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/protocol/media_type.h"
#include "core/tensor.h"
#include "tests/support/binary_client.h"
#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/core_setup.h"
#include "tests/support/draw.h"
#include "tests/support/environment.h"
#include "tests/support/text.h"

#define PARTS_MAX 6
#define NUMBERS_MAX 2048

static struct text text;

/* ---- drawn cases ---- */

enum form { BHTD, BTHD, PACKED, PLAIN, FORMS };

struct split_case {
    enum form form;
    size_t B, H, Tq, Tk, D, Dv, part_count;
    size_t begin[PARTS_MAX + 1]; /* the keys of part p are begin[p] to begin[p + 1] */
    bool causal, window, mask, sinks, base_2, f64;
    size_t sinks_part;
    uint64_t numbers;                                                /* the seed of what follows */
    double query[NUMBERS_MAX], key[NUMBERS_MAX], value[NUMBERS_MAX]; /* [B,H,T,D] */
    bool keep[NUMBERS_MAX];                                          /* [Tq,Tk] */
};

static void draw_case(struct split_case *c, uint64_t seed)
{
    struct draw draw = {seed};
    *c = (struct split_case){.form = (enum form)draw_size(&draw, 0, FORMS - 1), .B = draw_size(&draw, 1, 2)};
    c->H = c->form == PLAIN ? 1 : draw_size(&draw, 1, 3);
    c->Tq = draw_size(&draw, 1, 6);
    c->Tk = draw_size(&draw, 0, 24);
    c->D = draw_size(&draw, 1, 8);
    c->Dv = draw_size(&draw, 1, 8);
    c->part_count = draw_size(&draw, 1, PARTS_MAX);
    for (size_t p = 1; p < c->part_count; p++)
        c->begin[p] = draw_size(&draw, c->begin[p - 1], c->Tk);
    c->begin[c->part_count] = c->Tk;
    c->causal = draw_chance(&draw, 0.5);
    c->window = draw_chance(&draw, 0.3);
    c->mask = draw_chance(&draw, 0.4);
    c->sinks = draw_chance(&draw, 0.4);
    c->base_2 = draw_chance(&draw, 0.3);
    c->f64 = draw_chance(&draw, 0.3);
    c->sinks_part = draw_size(&draw, 0, c->part_count - 1);
    for (size_t i = 0; i < NUMBERS_MAX; i++) {
        c->query[i] = (float)draw_normal(&draw);
        c->key[i] = (float)draw_normal(&draw);
        c->value[i] = (float)draw_normal(&draw);
        c->keep[i] = draw_chance(&draw, 0.3);
    }
}

/* Tokens first to last - 1 of a [B,H,T,D] array, in the form of the case. */
static void add_tensor(const struct split_case *c, const char *name, const double *numbers, size_t T, size_t D, size_t first,
                       size_t last)
{
    const size_t B = c->B, H = c->H, count = last - first;
    if (c->form == BHTD)
        text_add(&text, "\"%s\":{\"shape\":[%zu,%zu,%zu,%zu],\"data\":[", name, B, H, count, D);
    else if (c->form == BTHD)
        text_add(&text, "\"%s\":{\"shape\":[%zu,%zu,%zu,%zu],\"data\":[", name, B, count, H, D);
    else
        text_add(&text, "\"%s\":{\"shape\":[%zu,%zu,%zu],\"data\":[", name, B, count, H * D);
    for (size_t i = 0; i < B * H * count * D; i++) {
        size_t d = i % D, h, t, b = i / D / count / H;
        h = c->form == BHTD ? i / D / count % H : i / D % H;
        t = c->form == BHTD ? i / D % count : i / D / H % count;
        text_add(&text, "%s%.9g", i > 0 ? "," : "", numbers[((b * H + h) * T + first + t) * D + d]);
    }
    text_add(&text, "]},");
}

/* POST /attention over some of the keys. */
static void write_request(const struct split_case *c, size_t first, size_t last, bool sinks, bool f64)
{
    text.bytes = 0;
    text_add(&text, "{");
    add_tensor(c, "query", c->query, c->Tq, c->D, 0, c->Tq);
    add_tensor(c, "key", c->key, c->Tk, c->D, first, last);
    add_tensor(c, "value", c->value, c->Tk, c->Dv, first, last);
    if (c->form == BTHD)
        text_add(&text, "\"layout\":\"bthd\",");
    if (c->form == PACKED)
        text_add(&text, "\"num_heads\":%zu,", c->H);
    if (c->causal)
        text_add(&text, "\"causal\":true,");
    if (c->window)
        text_add(&text, "\"window\":[2,1],");
    if (c->causal || c->window) {
        text_add(&text, "\"query_offset\":%zu,\"key_positions\":[", c->Tk / 2);
        for (size_t j = first; j < last; j++)
            text_add(&text, "%s%zu", j > first ? "," : "", j);
        text_add(&text, "],");
    }
    if (c->mask) {
        text_add(&text, "\"mask\":{\"shape\":[%zu,%zu],\"data\":[", c->Tq, last - first);
        for (size_t i = 0; i < c->Tq; i++)
            for (size_t j = first; j < last; j++)
                text_add(&text, "%s%s", i > 0 || j > first ? "," : "", c->keep[i * c->Tk + j] ? "true" : "false");
        text_add(&text, "]},");
    }
    if (sinks)
        text_add(&text, "\"sinks\":%s,", c->H == 1 ? "[0.5]" : c->H == 2 ? "[0.5,-1]" : "[0.5,-1,2]");
    text_add(&text, "\"lse_base\":\"%s\",\"precision\":\"%s\",\"return\":[\"output\",\"lse\"]}", c->base_2 ? "2" : "e",
             f64 ? "float64" : "float32");
}

/* Tasks from the last to the first. */
static void run_backwards(void *context, size_t task_count, executor_task *task, void *argument)
{
    (void)context;
    for (size_t i = task_count; i-- > 0;)
        task(argument, i, 0);
}

static const struct executor tasks_backwards = {.worker_count = 1, .run = run_backwards};

static void check_near(const struct client *one, const struct client *merged, const char *name, size_t rank,
                       const size_t *shape, double bound)
{
    double *want = client_numbers(one, json_object_get(one->reply, name), name, rank, shape);
    double *got = client_numbers(merged, json_object_get(merged->reply, name), name, rank, shape);
    for (size_t i = 0; i < shape_count(rank, shape); i++)
        if (want[i] != got[i] && !(fabs(want[i] - got[i]) <= bound))
            fail_msg("%s: %s[%zu]: %.17g, should be %.17g", merged->label, name, i, got[i], want[i]);
    free(want);
    free(got);
}

/* The parts in the order in which they arrive: a permutation. */
static void draw_arrival(struct draw *draw, size_t count, size_t arrival[PARTS_MAX])
{
    for (size_t p = 0; p < count; p++) {
        const size_t at = draw_size(draw, 0, p);
        arrival[p] = arrival[at];
        arrival[at] = p;
    }
}

/* Computes the parts in one order and merges them in another, each reply as it came. */
static void merge_parts(const struct split_case *c, const char *label, const size_t *compute_order, const size_t *merge_order,
                        const struct executor *executor, struct client *ret)
{
    struct client parts[PARTS_MAX];
    for (size_t i = 0; i < c->part_count; i++) {
        const size_t p = compute_order[i];
        write_request(c, c->begin[p], c->begin[p + 1], c->sinks && p == c->sinks_part, c->f64);
        client_attention(&parts[p], label, text.chars, text.bytes, executor);
        client_check_ok(&parts[p]);
    }
    text.bytes = 0;
    text_add(&text, "{\"lse_base\":\"%s\",\"precision\":\"%s\",%s\"parts\":[", c->base_2 ? "2" : "e",
             c->f64 ? "float64" : "float32", c->form == BTHD ? "\"layout\":\"bthd\"," : "");
    for (size_t i = 0; i < c->part_count; i++) {
        struct client *part = &parts[merge_order[i]];
        text_add(&text, "%s%.*s", i > 0 ? "," : "", (int)part->call.reply.body_bytes, part->call.reply.body);
        client_done(part);
    }
    text_add(&text, "]}");
    client_merge(ret, label, text.chars, text.bytes, executor);
    client_check_ok(ret);
    client_check_reply(ret);
}

/* Against one computation over all keys, in double. */
static void check_against(const struct split_case *c, const struct client *one, const struct client *merged)
{
    const double unit = c->f64 ? 2e-14 : 2e-6;
    const size_t heads[4] = {c->B, c->form == BHTD ? c->H : c->Tq, c->form == BHTD ? c->Tq : c->H, c->Dv};
    const size_t packed[3] = {c->B, c->Tq, c->H * c->Dv}, lse[3] = {c->B, c->H, c->Tq}, lse_alone[2] = {c->B, c->Tq};
    bool rank4 = c->form == BHTD || c->form == BTHD;
    check_near(one, merged, "output", rank4 ? 4 : 3, rank4 ? heads : packed, 4 * unit);
    check_near(one, merged, "lse", c->form == PLAIN ? 2 : 3, c->form == PLAIN ? lse_alone : lse, 4 * unit);
}

/* Merged in fixed order parts give the same bits whatever order they arrive in; in any order they are right. */
static void check_case(uint64_t seed)
{
    static const size_t in_order[PARTS_MAX] = {0, 1, 2, 3, 4, 5};
    static struct split_case c;
    char label[64];
    struct client one, merged, again, shuffled;
    struct draw draw = {seed};
    size_t arrival[PARTS_MAX] = {0};
    draw_case(&c, seed);
    draw_arrival(&draw, c.part_count, arrival);
    (void)snprintf(label, sizeof label, "ATTND_MERGE_SEED=%" PRIu64, seed);
    write_request(&c, 0, c.Tk, c.sinks, true);
    client_attention(&one, label, text.chars, text.bytes, NULL);
    client_check_ok(&one);
    merge_parts(&c, label, in_order, in_order, NULL, &merged);
    check_against(&c, &one, &merged);
    merge_parts(&c, label, arrival, in_order, &tasks_backwards, &again);
    assert_string_equal(again.reply_text, merged.reply_text);
    merge_parts(&c, label, in_order, arrival, NULL, &shuffled);
    check_against(&c, &one, &shuffled);
    client_done(&shuffled);
    client_done(&again);
    client_done(&merged);
    client_done(&one);
}

static void splits(void **state)
{
    (void)state;
    const size_t count = environment_size("ATTND_MERGE_CASES", environment_cases(10000, 20, 100));
    const size_t seed = environment_size("ATTND_MERGE_SEED", 1);
    for (size_t i = 0; i < count; i++)
        check_case(seed + i);
}

/* ---- single requests ---- */

static void check_merged(const char *request, double output, double lse)
{
    struct client client;
    const size_t shape[2] = {1, 1};
    client_merge(&client, request, request, strlen(request), NULL);
    client_check_ok(&client);
    double *numbers = client_numbers(&client, json_object_get(client.reply, "output"), "output", 2, shape);
    double *lses = client_numbers(&client, json_object_get(client.reply, "lse"), "lse", 1, shape);
    if ((numbers[0] != output && !(fabs(numbers[0] - output) < 1e-12)) || (lses[0] != lse && !(fabs(lses[0] - lse) < 1e-12)))
        fail_msg("%s: %s", request, client.reply_text);
    free(numbers);
    free(lses);
    client_done(&client);
}

#define F64 "\"precision\":\"float64\","
static void numbers(void **state)
{
    (void)state;
    const double infinity = (double)INFINITY;
    check_merged("{" F64 "\"parts\":[{\"output\":[[5]],\"lse\":[1]},{\"output\":[[6]],\"lse\":[1]}]}", 5.5, 1 + log(2));
    check_merged("{" F64 "\"lse_base\":\"2\",\"parts\":[{\"output\":[[4]],\"lse\":[3]},{\"output\":[[8]],\"lse\":[1]},"
                 "{\"output\":[[0]],\"lse\":[1]}]}",
                 4, log2(12));
    check_merged("{" F64 "\"parts\":[{\"output\":[[5]],\"lse\":[700]},{\"output\":[[7]],\"lse\":[800]},{\"output\":[[7]],"
                 "\"lse\":[-800]}]}",
                 7, 800);
    check_merged("{\"parts\":[{\"output\":[[\"NaN\"]],\"lse\":[\"-Infinity\"]},{\"output\":[[7]],\"lse\":[-3]}]}", 7, -3);
    check_merged("{\"parts\":[{\"output\":[[\"NaN\"]],\"lse\":[\"-Infinity\"]}]}", 0, -infinity);
    check_merged("{" F64 "\"parts\":[{\"output\":[[\"Infinity\"]],\"lse\":[0]},{\"output\":[[7]],\"lse\":[0]}]}", infinity,
                 log(2));
}

/* Two heads of one token, each with weights of its own. */
static void packed_sequences(void **state)
{
    (void)state;
    const char request[] = "{" F64 "\"layout\":\"thd\",\"parts\":[{\"output\":[[[1],[2]]],\"lse\":[[0],[\"-Infinity\"]]},"
                           "{\"output\":[[[3],[4]]],\"lse\":[[0],[0]]}]}";
    const size_t shape[3] = {1, 2, 1};
    struct client client;
    client_merge(&client, "thd", request, strlen(request), NULL);
    client_check_ok(&client);
    double *output = client_numbers(&client, json_object_get(client.reply, "output"), "output", 3, shape);
    assert_true(output[0] == 2 && output[1] == 4);
    free(output);
    client_done(&client);
}

static void check_refused(const char *request, const char *pointer, const char *words)
{
    struct client client;
    client_merge(&client, request, request, strlen(request), NULL);
    if (client.call.reply.status != 422 || strcmp(client_problem_text(&client, "pointer"), pointer) != 0 ||
        strstr(client_problem_text(&client, "detail"), words) == NULL)
        fail_msg("%s: %s; should be at \"%s\" with \"%s\"", request, client.reply_text, pointer, words);
    client_done(&client);
}

#define PART "{\"output\":[[5]],\"lse\":[1]}"
static void refusals(void **state)
{
    (void)state;
    check_refused("{}", "", "parts is missing");
    check_refused("[1]", "", "an object with parts");
    check_refused("{\"parts\":[]}", "/parts", "no parts");
    check_refused("{\"parts\":[[1]]}", "/parts", "an array of parts");
    check_refused("{\"parts\":[" PART ",3]}", "/parts/1", "an object with output and lse");
    check_refused("{\"parts\":[{\"output\":[[5]]}]}", "/parts/0", "without lse");
    check_refused("{\"parts\":[{\"output\":[[5]],\"lse\":[1],\"weights\":[[1]]}]}", "/parts/0/weights", "");
    check_refused("{\"parts\":[" PART "],\"query\":[[1]]}", "/query", "");
    check_refused("{\"parts\":[" PART "],\"return\":[\"output\",\"weights\"]}", "/return/1", "weights cannot be merged");
    check_refused("{\"parts\":[" PART "],\"layout\":\"bthd\"}", "/layout", "rank 4");
    check_refused("{\"parts\":[{\"output\":[5],\"lse\":[1]}]}", "/parts/0/output", "rank 1");
    check_refused("{\"parts\":[{\"output\":[[5]],\"lse\":[1,2]}]}", "/parts/0/lse", "needs [1]");
    check_refused("{\"parts\":[{\"output\":[[5,6,7]],\"lse\":[[1],[2]]}]}", "/parts/0/output", "2 heads");
    check_refused("{\"layout\":\"thd\",\"parts\":[" PART "]}", "/parts/0/output", "[T,H,Dv]");
    check_refused("{\"layout\":\"thd\",\"parts\":[{\"output\":[[[1],[2]]],\"lse\":[[1,2]]}]}", "/parts/0/lse", "needs [2, 1]");
    check_refused("{\"parts\":[{\"output\":[[[[1],[2]]]],\"lse\":[[[1,2]]]}],\"layout\":\"bthd\"}", "/parts/0/lse", "layout");
    check_refused("{\"parts\":[" PART ",{\"output\":[[5,6]],\"lse\":[1]}]}", "/parts/1/output", "the first part has shape");
    check_refused("{\"parts\":[" PART ",{\"output\":[[5]],\"lse\":[[1]]}]}", "/parts/1/lse", "the first part has shape");
    check_refused("{\"parts\":[" PART ",{\"output\":{\"shape\":[1,1]},\"lse\":[1]}]}", "/parts/1/output", "without data");
    check_refused("{\"parts\":[" PART ",{\"output\":[[true]],\"lse\":[1]}]}", "/parts/1/output", "booleans");
    check_refused("{\"parts\":[" PART ",{\"output\":[[5],[6,7]],\"lse\":[1]}]}", "/parts/1/output/1", "");
    check_refused("{\"parts\":[{\"output\":[[5]],\"lse\":[1],\"applied\":{\"lse_base\":\"2\"}}]}", "/parts/0/applied/lse_base",
                  "base 2");
    check_refused("{\"parts\":[{\"output\":[[1e300]],\"lse\":[1]}]}", "/parts", "overflows float32");
}

static void limits(void **state)
{
    (void)state;
    struct client client;
    text.bytes = 0;
    text_add(&text, "{\"parts\":[");
    for (size_t i = 0; i < 65; i++)
        text_add(&text, "%s" PART, i > 0 ? "," : "");
    text_add(&text, "]}");
    check_refused(text.chars, "/parts", "65 parts, the most are 64");
    const char big[] = "{\"parts\":[{\"output\":{\"shape\":[1,65536,65536],\"data\":[1]},\"lse\":[[1]]}]}";
    client_merge(&client, "big", big, strlen(big), NULL);
    assert_int_equal(client.call.reply.status, 422);
    client_done(&client);
}

static bool is_over(void *context)
{
    (void)context;
    return true;
}

/* Once nobody waits for it any more, a merge ends after the part that it is at. */
static void stopped(void **state)
{
    (void)state;
    struct client client;
    const char request[] = "{\"parts\":[" PART "," PART "]}";
    const struct executor executor = {.worker_count = 1, .stopped = is_over};
    client_merge(&client, "stopped", request, strlen(request), &executor);
    assert_int_equal(client.call.reply.status, 503);
    assert_int_equal(client.call.reply.error, ERROR_DEADLINE);
    client_done(&client);
}

/* ---- files ---- */

#define TENSOR(name, shape, begin, end)                                                                                        \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

static void send_file(struct binary_client *binary, const char *header, const float *data, size_t count)
{
    size_t bytes;
    char *file = safetensors_file(header, data, count * sizeof *data, &bytes);
    const struct binary_request request = {.protocol = &api_protocol_merge,
                                           .content_type = SAFETENSORS_TYPE,
                                           .accept = SAFETENSORS_TYPE,
                                           .body = file,
                                           .body_bytes = bytes};
    binary_client_send(binary, &request);
    free(file);
}

static void check_file_refused(const char *header, const char *words)
{
    const float data[4] = {5, 1, 6, 1};
    size_t bytes;
    char *file = safetensors_file(header, data, sizeof data, &bytes);
    const struct binary_request request = {
        .protocol = &api_protocol_merge, .content_type = SAFETENSORS_TYPE, .body = file, .body_bytes = bytes};
    struct binary_client binary;
    binary_client_send(&binary, &request);
    if (binary.call.reply.status != 422 || strstr(binary.body, words) == NULL)
        fail_msg("%s: %s; should say \"%s\"", header, binary.body, words);
    binary_client_done(&binary);
    free(file);
}

static void files(void **state)
{
    (void)state;
    struct binary_client binary;
    const float data[4] = {5, 1, 6, 1};
    float output, lse;
    send_file(
        &binary,
        "{\"__metadata__\":{\"request\":\"{\\\"lse_base\\\":\\\"2\\\"}\"}," TENSOR("lse.1", "[1]", "12", "16") "," TENSOR(
            "output.0", "[1,1]", "0", "4") "," TENSOR("lse.0", "[1]", "4", "8") "," TENSOR("output.1", "[1,1]", "8", "12") "}",
        data, 4);
    binary_client_check_ok(&binary);
    memcpy(&output, safetensors_tensor(&binary, "output", "F32", "[1,1]"), sizeof output);
    memcpy(&lse, safetensors_tensor(&binary, "lse", "F32", "[1]"), sizeof lse);
    assert_true(output == 5.5F && lse == 2);
    binary_client_done(&binary);
#define FIRST TENSOR("output.0", "[1,1]", "0", "4") "," TENSOR("lse.0", "[1]", "4", "8")
    check_file_refused("{" FIRST "," TENSOR("output.2", "[1,1]", "8", "12") "," TENSOR("lse.2", "[1]", "12", "16") "}",
                       "output.1 is missing");
    check_file_refused("{" FIRST "," TENSOR("output.1", "[1,2]", "8", "16") "}", "lse.1 is missing");
    check_file_refused("{" FIRST "," TENSOR("outputs.1", "[1,2]", "8", "16") "}", "not read here");
    check_file_refused("{" FIRST "," TENSOR("lse.01", "[1,2]", "8", "16") "}", "not read here");
    check_file_refused("{" FIRST "," TENSOR("lse.64", "[1,2]", "8", "16") "}", "from 0 to 63");
    check_file_refused("{\"__metadata__\":{\"request\":\"{\\\"parts\\\":[]}\"}," FIRST
                       "," TENSOR("output.1", "[1,2]", "8", "16") "}",
                       "parts: no such field");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits),   cmocka_unit_test(numbers), cmocka_unit_test(packed_sequences),
        cmocka_unit_test(refusals), cmocka_unit_test(limits),  cmocka_unit_test(stopped),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
