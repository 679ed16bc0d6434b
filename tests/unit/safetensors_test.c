/* POST /attention with safetensors files: every dtype, and replies that are such files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/number/element_type.h"
#include "api/protocol/safetensors.h"
#include "tests/support/check.h"
#include "tests/support/safetensors_example.h"

/* The small request's reply, whatever carried it. */
static void check_small(const struct binary_client *binary)
{
    binary_client_check_ok(binary);
    assert_string_equal(binary->call.reply.content_type, SAFETENSORS_TYPE);
    float numbers[4];
    memcpy(numbers, safetensors_tensor(binary, "output", "F32", "[2,1]"), 8);
    assert_true(fabs((double)numbers[0] - SMALL_OUTPUT) < 1e-5 && fabs((double)numbers[1] - (30 - SMALL_OUTPUT)) < 1e-5);
    memcpy(numbers, safetensors_tensor(binary, "weights", "F32", "[2,2]"), 16);
    assert_true(fabs((double)numbers[0] - SMALL_WEIGHT) < 1e-6 && fabs((double)numbers[3] - SMALL_WEIGHT) < 1e-6);
    assert_int_equal(json_object_size(binary->json), 3);
}

static void a_file_comes_back_as_a_file(void **state)
{
    (void)state;
    struct binary_client binary;
    safetensors_client(&binary, SMALL, small, sizeof small);
    check_small(&binary);
    /* No byte follows the last tensor or stands between two. */
    assert_int_equal(binary.body_bytes - binary.data_offset_bytes, 8 + 16);
    const json_t *metadata = json_object_get(binary.json, "__metadata__");
    assert_int_equal(json_object_size(metadata), 2);
    json_t *applied = json_loads(json_string_value(json_object_get(metadata, "applied")), 0, NULL);
    assert_true(json_is_false(json_object_get(applied, "causal")));
    assert_string_equal(json_string_value(json_object_get(metadata, "warnings")), "[]");
    json_decref(applied);
    binary_client_done(&binary);
}

static void tensors_may_lie_anywhere(void **state)
{
    (void)state;
    /* In another order than they are named; at every alignment; headers of any length. */
    static const char reordered[] = "{\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
                                    "\"query\":{\"shape\":[2,2],\"data_offsets\":[24,40],\"dtype\":\"F32\"},"
                                    "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]}}";
    float data[10];
    memcpy(data, small + 8, 8);
    memcpy(data + 2, small, 32);
    struct binary_client binary;
    safetensors_client(&binary, reordered, data, sizeof data);
    check_small(&binary);
    binary_client_done(&binary);
    for (size_t blanks = 0; blanks < 9; blanks++) {
        char header[400];
        (void)snprintf(header, sizeof header, "%s%.*s", SMALL, (int)blanks, "         ");
        size_t bytes;
        char *file = safetensors_file(header, small, sizeof small, &bytes);
        for (size_t offset = 0; offset < 8; offset++) {
            struct binary_request request = safetensors_request(file, bytes);
            request.offset_bytes = offset;
            binary_client_send(&binary, &request);
            check_small(&binary);
            binary_client_done(&binary);
        }
        free(file);
    }
}

static void fields_stand_in_the_metadata(void **state)
{
    (void)state;
    struct binary_client binary;
    safetensors_client(&binary,
                       "{" METADATA("{\\\"scale\\\": 0, \\\"return\\\": [\\\"output\\\"]}") "," QUERY "," KEY "," VALUE "}",
                       small, sizeof small);
    binary_client_check_ok(&binary);
    assert_int_equal(json_object_size(binary.json), 2);
    float output[2];
    memcpy(output, safetensors_tensor(&binary, "output", "F32", "[2,1]"), sizeof output);
    assert_true(output[0] == 15 && output[1] == 15);
    binary_client_done(&binary);

    /* Tensors may be text, too, but not both; other texts are the sender's own business. */
    safetensors_client(&binary,
                       "{\"__metadata__\":{\"format\":\"pt\",\"request\":\"{\\\"query\\\": [[1, 0], [0, 1]]}\"},"
                       "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                       "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[16,24]}}",
                       small + 4, 24);
    check_small(&binary);
    binary_client_done(&binary);
    safetensors_refused("{" METADATA("{\\\"query\\\": [[1, 0], [0, 1]]}") "," QUERY "," KEY "," VALUE "}", small, sizeof small,
                        422, "/query", "query is given twice");
    safetensors_refused(
        "{" METADATA("{\\\"key_lengths\\\": 1}") "," QUERY "," KEY "," VALUE ","
                                                 "\"key_lengths\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[40,40]}}",
        small, sizeof small, 422, "/key_lengths", "given twice");
}

