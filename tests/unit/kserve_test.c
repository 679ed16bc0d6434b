/* The Open Inference Protocol where the ONNX operator's own tests leave it open (tests/conformance/onnx/README.md lists
 * it): requests small enough to be computed by hand. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/protocol/kserve_metadata.h"
#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/kserve_check.h"

/* One head of size 1: queries, keys and values are plain numbers, and with scale 1 a score is their product. */
#define ONE_QUERY FP32("Q", "[1,1,1,1]", "[3]")
#define TWO_QUERIES FP32("Q", "[1,1,2,1]", "[3,3]")
#define THREE_KEYS FP32("K", "[1,1,3,1]", "[0,0,0]") "," FP32("V", "[1,1,3,1]", "[10,20,60]")
#define QK_OUTPUT "{\"name\":\"qk_matmul_output\"}"

/* Y alone, FP32, the very numbers. */
static void check_y(const char *parameters, const char *inputs, const char *shape, size_t count, const double *numbers)
{
    const struct kserve_wanted wanted = {"Y", "FP32", shape, count, numbers, 0};
    kserve_check(parameters, inputs, NULL, &wanted, 1);
}

static void the_modes_are_the_stages(void **state)
{
    (void)state;
    static const char inputs[] = ONE_QUERY "," FP32("K", "[1,1,2,1]", "[2,1]") "," FP32("V", "[1,1,2,1]", "[0,0]") "," FP32(
        "attn_mask", "[1,2]", "[1,\"-Infinity\"]");
    const double capped = 2 * tanh(3);
    const double stages[4][2] = {{6, 3}, {capped, 2 * tanh(1.5)}, {capped + 1, -INFINITY}, {1, 0}};
    for (int mode = 0; mode < 4; mode++) {
        char parameters[100];
        (void)snprintf(parameters, sizeof parameters, "\"scale\":1,\"softcap\":2,\"qk_matmul_output_mode\":%d", mode);
        const struct kserve_wanted wanted = {"qk_matmul_output", "FP32", "[1,1,1,2]", 2, stages[mode], 1e-6};
        kserve_check(parameters, inputs, QK_OUTPUT, &wanted, 1);
    }
    const struct kserve_wanted first = {"qk_matmul_output", "FP32", "[1,1,1,2]", 2, stages[0], 0};
    kserve_check("\"scale\":1,\"softcap\":2", inputs, QK_OUTPUT, &first, 1);
}

/* A mask that ends early masks the keys after its end, whatever its type and rank. */
static void short_masks_ban_the_rest(void **state)
{
    (void)state;
    static const char *const masks[] = {
        BOOL("attn_mask", "[1,2]", "[true,true]"), FP32("attn_mask", "[1,2]", "[0,0]"),
        FP32("attn_mask", "[1,1,1,2]", "[5,5]"),   FP64("attn_mask", "[2]", "[0,0]"),
        FP16("attn_mask", "[1,1,2]", "[0,0]"),
    };
    static const double half_way[] = {15};
    for (size_t k = 0; k < sizeof masks / sizeof *masks; k++) {
        char inputs[1000];
        (void)snprintf(inputs, sizeof inputs, "%s,%s,%s", ONE_QUERY, THREE_KEYS, masks[k]);
        check_y("", inputs, "[1,1,1,1]", 1, half_way);
    }
}

/* It meets the lengths: the smaller of the two ends wins, and the causal corner stays where the lengths put it. */
static void short_masks_and_lengths(void **state)
{
    (void)state;
    static const char inputs[] = FP32("Q", "[2,1,2,1]", "[1,1,1,1]") "," FP32("K", "[2,1,3,1]", "[0,0,0,0,0,0]") "," FP32(
        "V", "[2,1,3,1]", "[10,20,60,10,20,60]") "," BOOL("attn_mask", "[1,2]", "[true,true]") "," INT64("nonpad_kv_seqlen",
                                                                                                         "[2]", "[3,1]");
    static const double y[] = {15, 15, 0, 10};
    check_y("\"is_causal\":1", inputs, "[2,1,2,1]", 4, y);
}

static void a_mask_of_one_key_is_padded_not_broadcast(void **state)
{
    (void)state;
    static const double first_key[] = {10, 0}, nothing[] = {0, 0}, two_keys[] = {35, 35};
    check_y("", TWO_QUERIES "," THREE_KEYS "," BOOL("attn_mask", "[2,1]", "[true,false]"), "[1,1,2,1]", 2, first_key);
    check_y("", TWO_QUERIES "," THREE_KEYS "," BOOL("attn_mask", "[2,0]", "[]"), "[1,1,2,1]", 2, nothing);
    check_y("", TWO_QUERIES "," THREE_KEYS "," BOOL("attn_mask", "[1,3]", "[true,false,true]"), "[1,1,2,1]", 2, two_keys);
}

/* Numbers are rounded to their datatype when they are read and again when they are written: to nearest, ties to even. */
static void narrow_types_round(void **state)
{
    (void)state;
    static const struct {
        const char *datatype, *value;
        double rounded;
    } cases[] = {
        {"FP16", "2049", 2048},
        {"FP16", "2051", 2052},
        {"FP16", "2050.5", 2050},
        {"FP16", "1e-8", 0},
        {"FP16", "-5.9e-8", -0x1p-24},
        {"FP16", "65519.99", 65504},
        {"FP16", "\"Infinity\"", INFINITY},
        {"BF16", "257", 256},
        {"BF16", "259", 260},
        {"BF16", "-257.0001", -258},
        {"BF16", "1.00390625", 1},
        {"FP32", "16777217", 16777216},
        {"FP64", "16777217", 16777217},
        {"FP64", "0.1", 0.1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const char *type = cases[k].datatype;
        char inputs[1000];
        (void)snprintf(inputs, sizeof inputs,
                       INPUT("Q", "%s", "[1,1,1,1]", "[0]") "," INPUT("K", "%s", "[1,1,1,1]",
                                                                      "[0]") "," INPUT("V", "%s", "[1,1,1,1]", "[%s]"),
                       type, type, type, cases[k].value);
        const struct kserve_wanted wanted[] = {
            {"present_value", type, "[1,1,1,1]", 1, &cases[k].rounded, 0},
            {"Y", type, "[1,1,1,1]", 1, &cases[k].rounded, 0},
        };
        kserve_check("", inputs, "{\"name\":\"present_value\"},{\"name\":\"Y\"}", wanted, 2);
    }
}

/* A mean that the datatype cannot hold: computed in double, rounded once. */
static void outputs_are_rounded_once(void **state)
{
    (void)state;
    static const double f16[] = {2050}, bf16[] = {258}, f32[] = {2049.5}, f64[] = {1.0 / 3};
    const struct kserve_wanted half = {"Y", "FP16", "[1,1,1,1]", 1, f16, 0}, brain = {"Y", "BF16", "[1,1,1,1]", 1, bf16, 0};
    const struct kserve_wanted single = {"Y", "FP32", "[1,1,1,1]", 1, f32, 0}, wide = {"Y", "FP64", "[1,1,1,1]", 1, f64, 1e-16};
    kserve_check("",
                 FP16("Q", "[1,1,1,1]", "[0]") "," FP16("K", "[1,1,4,1]", "[0,0,0,0]") "," FP16("V", "[1,1,4,1]",
                                                                                                "[2048,2048,2050,2052]"),
                 NULL, &half, 1);
    kserve_check("", BF16("Q", "[1,1,1,1]", "[0]") "," BF16("K", "[1,1,2,1]", "[0,0]") "," BF16("V", "[1,1,2,1]", "[256,260]"),
                 NULL, &brain, 1);
    kserve_check("",
                 FP32("Q", "[1,1,1,1]", "[0]") "," FP16("K", "[1,1,4,1]", "[0,0,0,0]") "," FP16("V", "[1,1,4,1]",
                                                                                                "[2048,2048,2050,2052]"),
                 NULL, &single, 1);
    kserve_check("", FP64("Q", "[1,1,1,1]", "[0]") "," FP64("K", "[1,1,3,1]", "[0,0,0]") "," FP64("V", "[1,1,3,1]", "[0,0,1]"),
                 NULL, &wide, 1);
}

/* Just above the middle of two numbers of the datatype, by less than float32 can tell: each stage, and the mean of four values. */
static void no_output_goes_through_float32(void **state)
{
    (void)state;
    static const struct {
        const char *datatype, *key, *values;
        double rounded;
    } cases[] = {
        {"FP16", "[1,0.00048828125,0.000000059604644775390625]", "[2,2.001953125,0.000000059604644775390625,0]", 1 + 0x1p-10},
        {"BF16", "[1,0.00390625,0.000000059604644775390625]", "[2,2.015625,0.000000059604644775390625,0]", 1 + 0x1p-7},
    };
    for (size_t k = 0; k < 3 * sizeof cases / sizeof *cases; k++) {
        const char *type = cases[k / 3].datatype;
        char inputs[1000], parameters[100];
        (void)snprintf(parameters, sizeof parameters, "\"scale\":1,\"qk_matmul_output_mode\":%zu", k % 3);
        (void)snprintf(inputs, sizeof inputs,
                       INPUT("Q", "%s", "[1,1,1,3]", "[1,1,1]") "," INPUT("K", "%s", "[1,1,1,3]",
                                                                          "%s") "," INPUT("V", "%s", "[1,1,1,1]", "[1]"),
                       type, type, cases[k / 3].key, type);
        const struct kserve_wanted scores = {"qk_matmul_output", type, "[1,1,1,1]", 1, &cases[k / 3].rounded, 0};
        kserve_check(parameters, inputs, QK_OUTPUT, &scores, 1);
        (void)snprintf(inputs, sizeof inputs,
                       INPUT("Q", "%s", "[1,1,1,1]", "[0]") "," INPUT("K", "%s", "[1,1,4,1]",
                                                                      "[0,0,0,0]") "," INPUT("V", "%s", "[1,1,4,1]", "%s"),
                       type, type, type, cases[k / 3].values);
        const struct kserve_wanted mean = {"Y", type, "[1,1,1,1]", 1, &cases[k / 3].rounded, 0};
        kserve_check(parameters, inputs, NULL, &mean, 1);
    }
}

/* Each output has the type of the input it belongs to: Y and the scores Q's, present_key K's, present_value V's. */
static void types_may_differ(void **state)
{
    (void)state;
    static const double key[] = {2048}, value[] = {256}, y[] = {256}, scores[] = {2048};
    const struct kserve_wanted wanted[] = {
        {"present_value", "BF16", "[1,1,1,1]", 1, value, 0},
        {"present_key", "FP16", "[1,1,1,1]", 1, key, 0},
        {"qk_matmul_output", "FP64", "[1,1,1,1]", 1, scores, 0},
        {"Y", "FP64", "[1,1,1,1]", 1, y, 0},
    };
    kserve_check("", FP64("Q", "[1,1,1,1]", "[1]") "," FP16("K", "[1,1,1,1]", "[2049]") "," BF16("V", "[1,1,1,1]", "[257]"),
                 "{\"name\":\"present_value\"},{\"name\":\"present_key\"}," QK_OUTPUT ",{\"name\":\"Y\"}", wanted, 4);
}

/* The lower precisions require less than what is done anyway; DOUBLE computes the softmax in double. */
static void softmax_precision(void **state)
{
    (void)state;
    static const double weights[] = {0.73105857863000490, 0.26894142136999512};
    static const char inputs[] =
        FP64("Q", "[1,1,1,1]", "[1]") "," FP32("K", "[1,1,2,1]", "[1,0]") "," FP32("V", "[1,1,2,1]", "[0,0]");
    static const char *const codes[] = {"1", "10", "16", "11"};
    for (size_t k = 0; k < 4; k++) {
        char parameters[100];
        (void)snprintf(parameters, sizeof parameters, "\"qk_matmul_output_mode\":3,\"softmax_precision\":%s", codes[k]);
        const struct kserve_wanted wanted = {"qk_matmul_output", "FP64", "[1,1,1,2]", 2, weights, 1e-15};
        kserve_check(parameters, inputs, QK_OUTPUT, &wanted, 1);
    }
}

static void caches_without_a_past(void **state)
{
    (void)state;
    static const double key[] = {1, 5, 2, 6}, value[] = {3, 7, 4, 8}, y[] = {3, 7};
    const struct kserve_wanted wanted[] = {
        {"present_key", "FP32", "[1,2,2,1]", 4, key, 0},
        {"present_value", "FP32", "[1,2,2,1]", 4, value, 0},
    };
    const char *outputs = "{\"name\":\"present_key\"},{\"name\":\"present_value\"}";
    /* Rank 3: tokens come first in K and V, heads in the caches. */
    kserve_check("\"q_num_heads\":2,\"kv_num_heads\":2",
                 FP32("Q", "[1,1,2]", "[0,0]") "," FP32("K", "[1,2,2]", "[1,2,5,6]") "," FP32("V", "[1,2,2]", "[3,4,7,8]"),
                 outputs, wanted, 2);
    kserve_check(
        "", FP32("Q", "[1,2,1,1]", "[0,0]") "," FP32("K", "[1,2,2,1]", "[1,5,2,6]") "," FP32("V", "[1,2,2,1]", "[3,7,4,8]"),
        outputs, wanted, 2);
    /* With one, and nothing said of outputs: Y and both. */
    const struct kserve_wanted with_past[] = {
        {"Y", "FP32", "[1,1,1,1]", 1, (const double[]){5}, 0},
        {"present_key", "FP32", "[1,1,2,1]", 2, key, 0},
        {"present_value", "FP32", "[1,1,2,1]", 2, y, 0},
    };
    kserve_check("",
                 FP32("Q", "[1,1,1,1]", "[0]") "," FP32("K", "[1,1,1,1]", "[5]") "," FP32("V", "[1,1,1,1]", "[7]") "," FP32(
                     "past_key", "[1,1,1,1]", "[1]") "," FP32("past_value", "[1,1,1,1]", "[3]"),
                 NULL, with_past, 3);
}

/* The last query of an item stands at its last key. */
static void lengths_of_packed_heads(void **state)
{
    (void)state;
    static const double y[] = {10, 15, 15, 30};
    check_y("\"q_num_heads\":1,\"kv_num_heads\":1,\"is_causal\":1",
            FP32("Q", "[2,2,1]", "[0,0,0,0]") "," FP32("K", "[2,3,1]", "[0,0,0,0,0,0]") "," FP32(
                "V", "[2,3,1]", "[10,20,60,10,20,60]") "," INT64("nonpad_kv_seqlen", "[2]", "[2,3]"),
            "[2,2,1]", 4, y);
}

static void lengths_of_zero(void **state)
{
    (void)state;
    static const double y[] = {0, 30};
    check_y("",
            FP32("Q", "[2,1,1,1]", "[0,0]") "," FP32("K", "[2,1,3,1]", "[\"NaN\",0,0,0,0,0]") "," FP32(
                "V", "[2,1,3,1]", "[10,\"Infinity\",60,10,20,60]") "," INT64("nonpad_kv_seqlen", "[2]", "[0,3]"),
            "[2,1,1,1]", 2, y);
}

static void empty_dimensions(void **state)
{
    (void)state;
    static const double zero[] = {0, 0};
    check_y("", FP32("Q", "[1,1,0,2]", "[]") "," FP32("K", "[1,1,1,2]", "[1,2]") "," FP32("V", "[1,1,1,1]", "[1]"), "[1,1,0,1]",
            0, NULL);
    check_y("", FP32("Q", "[1,1,1,2]", "[1,2]") "," FP32("K", "[1,1,0,2]", "[]") "," FP32("V", "[1,1,0,2]", "[]"), "[1,1,1,2]",
            2, zero);
    check_y("", FP32("Q", "[0,1,1,2]", "[]") "," FP32("K", "[0,1,1,2]", "[]") "," FP32("V", "[0,1,1,2]", "[]"), "[0,1,1,2]", 0,
            NULL);
    check_y("", FP32("Q", "[1,1,1,2]", "[1,2]") "," FP32("K", "[1,1,1,2]", "[1,2]") "," FP32("V", "[1,1,1,0]", "[]"),
            "[1,1,1,0]", 0, NULL);
    check_y("\"scale\":1", FP32("Q", "[1,1,1,0]", "[]") "," FP32("K", "[1,1,2,0]", "[]") "," FP32("V", "[1,1,2,1]", "[1,3]"),
            "[1,1,1,1]", 1, (const double[]){2});
    check_y("\"q_num_heads\":2,\"kv_num_heads\":1",
            FP32("Q", "[1,0,4]", "[]") "," FP32("K", "[1,1,2]", "[1,2]") "," FP32("V", "[1,1,3]", "[1,2,3]"), "[1,0,6]", 0,
            NULL);
}

/* Where they are masked they reach nothing; where not, their own row and no other. */
static void numbers_that_are_none(void **state)
{
    (void)state;
    static const double masked[] = {10, 10}, key[] = {10, NAN}, query[] = {NAN, 30};
    static const double plus[] = {NAN, 15}, large[] = {20, 10}, value[] = {10, INFINITY};
    static const char *const poisons[] = {"\"NaN\"", "\"Infinity\"", "\"-Infinity\""};
    for (size_t k = 0; k < 3; k++) {
        char inputs[1000];
        (void)snprintf(inputs, sizeof inputs,
                       TWO_QUERIES "," FP32("K", "[1,1,2,1]", "[0,%s]") "," FP32("V", "[1,1,2,1]", "[10,%s]") "," BOOL(
                           "attn_mask", "[1,2]", "[true,false]"),
                       poisons[k], poisons[k]);
        check_y("", inputs, "[1,1,2,1]", 2, masked);
    }
    check_y("\"is_causal\":1", TWO_QUERIES "," FP32("K", "[1,1,2,1]", "[0,\"NaN\"]") "," FP32("V", "[1,1,2,1]", "[10,20]"),
            "[1,1,2,1]", 2, key);
    check_y("\"is_causal\":1", TWO_QUERIES "," FP32("K", "[1,1,2,1]", "[0,0]") "," FP32("V", "[1,1,2,1]", "[10,\"Infinity\"]"),
            "[1,1,2,1]", 2, value);
    check_y("", FP32("Q", "[1,1,2,1]", "[\"NaN\",0]") "," THREE_KEYS, "[1,1,2,1]", 2, query);
    check_y("",
            TWO_QUERIES "," FP32("K", "[1,1,2,1]", "[0,0]") "," FP32("V", "[1,1,2,1]", "[10,20]") "," FP32(
                "attn_mask", "[2,2]", "[\"Infinity\",0,0,0]"),
            "[1,1,2,1]", 2, plus);
    check_y(
        "",
        FP32("Q", "[1,1,2,1]", "[1e30,-1e30]") "," FP32("K", "[1,1,2,1]", "[-1e30,1e30]") "," FP32("V", "[1,1,2,1]", "[10,20]"),
        "[1,1,2,1]", 2, large);
}

static void ids_come_back(void **state)
{
    (void)state;
    static const char *const ids[] = {"\"\"", "\"42\"", "\"a\\\"b\\\\c\\n\\t\\u0001\\u007f/\"",
                                      "\"\\u00e9\\ud83d\\ude00 \xe2\x82\xac\"", "null"};
    for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
        char text[KSERVE_TEXT_BYTES_MAX];
        (void)snprintf(text, sizeof text, "{\"id\":%s,\"inputs\":[" ONE_QUERY "," THREE_KEYS "]}", ids[k]);
        struct client client;
        client_kserve(&client, text, text, strlen(text), NULL);
        client_check_ok(&client);
        json_t *sent = json_loads(ids[k], JSON_DECODE_ANY, NULL), *got = json_object_get(client.reply, "id");
        if (json_is_null(sent))
            assert_null(got);
        else
            assert_true(json_equal(sent, got));
        assert_string_equal(json_string_value(json_object_get(client.reply, "model_name")), "attention");
        assert_string_equal(json_string_value(json_object_get(client.reply, "model_version")), "1");
        json_decref(sent);
        client_done(&client);
    }
}