/* The small request with its tensors in `wire`; the numbers are exact in all of them. */
static void client_post_in(struct binary_client *binary, enum element_type element_type, const char *dtype, const char *fields)
{
    char header[800], data[80];
    size_t step = element_bytes(element_type), shape = 10;
    double wide[10];
    for (size_t i = 0; i < 10; i++)
        wide[i] = (double)small[i];
    struct tensor t = tensor_contiguous(wide, DTYPE_F64, 1, &shape);
    memcpy(data, wide, element_pack(element_type, &t));
    (void)snprintf(header, sizeof header,
                   "{" METADATA("{%s}") ",\"query\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[0,%zu]},"
                                        "\"key\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[%zu,%zu]},"
                                        "\"value\":{\"dtype\":\"%s\",\"shape\":[2,1],\"data_offsets\":[%zu,%zu]}}",
                   fields, dtype, 4 * step, dtype, 4 * step, 8 * step, dtype, 8 * step, 10 * step);
    safetensors_client(binary, header, data, 10 * step);
}

static void every_float_dtype_is_read(void **state)
{
    (void)state;
    static const struct {
        enum element_type element_type;
        const char *dtype;
    } all[] = {{ELEMENT_F64, "F64"}, {ELEMENT_F32, "F32"}, {ELEMENT_F16, "F16"}, {ELEMENT_BF16, "BF16"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct binary_client binary;
        client_post_in(&binary, all[i].element_type, all[i].dtype, "");
        check_small(&binary);
        binary_client_done(&binary);
        client_post_in(&binary, all[i].element_type, all[i].dtype, "\\\"precision\\\": \\\"float64\\\"");
        binary_client_check_ok(&binary);
        double output;
        memcpy(&output, safetensors_tensor(&binary, "output", "F64", "[2,1]"), sizeof output);
        double weight = 1 / (1 + exp(-1 / sqrt(2)));
        assert_true(fabs(output - (10 * weight + 20 * (1 - weight))) < 1e-14);
        binary_client_done(&binary);
    }
}

/* What float32 cannot hold is refused, in whatever tensor; infinities that were sent as such are read. */
static void finite_numbers_are_not_made_infinite(void **state)
{
    (void)state;
    static const struct {
        size_t place;
        double number;
        const char *fields, *pointer;
    } cases[] = {
        {10, -1.797e308, "{}", "/mask/0/0"},
        {13, -1.797e308, "{}", "/mask/1/1"},
        {0, 1e39, "{}", "/query/0/0"},
        {6, 1e39, "{}", "/key/1/0"},
        {9, 0x1.ffffffp127, "{}", "/value/1/0"},
        {9, -INFINITY, "{}", NULL},
        {9, NAN, "{}", NULL},
        {9, 0x1.fffffefffffffp127, "{}", NULL},
        {10, -1.797e308, "{\\\"precision\\\": \\\"float64\\\"}", NULL},
        {14, 1e39, "{}", "/alibi/0"},
        {14, INFINITY, "{}", "/alibi/0"},
        {14, NAN, "{\\\"precision\\\": \\\"float64\\\"}", "/alibi/0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char header[900];
        double data[15] = {1, 0, 0, 1, 1, 0, 0, 1, 10, 20};
        data[cases[i].place] = cases[i].number;
        (void)snprintf(
            header, sizeof header,
            "{\"__metadata__\":{\"request\":\"%s\"},\"query\":{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[0,32]},"
            "\"key\":{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[32,64]},"
            "\"value\":{\"dtype\":\"F64\",\"shape\":[2,1],\"data_offsets\":[64,80]},"
            "\"mask\":{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[80,112]},"
            "\"alibi\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[112,120]}}",
            cases[i].fields);
        struct binary_client binary;
        if (cases[i].pointer != NULL) {
            safetensors_refused(header, data, sizeof data, 422, cases[i].pointer,
                                !isfinite(cases[i].number) ? "a finite number is expected" : "overflows float32");
            continue;
        }
        safetensors_client(&binary, header, data, sizeof data);
        binary_client_check_ok(&binary);
        binary_client_done(&binary);
    }
}

static void masks_lengths_and_numbers_a_head(void **state)
{
    (void)state;
    struct binary_client binary;
    float weights[4];
    char data[48];
    memcpy(data, small, 40);
    memcpy(data + 40, "\1\0\2\1", 4); /* any byte that is not 0 is true */
    safetensors_client(&binary,
                       "{" QUERY "," KEY "," VALUE ",\"mask\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[40,44]}}",
                       data, 44);
    binary_client_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[2,2]"), sizeof weights);
    assert_true(weights[0] == 1 && weights[1] == 0 && weights[2] > 0 && weights[3] > 0);
    binary_client_done(&binary);

    safetensors_client(
        &binary,
        "{" METADATA("{\\\"mask_semantics\\\": \\\"drop\\\"}") "," QUERY "," KEY "," VALUE
                                                               ",\"mask\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":"
                                                               "[40,44]}}",
        data, 44);
    binary_client_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[2,2]"), sizeof weights);
    assert_true(weights[0] == 0 && weights[1] == 1 && weights[2] == 0 && weights[3] == 0);
    binary_client_done(&binary);

    /* One batch item, one head: a length, a sink. */
    static const char batch[] = "{\"query\":{\"dtype\":\"F32\",\"shape\":[1,2,2],\"data_offsets\":[0,16]},"
                                "\"key\":{\"dtype\":\"F32\",\"shape\":[1,2,2],\"data_offsets\":[16,32]},"
                                "\"value\":{\"dtype\":\"F32\",\"shape\":[1,2,1],\"data_offsets\":[32,40]},"
                                "\"key_lengths\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[40,48]}%s}";
    char header[700];
    memcpy(data + 40, "\1\0\0\0\0\0\0\0", 8);
    (void)snprintf(header, sizeof header, batch, "");
    safetensors_client(&binary, header, data, 48);
    binary_client_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[1,2,2]"), sizeof weights);
    assert_true(weights[0] == 1 && weights[1] == 0 && weights[2] == 1 && weights[3] == 0);
    binary_client_done(&binary);
    data[40] = 3;
    safetensors_refused(header, data, 48, 422, "/key_lengths/0", "3 for item 0, where an integer from 0 to 2");
    /* Without a batch axis the length may be a tensor without axes. */
    static const char alone[] =
        "{" QUERY "," KEY "," VALUE ",\"key_lengths\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[40,48]}}";
    memcpy(data + 40, "\1\0\0\0\0\0\0\0", 8);
    safetensors_client(&binary, alone, data, 48);
    binary_client_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[2,2]"), sizeof weights);
    assert_true(weights[0] == 1 && weights[1] == 0 && weights[2] == 1 && weights[3] == 0);
    binary_client_done(&binary);
    memset(data + 40, '\xff', 8);
    safetensors_refused(alone, data, 48, 422, "/key_lengths", "-1, where an integer from 0 to 2");
    data[47] = '\xff'; /* char has a sign on x86-64 and none on arm64 */
    safetensors_refused(header, data, 48, 422, "/key_lengths/0", "for item 0");
}

/* Biases that outweigh everything, a table without its field, and a scale of 0 for the second query. */
static void biases_and_query_scales(void **state)
{
    (void)state;
    static const float numbers[] = {200, 0, 1, 0, 0, -200, 0, 0};
    char data[72];
    float weights[4], scores[4];
    struct binary_client binary;
    memcpy(data, small, 40);
    memcpy(data + 40, numbers, sizeof numbers);
    safetensors_client(
        &binary,
        "{" METADATA("{\\\"return\\\": [\\\"weights\\\", \\\"scores\\\"]}") "," QUERY "," KEY "," VALUE
                                                                            ",\"bias\":{\"dtype\":\"F32\",\"shape\":[2],\"data_"
                                                                            "offsets\":[40,48]},"
                                                                            "\"query_scale\":{\"dtype\":\"F32\",\"shape\":[2],"
                                                                            "\"data_offsets\":[48,56]},"
                                                                            "\"relative_bias.table\":{\"dtype\":\"F32\","
                                                                            "\"shape\":[4,1],\"data_offsets\":[56,72]}}",
        data, sizeof data);
    binary_client_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[2,2]"), sizeof weights);
    memcpy(scores, safetensors_tensor(&binary, "scores", "F32", "[2,2]"), sizeof scores);
    assert_true(weights[0] == 1 && weights[1] == 0);       /* bias 200 against 0 */
    assert_true(weights[2] == 0.5F && weights[3] == 0.5F); /* the key before the query has 200 - 200 */
    assert_true(scores[0] > 0.7F && scores[2] == 0 && scores[3] == 0);
    binary_client_done(&binary);
}

/* One frequency, a quarter turn a position; positions on three axes; and the weights of a norm. Without their fields tensors of
 * either are refused. */
static void rotations_and_norms(void **state)
{
    (void)state;
    static const double quarter = 1.57079632679489661923;
    static const float weights[] = {1, 0.5F};
    static const int64_t positions[] = {0, 3, 0, 1, 0, 2};
    char data[152];
    float query[4];
    struct binary_client binary;
    memcpy(data, small, sizeof small);
    memcpy(data + 40, &quarter, sizeof quarter);
    memcpy(data + 48, weights, sizeof weights);
    memcpy(data + 56, positions, sizeof positions);
    memcpy(data + 104, positions, sizeof positions);
    static const char fields[] =
        "{" METADATA("{\\\"rope\\\":{\\\"style\\\":\\\"half\\\"%s},\\\"qk_norm\\\":{},\\\"return\\\":[\\\"query\\\"]"
                     "}") "," QUERY "," KEY "," VALUE
                          ",\"rope.inverse_frequencies\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[40,48]},"
                          "\"qk_norm.query\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[48,56]}%s}";
    static const char axes[] = ",\"rope.query_positions\":{\"dtype\":\"I64\",\"shape\":[3,2],\"data_offsets\":[56,104]},"
                               "\"rope.key_positions\":{\"dtype\":\"I64\",\"shape\":[3,2],\"data_offsets\":[104,152]}";
    char header[1200];
    (void)snprintf(header, sizeof header, fields, "", "");
    safetensors_client(&binary, header, data, 56);
    binary_client_check_ok(&binary);
    memcpy(query, safetensors_tensor(&binary, "query", "F32", "[2,2]"), sizeof query);
    assert_true(fabsf(query[0] - 1.4142135F) < 1e-5F && fabsf(query[2] + 0.70710677F) < 1e-5F && fabsf(query[3]) < 1e-5F);
    binary_client_done(&binary);

    (void)snprintf(header, sizeof header, fields, ",\\\"mrope_section\\\":[0,1,0]", axes);
    safetensors_client(&binary, header, data, sizeof data);
    binary_client_check_ok(&binary);
    memcpy(query, safetensors_tensor(&binary, "query", "F32", "[2,2]"), sizeof query);
    assert_true(fabsf(query[2] + 0.70710677F) < 1e-5F && fabsf(query[3]) < 1e-5F);
    binary_client_done(&binary);

    safetensors_refused("{" QUERY "," KEY "," VALUE
                        ",\"rope.cos\":{\"dtype\":\"F64\",\"shape\":[1,1],\"data_offsets\":[40,48]}}",
                        data, 48, 422, "/rope.cos", "goes with the field rope");
    safetensors_refused("{" QUERY "," KEY "," VALUE
                        ",\"qk_norm.key\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[40,48]}}",
                        data, 48, 422, "/qk_norm.key", "qk_norm");
}

static void weights_of_projections(void **state)
{
    (void)state;
    /* x of one token with 2 channels, each weight [1,2] given in one of its two names, a bias. */
    static const float data[] = {3, 4, 1, 0, 0, 1, 1, 1, 100};
#define AT(name, shape, begin, end) "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
    struct binary_client binary;
    safetensors_client(
        &binary,
        "{" METADATA("{\\\"head_size\\\": 1, \\\"return\\\": [\\\"query\\\", \\\"key\\\", \\\"value\\\"]}") "," AT(
            "x", "[1,2]", "0", "8") "," AT("projection.query", "[1,2]", "8",
                                           "16") "," AT("projection.key.weight", "[1,2]", "16",
                                                        "24") "," AT("projection.value.weight", "[1,2]", "24",
                                                                     "32") "," AT("projection.value.bias", "[1]", "32",
                                                                                  "36") "}",
        data, sizeof data);
    binary_client_check_ok(&binary);
    float number;
    memcpy(&number, safetensors_tensor(&binary, "query", "F32", "[1,1]"), 4);
    assert_true(number == 3);
    memcpy(&number, safetensors_tensor(&binary, "key", "F32", "[1,1]"), 4);
    assert_true(number == 4);
    memcpy(&number, safetensors_tensor(&binary, "value", "F32", "[1,1]"), 4);
    assert_true(number == 107);
    binary_client_done(&binary);
    safetensors_refused("{" AT("x", "[1,2]", "0", "8") "," AT("projection.query", "[1,2]", "8",
                                                              "16") "," AT("projection.query.weight", "[1,2]", "16", "24") "}",
                        data, 24, 422, "/projection.query.weight", "given twice");
    safetensors_refused("{" METADATA("{\\\"projection\\\": \\\"identity\\\"}") "," AT("x", "[1,2]", "0", "8") "," AT(
                            "projection.query", "[1,2]", "8", "16") "}",
                        data, 16, 422, "/projection", "identity");
}

static void empty_tensors(void **state)
{
    (void)state;
    struct binary_client binary;
    safetensors_client(&binary,
                       "{\"query\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[0,0]},"
                       "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
                       "\"value\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[16,16]}}",
                       small, 16);
    binary_client_check_ok(&binary);
    (void)safetensors_tensor(&binary, "output", "F32", "[0,0]");
    (void)safetensors_tensor(&binary, "weights", "F32", "[0,2]");
    assert_int_equal(binary.body_bytes, binary.data_offset_bytes);
    binary_client_done(&binary);
}

/* Every result as bytes is every result as JSON. */
static void replies_hold_what_json_holds(void **state)
{
    (void)state;
    static const char text[] =
        "{\"seed\":7,\"x\":{\"shape\":[3,5,4]},\"context\":{\"shape\":[3,6,4]},\"head_size\":3,\"num_heads\":2,"
        "\"return\":[\"output\",\"weights\",\"mean_weights\",\"scores\",\"masked_scores\",\"lse\",\"query\","
        "\"key\",\"value\",\"x\",\"context\"],\"key_lengths\":[6,0,3]%s%s}";
    char body[600];
    for (int wide = 0; wide < 2; wide++) {
        struct binary_client binary, json;
        const char *precision = wide ? ",\"precision\":\"float64\"" : "";
        (void)snprintf(body, sizeof body, text, precision, "");
        struct binary_request request = {.protocol = &api_protocol_attention, .body = body, .body_bytes = strlen(body)};
        request.accept = "application/json;q=0.9, " SAFETENSORS_TYPE;
        binary_client_send(&binary, &request);
        binary_client_check_ok(&binary);
        (void)snprintf(body, sizeof body, text, precision, ",\"format\":\"flat\"");
        request.body_bytes = strlen(body);
        request.accept = "*/*";
        binary_client_send(&json, &request);
        binary_client_check_ok(&json);
        const char *name;
        json_t *result;
        json_object_foreach(json.json, name, result)
        {
            const json_t *data = json_object_get(result, "data");
            char *shape = json_dumps(json_object_get(result, "shape"), JSON_COMPACT);
            if (strcmp(name, "applied") == 0 || strcmp(name, "warnings") == 0) {
                free(shape);
                continue;
            }
            const char *bytes = safetensors_tensor(&binary, name, wide ? "F64" : "F32", shape);
            for (size_t i = 0; i < json_array_size(data); i++) {
                double number, want = json_number_value(json_array_get(data, i));
                float single;
                memcpy(&number, bytes + (wide ? i * 8 : 0), sizeof number);
                memcpy(&single, bytes + (wide ? 0 : i * 4), sizeof single);
                number = wide ? number : (double)single;
                if (json_is_string(json_array_get(data, i)))
                    assert_true(isinf(number) && number < 0);
                else
                    assert_true(wide ? number == want : number == (double)(float)want);
            }
            free(shape);
        }
        assert_int_equal(json_object_size(binary.json), 12);
        binary_client_done(&json);
        binary_client_done(&binary);
    }
}

/* Of two parts, the integers first in the file: eight bytes each, and readers want them at multiples of eight. */
static void largest_weights_are_two_tensors(void **state)
{
    (void)state;
    static const char body[] = "{\"query\":[[1,0]],\"key\":[[0,0],[9,0],[1,0]],\"value\":[[1],[2],[3]],\"scale\":1,"
                               "\"return\":[\"entropy\",\"top_keys\"],\"top\":4}";
    struct binary_client binary;
    struct binary_request request = {
        .protocol = &api_protocol_attention, .body = body, .body_bytes = strlen(body), .accept = SAFETENSORS_TYPE};
    binary_client_send(&binary, &request);
    binary_client_check_ok(&binary);
    int64_t indices[4];
    float weights[4];
    memcpy(indices, safetensors_tensor(&binary, "top_keys.indices", "I64", "[1,4]"), sizeof indices);
    memcpy(weights, safetensors_tensor(&binary, "top_keys.weights", "F32", "[1,4]"), sizeof weights);
    assert_true(indices[0] == 1 && indices[1] == 2 && indices[2] == 0 && indices[3] == -1);
    assert_true(weights[0] > 0.999F && weights[1] > weights[2] && weights[2] > 0 && weights[3] == 0);
    const json_t *entry = json_object_get(binary.json, "top_keys.indices");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(entry, "data_offsets"), 0)), 0);
    binary_client_done(&binary);
}