/* Named outputs come in the order of their names; none named are Y. */
static void outputs_are_selected(void **state)
{
    (void)state;
    static const double y[] = {30}, qk[] = {0, 0, 0}, key[] = {0, 0, 0}, value[] = {10, 20, 60};
    static const struct kserve_wanted all[] = {
        {"Y", "FP32", "[1,1,1,1]", 1, y, 0},
        {"present_key", "FP32", "[1,1,3,1]", 3, key, 0},
        {"present_value", "FP32", "[1,1,3,1]", 3, value, 0},
        {"qk_matmul_output", "FP32", "[1,1,1,3]", 3, qk, 0},
    };
    for (size_t first = 0; first < 4; first++) {
        for (size_t second = 0; second < 4; second++) {
            char outputs[200];
            const struct kserve_wanted wanted[] = {all[first], all[second]};
            bool two = first != second;
            (void)snprintf(outputs, sizeof outputs, two ? "{\"name\":\"%s\"},{\"name\":\"%s\"}" : "{\"name\":\"%s\"}",
                           all[first].name, all[second].name);
            kserve_check("", ONE_QUERY "," THREE_KEYS, outputs, wanted, two ? 2 : 1);
        }
    }
    kserve_check("", ONE_QUERY "," THREE_KEYS, "", all, 1);
    kserve_check("\"is_causal\":false,\"scale\":null", ONE_QUERY "," THREE_KEYS, NULL, all, 1);
}

/* What clients send to schedulers, sequences and codecs of other servers changes nothing, wherever they send it; what none of them
 * sends is refused there. */
static void options_of_other_servers(void **state)
{
    (void)state;
    static const char *const options[] = {
        "\"priority\":2",
        "\"timeout\":1000",
        "\"sequence_id\":7,\"sequence_start\":true,\"sequence_end\":false",
        "\"sequence_id\":\"a\"",
        "\"triton_enable_empty_final_response\":true",
        "\"content_type\":\"np\"",
        "\"headers\":{\"a\":\"b\"},\"tags\":[1]",
    };
    static const double y[] = {3};
    static const struct kserve_wanted wanted = {"Y", "FP32", "[1,1,1,1]", 1, y, 0};
    char inputs[1000], outputs[400], text[KSERVE_TEXT_BYTES_MAX];
    for (size_t k = 0; k <= sizeof options / sizeof *options; k++) {
        bool known = k < sizeof options / sizeof *options;
        const char *option = known ? options[k] : "\"hint\":1";
        (void)snprintf(inputs, sizeof inputs,
                       "{\"name\":\"Q\",\"datatype\":\"FP32\",\"shape\":[1,1,1,1],\"data\":[1],\"parameters\":{%s}}," FP32(
                           "K", "[1,1,1,1]", "[1]") "," FP32("V", "[1,1,1,1]", "[3]"),
                       option);
        (void)snprintf(outputs, sizeof outputs, "{\"name\":\"Y\",\"parameters\":{%s}}", option);
        if (known) {
            kserve_check(option, inputs, outputs, &wanted, 1);
            continue;
        }
        kserve_text("", inputs, NULL, text);
        kserve_check_error(text, 422, "/inputs/0/parameters/hint: hint: no such field; expected binary_data_size");
        kserve_text("", FP32("Q", "[1,1,1,1]", "[1]") "," FP32("K", "[1,1,1,1]", "[1]") "," FP32("V", "[1,1,1,1]", "[3]"),
                    outputs, text);
        kserve_check_error(text, 422, "/outputs/0/parameters/hint: hint: no such field; expected binary_data");
    }
}