static void accept_headers(void **state)
{
    (void)state;
    static const struct {
        const char *accept, *type;
    } cases[] = {
        {NULL, "application/json"},
        {"*/*", "application/json"},
        {"application/json", "application/json"},
        {SAFETENSORS_TYPE ";q=0", "application/json"},
        {SAFETENSORS_TYPE, SAFETENSORS_TYPE},
        {"application/json;q=0.2," SAFETENSORS_TYPE ";q=0.3", SAFETENSORS_TYPE},
    };
    size_t bytes;
    char *file = safetensors_file(SMALL, small, sizeof small, &bytes);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct binary_client binary;
        struct binary_request request = safetensors_request(file, bytes);
        request.accept = cases[i].accept;
        binary_client_send(&binary, &request);
        binary_client_check_ok(&binary);
        assert_string_equal(binary.call.reply.content_type, cases[i].type);
        binary_client_done(&binary);
    }
    struct binary_request request = safetensors_request(file, bytes);
    request.content_type = "application/json";
    binary_client_refused(&request, 415, "", "looks like a safetensors file");
    request.content_type = "application/x-safetensor";
    binary_client_refused(&request, 415, "", "send application/json or " SAFETENSORS_TYPE);
    request.protocol = &api_protocol_kserve;
    request.content_type = SAFETENSORS_TYPE;
    binary_client_refused(&request, 415, "", "send application/json");
    free(file);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_comes_back_as_a_file),
        cmocka_unit_test(tensors_may_lie_anywhere),
        cmocka_unit_test(fields_stand_in_the_metadata),
        cmocka_unit_test(every_float_dtype_is_read),
        cmocka_unit_test(finite_numbers_are_not_made_infinite),
        cmocka_unit_test(masks_lengths_and_numbers_a_head),
        cmocka_unit_test(biases_and_query_scales),
        cmocka_unit_test(rotations_and_norms),
        cmocka_unit_test(weights_of_projections),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(replies_hold_what_json_holds),
        cmocka_unit_test(largest_weights_are_two_tensors),
        cmocka_unit_test(accept_headers),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