static void documents(void **state)
{
    (void)state;
    json_t *server = json_loads(kserve_metadata_server, 0, NULL);
    json_t *model = json_loads(kserve_metadata_model, 0, NULL);
    json_t *ready = json_loads(kserve_metadata_model_ready, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(server, "name")), "attnd");
    assert_string_equal(json_string_value(json_object_get(server, "version")), ATTND_VERSION);
    assert_true(json_is_array(json_object_get(server, "extensions")));
    assert_string_equal(json_string_value(json_object_get(ready, "name")), "attention");
    assert_true(json_is_true(json_object_get(ready, "ready")));
    static const char *const inputs[] = {"Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};
    static const char *const outputs[] = {"Y", "present_key", "present_value", "qk_matmul_output"};
    const json_t *lists[] = {json_object_get(model, "inputs"), json_object_get(model, "outputs")};
    assert_string_equal(json_string_value(json_object_get(model, "name")), "attention");
    assert_true(json_is_array(json_object_get(model, "versions")) && json_is_string(json_object_get(model, "platform")));
    assert_int_equal(json_array_size(lists[0]), 7);
    assert_int_equal(json_array_size(lists[1]), 4);
    for (size_t k = 0; k < 11; k++) {
        const json_t *tensor = json_array_get(lists[k < 7 ? 0 : 1], k < 7 ? k : k - 7);
        assert_string_equal(json_string_value(json_object_get(tensor, "name")), k < 7 ? inputs[k] : outputs[k - 7]);
        assert_string_equal(json_string_value(json_object_get(tensor, "datatype")), k == 6 ? "INT64" : "FP32");
        assert_true(json_is_array(json_object_get(tensor, "shape")));
    }
    json_decref(server);
    json_decref(model);
    json_decref(ready);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_modes_are_the_stages),
        cmocka_unit_test(short_masks_ban_the_rest),
        cmocka_unit_test(short_masks_and_lengths),
        cmocka_unit_test(a_mask_of_one_key_is_padded_not_broadcast),
        cmocka_unit_test(narrow_types_round),
        cmocka_unit_test(outputs_are_rounded_once),
        cmocka_unit_test(no_output_goes_through_float32),
        cmocka_unit_test(types_may_differ),
        cmocka_unit_test(softmax_precision),
        cmocka_unit_test(caches_without_a_past),
        cmocka_unit_test(lengths_of_packed_heads),
        cmocka_unit_test(lengths_of_zero),
        cmocka_unit_test(empty_dimensions),
        cmocka_unit_test(numbers_that_are_none),
        cmocka_unit_test(ids_come_back),
        cmocka_unit_test(outputs_are_selected),
        cmocka_unit_test(options_of_other_servers),
        cmocka_unit_test(documents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
