/* POST /attention with safetensors files: every bound of the format, every dtype, and replies that are such files. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/safetensors.h"
#include "api/wire.h"
#include "tests/binary.h"
#include "tests/check.h"

/* Two tokens: query = key = identity, value 10 and 20. */
static const float small[] = {1, 0, 0, 1, 1, 0, 0, 1, 10, 20};
#define QUERY "\"query\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}"
#define KEY "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[16,32]}"
#define VALUE "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[32,40]}"
#define METADATA(text) "\"__metadata__\":{\"request\":\"" text "\"}"
#define SMALL "{" QUERY "," KEY "," VALUE "}"

/* output[0] and weights[0][0] of the small request. */
#define SMALL_WEIGHT 0.66976154
#define SMALL_OUTPUT 13.302385

static struct binary_request request_of(const char *file, size_t bytes)
{
    return (struct binary_request){
        .face = API_ATTENTION, .content_type = SAFETENSORS_TYPE, .accept = SAFETENSORS_TYPE, .body = file, .body_bytes = bytes};
}

static void ask(struct binary *binary, const char *header, const void *data, size_t data_bytes)
{
    size_t bytes;
    char *file = safetensors_file(header, data, data_bytes, &bytes);
    const struct binary_request request = request_of(file, bytes);
    binary_ask(binary, &request);
    free(file);
}

static void refused(const char *header, const void *data, size_t data_bytes, int status, const char *pointer, const char *words)
{
    size_t bytes;
    char *file = safetensors_file(header, data, data_bytes, &bytes);
    const struct binary_request request = request_of(file, bytes);
    binary_refused(&request, status, pointer, words);
    free(file);
}

/* The small request's reply, whatever carried it. */
static void check_small(const struct binary *binary)
{
    binary_check_ok(binary);
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
    struct binary binary;
    ask(&binary, SMALL, small, sizeof small);
    check_small(&binary);
    /* Nothing lies behind the last tensor, nor between two. */
    assert_int_equal(binary.body_bytes - binary.data_offset_bytes, 8 + 16);
    const json_t *metadata = json_object_get(binary.json, "__metadata__");
    assert_int_equal(json_object_size(metadata), 2);
    json_t *applied = json_loads(json_string_value(json_object_get(metadata, "applied")), 0, NULL);
    assert_true(json_is_false(json_object_get(applied, "causal")));
    assert_string_equal(json_string_value(json_object_get(metadata, "warnings")), "[]");
    json_decref(applied);
    binary_done(&binary);
}

static void tensors_may_lie_anywhere(void **state)
{
    (void)state;
    /* In another order than they are named; at every alignment; headers of any length. */
    static const char turned[] = "{\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
                                 "\"query\":{\"shape\":[2,2],\"data_offsets\":[24,40],\"dtype\":\"F32\"},"
                                 "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]}}";
    float data[10];
    memcpy(data, small + 8, 8);
    memcpy(data + 2, small, 32);
    struct binary binary;
    ask(&binary, turned, data, sizeof data);
    check_small(&binary);
    binary_done(&binary);
    for (size_t blanks = 0; blanks < 9; blanks++) {
        char header[400];
        (void)snprintf(header, sizeof header, "%s%.*s", SMALL, (int)blanks, "         ");
        size_t bytes;
        char *file = safetensors_file(header, small, sizeof small, &bytes);
        for (size_t offset = 0; offset < 8; offset++) {
            struct binary_request request = request_of(file, bytes);
            request.offset_bytes = offset;
            binary_ask(&binary, &request);
            check_small(&binary);
            binary_done(&binary);
        }
        free(file);
    }
}

static void short_files_are_refused(void **state)
{
    (void)state;
    size_t bytes;
    char *file = safetensors_file(SMALL, small, sizeof small, &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        struct binary_request request = request_of(file, cut);
        const char *words = cut < 8                   ? "where a safetensors file has a header's length in its first 8"
                            : cut < 8 + strlen(SMALL) ? "bytes is announced, and"
                                                      : "";
        binary_refused(&request, 400,
                       cut < 8 + strlen(SMALL) ? ""
                       : cut < bytes - 24      ? "/query/data_offsets"
                       : cut < bytes - 8       ? "/key/data_offsets"
                                               : "/value/data_offsets",
                       words);
    }
    free(file);
    refused(SMALL, small, 0, 400, "/query/data_offsets", "within the 0 bytes of data");
    float more[11] = {0};
    refused(SMALL, more, sizeof more, 400, "", "the file holds 44 bytes of data, the tensors' data_offsets end at 40");
}

static void header_lengths(void **state)
{
    (void)state;
    size_t bytes;
    char *file = safetensors_file(SMALL, small, sizeof small, &bytes);
    static const unsigned char lengths[][8] = {{255, 255, 255, 255, 255, 255, 255, 255},
                                               {0, 0, 0, 0, 0, 0, 0, 128},
                                               {248, 255, 255, 255, 255, 255, 255, 255},
                                               {0, 0, 0, 0, 1, 0, 0, 0}};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memcpy(file, lengths[i], 8);
        const struct binary_request request = request_of(file, bytes);
        binary_refused(&request, 400, "", "bytes is announced, and");
    }
    memset(file, 0, 8); /* an empty header */
    struct binary_request request = request_of(file, bytes);
    binary_refused(&request, 400, "", "");
    file[0] = (char)(strlen(SMALL) - 1); /* one that ends early, and one that takes a byte of the data */
    file[1] = 0;
    binary_refused(&request, 400, "", "");
    file[0] = (char)(strlen(SMALL) + 1);
    binary_refused(&request, 400, "", "");
    free(file);
}

static void headers_that_are_none(void **state)
{
    (void)state;
    refused("[]", NULL, 0, 400, "", "the header is no JSON object");
    refused("1", NULL, 0, 400, "", "the header is no JSON object");
    refused("{", NULL, 0, 400, "", "the text ends before");
    refused("{\"query\":1}", NULL, 0, 422, "/query", "an object with dtype, shape and data_offsets");
    refused("{\"query\":[[1]]}", NULL, 0, 422, "/query", "an object with dtype, shape and data_offsets");
    refused("{\"query\":{}}", NULL, 0, 422, "/query", "a tensor without dtype");
    refused("{\"query\":{\"dtype\":\"F32\"}}", NULL, 0, 422, "/query", "a tensor without shape");
    refused("{\"query\":{\"dtype\":\"F32\",\"shape\":[0]}}", NULL, 0, 422, "/query", "a tensor without data_offsets");
    refused("{\"query\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0],\"more\":1}}", NULL, 0, 422, "/query/more", "");
    refused("{\"query\":{\"dtype\":32,\"shape\":[0],\"data_offsets\":[0,0]}}", NULL, 0, 422, "/query/dtype", "");
    refused("{\"query\":{\"dtype\":\"f32\",\"shape\":[0],\"data_offsets\":[0,0]}}", NULL, 0, 422, "/query/dtype", "");
    refused("{\"query\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", NULL, 0, 422, "/query/dtype", "");
    refused("{" QUERY "," QUERY "}", small, 16, 422, "", "query");
}

static void shapes_and_offsets(void **state)
{
    (void)state;
    static const struct {
        const char *shape, *offsets;
        int status;
        const char *pointer, *words;
    } cases[] = {
        {"2", "[0,16]", 422, "/query/shape", "a flat array of integers"},
        {"[[2,2]]", "[0,16]", 422, "/query/shape", "a flat array of integers"},
        {"[-1,2]", "[0,16]", 422, "/query/shape/0", "integer from 0"},
        {"[1.5,2]", "[0,16]", 422, "/query/shape/0", "integer from 0"},
        {"[2,\"NaN\"]", "[0,16]", 422, "/query/shape/1", "integer from 0"},
        {"[1,1,1,1,1,1,1,1,4]", "[0,16]", 422, "/query/shape", "9 integers, where at most 8"},
        {"[2,2]", "[0,15]", 400, "/query/data_offsets", "16 bytes, which shape and dtype need"},
        {"[2,2]", "[0,17]", 400, "/query/data_offsets", "16 bytes, which shape and dtype need"},
        {"[2,2]", "[16,0]", 400, "/query/data_offsets", "[begin, end]"},
        {"[2,2]", "[0]", 400, "/query/data_offsets", "[begin, end]"},
        {"[2,2]", "[0,16,16]", 422, "/query/data_offsets", "3 integers, where at most 2"},
        {"[2,2]", "[]", 400, "/query/data_offsets", "[begin, end]"},
        {"[2,2]", "[-16,0]", 422, "/query/data_offsets/0", "integer from 0"},
        {"[2,2]", "[32,48]", 400, "/query/data_offsets", "within the 40 bytes"},
        {"[2,2]", "[9007199254740976,9007199254740992]", 400, "/query/data_offsets", "within the 40 bytes"},
        {"[2,2]", "[0,18446744073709551632]", 422, "/query/data_offsets/1", "integer from 0"},
        {"[4294967296,4294967296,4]", "[0,0]", 400, "/query/data_offsets", ""},
        {"[9007199254740992,2,256,4]", "[0,0]", 400, "/query/data_offsets", ""},
        {"[0,4294967296]", "[0,0]", 413, "/query", "an axis may have at most"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char header[600];
        (void)snprintf(header, sizeof header, "{\"query\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":%s},%s,%s}",
                       cases[i].shape, cases[i].offsets, KEY, VALUE);
        refused(header, small, sizeof small, cases[i].status, cases[i].pointer, cases[i].words);
    }
}

static void gaps_and_overlaps(void **state)
{
    (void)state;
    static const char *const queries[] = {"[16,32]", "[8,24]", "[24,40]", "[20,36]"}, *const words = "a gap or overlap";
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        char header[600];
        (void)snprintf(header, sizeof header, "{\"query\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":%s},%s,%s}",
                       queries[i], KEY, VALUE);
        refused(header, small, sizeof small, 400, "", words);
    }
    const float gap[12] = {0};
    refused("{" QUERY ",\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[20,36]},"
            "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[36,44]}}",
            gap, 44, 400, "", "a gap or overlap at byte 16 of the data");
    refused("{\"query\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[4,20]},"
            "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[20,36]},"
            "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[36,44]}}",
            gap, 44, 400, "", "a gap or overlap at byte 0 of the data");
}

static void names(void **state)
{
    (void)state;
    refused("{\"querry\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}," KEY "," VALUE "}", small, sizeof small,
            422, "/querry", "query");
    refused("{" QUERY "," KEY "," VALUE ",\"scale\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[40,40]}}", small,
            sizeof small, 422, "/scale", "");
    refused("{" QUERY "," KEY "}", small, 32, 422, "", "value");
    refused("{}", NULL, 0, 422, "", "");
    char name[200], header[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", name);
    size_t bytes;
    char *file = safetensors_file(header, NULL, 0, &bytes);
    const struct binary_request request = request_of(file, bytes);
    struct binary binary;
    binary_ask(&binary, &request);
    assert_int_equal(binary.call.reply.status, 422);
    binary_done(&binary);
    free(file);
}

static void fields_stand_in_the_metadata(void **state)
{
    (void)state;
    struct binary binary;
    ask(&binary, "{" METADATA("{\\\"scale\\\": 0, \\\"return\\\": [\\\"output\\\"]}") "," QUERY "," KEY "," VALUE "}", small,
        sizeof small);
    binary_check_ok(&binary);
    assert_int_equal(json_object_size(binary.json), 2);
    float output[2];
    memcpy(output, safetensors_tensor(&binary, "output", "F32", "[2,1]"), sizeof output);
    assert_true(output[0] == 15 && output[1] == 15);
    binary_done(&binary);

    /* Tensors may be text, too, but not both; other texts are the sender's own business. */
    ask(&binary,
        "{\"__metadata__\":{\"format\":\"pt\",\"request\":\"{\\\"query\\\": [[1, 0], [0, 1]]}\"},"
        "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
        "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[16,24]}}",
        small + 4, 24);
    check_small(&binary);
    binary_done(&binary);
    refused("{" METADATA("{\\\"query\\\": [[1, 0], [0, 1]]}") "," QUERY "," KEY "," VALUE "}", small, sizeof small, 422,
            "/query", "query is given twice");
    refused(
        "{" METADATA("{\\\"key_lengths\\\": 1}") "," QUERY "," KEY "," VALUE ","
                                                 "\"key_lengths\":{\"dtype\":\"I64\",\"shape\":[0],\"data_offsets\":[40,40]}}",
        small, sizeof small, 422, "/key_lengths", "given twice");
}

static void metadata_that_is_none(void **state)
{
    (void)state;
#define REFUSED_METADATA(metadata, status, pointer, words)                                                                     \
    refused("{\"__metadata__\":" metadata "," QUERY "," KEY "," VALUE "}", small, sizeof small, status, pointer, words)
    REFUSED_METADATA("1", 422, "/__metadata__", "an object of strings");
    REFUSED_METADATA("[1]", 422, "/__metadata__", "an object of strings");
    REFUSED_METADATA("{\"request\":{\"scale\":1}}", 422, "/__metadata__/request", "a string that holds a JSON object");
    REFUSED_METADATA("{\"request\":\"\"}", 400, "", "");
    REFUSED_METADATA("{\"request\":\"[1]\"}", 422, "", "");
    REFUSED_METADATA("{\"request\":\"{\\\"scale\\\":\"}", 400, "", "");
    REFUSED_METADATA("{\"request\":\"{\\\"scal\\\":1}\"}", 422, "/scal", "scale");
    REFUSED_METADATA("{\"request\":\"{\\\"scale\\\":\\\"x\\\"}\"}", 422, "/scale", "");
    REFUSED_METADATA("{\"request\":\"{\\\"decimals\\\":3}\"}", 422, "/decimals", "speaks of JSON");
    REFUSED_METADATA("{\"request\":\"{\\\"format\\\":\\\"flat\\\"}\"}", 422, "/format", "speaks of JSON");
    REFUSED_METADATA("{\"request\":\"{}\",\"request\":\"{}\"}", 422, "", "request");
}

/* The small request with its tensors in `wire`; the numbers are exact in all of them. */
static void ask_in(struct binary *binary, enum wire wire, const char *dtype, const char *fields)
{
    char header[800], data[80];
    size_t step = wire_bytes(wire), shape = 10;
    double wide[10];
    for (size_t i = 0; i < 10; i++)
        wide[i] = (double)small[i];
    struct tensor t = tensor_contiguous(wide, DTYPE_F64, 1, &shape);
    memcpy(data, wide, wire_pack(wire, &t));
    (void)snprintf(header, sizeof header,
                   "{" METADATA("{%s}") ",\"query\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[0,%zu]},"
                                        "\"key\":{\"dtype\":\"%s\",\"shape\":[2,2],\"data_offsets\":[%zu,%zu]},"
                                        "\"value\":{\"dtype\":\"%s\",\"shape\":[2,1],\"data_offsets\":[%zu,%zu]}}",
                   fields, dtype, 4 * step, dtype, 4 * step, 8 * step, dtype, 8 * step, 10 * step);
    ask(binary, header, data, 10 * step);
}

static void every_float_dtype_is_read(void **state)
{
    (void)state;
    static const struct {
        enum wire wire;
        const char *dtype;
    } all[] = {{WIRE_F64, "F64"}, {WIRE_F32, "F32"}, {WIRE_F16, "F16"}, {WIRE_BF16, "BF16"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        struct binary binary;
        ask_in(&binary, all[i].wire, all[i].dtype, "");
        check_small(&binary);
        binary_done(&binary);
        ask_in(&binary, all[i].wire, all[i].dtype, "\\\"precision\\\": \\\"float64\\\"");
        binary_check_ok(&binary);
        double output;
        memcpy(&output, safetensors_tensor(&binary, "output", "F64", "[2,1]"), sizeof output);
        double weight = 1 / (1 + exp(-1 / sqrt(2)));
        assert_true(fabs(output - (10 * weight + 20 * (1 - weight))) < 1e-14);
        binary_done(&binary);
    }
}

static void dtypes_belong_to_names(void **state)
{
    (void)state;
    refused("{\"query\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[0,4]}}", small, 4, 422, "/query/dtype",
            "query of dtype BOOL, where F64, F32, F16 or BF16 is expected");
    refused("{\"query\":{\"dtype\":\"I64\",\"shape\":[2,2],\"data_offsets\":[0,32]}}", small, 32, 422, "/query/dtype", "I64");
    refused("{\"mask\":{\"dtype\":\"I64\",\"shape\":[2,2],\"data_offsets\":[0,32]}}", small, 32, 422, "/mask/dtype",
            "BOOL, F64, F32, F16 or BF16 is expected");
    refused("{\"key_lengths\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", small, 8, 422, "/key_lengths/dtype",
            "where I64 is expected");
}

static void masks_lengths_and_numbers_a_head(void **state)
{
    (void)state;
    struct binary binary;
    float weights[4];
    char data[48];
    memcpy(data, small, 40);
    memcpy(data + 40, "\1\0\2\1", 4); /* any byte that is not 0 is true */
    ask(&binary, "{" QUERY "," KEY "," VALUE ",\"mask\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[40,44]}}", data,
        44);
    binary_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[2,2]"), sizeof weights);
    assert_true(weights[0] == 1 && weights[1] == 0 && weights[2] > 0 && weights[3] > 0);
    binary_done(&binary);

    ask(&binary,
        "{" METADATA("{\\\"mask_semantics\\\": \\\"drop\\\"}") "," QUERY "," KEY "," VALUE
                                                               ",\"mask\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":"
                                                               "[40,44]}}",
        data, 44);
    binary_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[2,2]"), sizeof weights);
    assert_true(weights[0] == 0 && weights[1] == 1 && weights[2] == 0 && weights[3] == 0);
    binary_done(&binary);

    /* One batch item, one head: a length, a sink. */
    static const char batch[] = "{\"query\":{\"dtype\":\"F32\",\"shape\":[1,2,2],\"data_offsets\":[0,16]},"
                                "\"key\":{\"dtype\":\"F32\",\"shape\":[1,2,2],\"data_offsets\":[16,32]},"
                                "\"value\":{\"dtype\":\"F32\",\"shape\":[1,2,1],\"data_offsets\":[32,40]},"
                                "\"key_lengths\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[40,48]}%s}";
    char header[700];
    memcpy(data + 40, "\1\0\0\0\0\0\0\0", 8);
    (void)snprintf(header, sizeof header, batch, "");
    ask(&binary, header, data, 48);
    binary_check_ok(&binary);
    memcpy(weights, safetensors_tensor(&binary, "weights", "F32", "[1,2,2]"), sizeof weights);
    assert_true(weights[0] == 1 && weights[1] == 0 && weights[2] == 1 && weights[3] == 0);
    binary_done(&binary);
    data[40] = 3;
    refused(header, data, 48, 422, "/key_lengths", "3 for item 0, where an integer from 0 to 2");
    data[47] = -1;
    refused(header, data, 48, 422, "/key_lengths", "for item 0");
}

static void weights_of_projections(void **state)
{
    (void)state;
    /* x of one token with 2 channels, each weight [1,2] given in one of its two names, a bias. */
    static const float data[] = {3, 4, 1, 0, 0, 1, 1, 1, 100};
#define AT(name, shape, begin, end) "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"
    struct binary binary;
    ask(&binary,
        "{" METADATA("{\\\"head_size\\\": 1, \\\"return\\\": [\\\"query\\\", \\\"key\\\", \\\"value\\\"]}") "," AT(
            "x", "[1,2]", "0", "8") "," AT("projection.query", "[1,2]", "8",
                                           "16") "," AT("projection.key.weight", "[1,2]", "16",
                                                        "24") "," AT("projection.value.weight", "[1,2]", "24",
                                                                     "32") "," AT("projection.value.bias", "[1]", "32",
                                                                                  "36") "}",
        data, sizeof data);
    binary_check_ok(&binary);
    float number;
    memcpy(&number, safetensors_tensor(&binary, "query", "F32", "[1,1]"), 4);
    assert_true(number == 3);
    memcpy(&number, safetensors_tensor(&binary, "key", "F32", "[1,1]"), 4);
    assert_true(number == 4);
    memcpy(&number, safetensors_tensor(&binary, "value", "F32", "[1,1]"), 4);
    assert_true(number == 107);
    binary_done(&binary);
    refused("{" AT("x", "[1,2]", "0", "8") "," AT("projection.query", "[1,2]", "8", "16") "," AT("projection.query.weight",
                                                                                                 "[1,2]", "16", "24") "}",
            data, 24, 422, "/projection.query.weight", "given twice");
    refused("{" METADATA("{\\\"projection\\\": \\\"identity\\\"}") "," AT("x", "[1,2]", "0", "8") "," AT(
                "projection.query", "[1,2]", "8", "16") "}",
            data, 16, 422, "/projection", "identity");
}

static void empty_tensors(void **state)
{
    (void)state;
    struct binary binary;
    ask(&binary,
        "{\"query\":{\"dtype\":\"F32\",\"shape\":[0,2],\"data_offsets\":[0,0]},"
        "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},"
        "\"value\":{\"dtype\":\"F32\",\"shape\":[2,0],\"data_offsets\":[16,16]}}",
        small, 16);
    binary_check_ok(&binary);
    (void)safetensors_tensor(&binary, "output", "F32", "[0,0]");
    (void)safetensors_tensor(&binary, "weights", "F32", "[0,2]");
    assert_int_equal(binary.body_bytes, binary.data_offset_bytes);
    binary_done(&binary);
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
        struct binary binary, json;
        const char *precision = wide ? ",\"precision\":\"float64\"" : "";
        (void)snprintf(body, sizeof body, text, precision, "");
        struct binary_request request = {.face = API_ATTENTION, .body = body, .body_bytes = strlen(body)};
        request.accept = "application/json;q=0.9, " SAFETENSORS_TYPE;
        binary_ask(&binary, &request);
        binary_check_ok(&binary);
        (void)snprintf(body, sizeof body, text, precision, ",\"format\":\"flat\"");
        request.body_bytes = strlen(body);
        request.accept = "*/*";
        binary_ask(&json, &request);
        binary_check_ok(&json);
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
        binary_done(&json);
        binary_done(&binary);
    }
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
        struct binary binary;
        struct binary_request request = request_of(file, bytes);
        request.accept = cases[i].accept;
        binary_ask(&binary, &request);
        binary_check_ok(&binary);
        assert_string_equal(binary.call.reply.content_type, cases[i].type);
        binary_done(&binary);
    }
    struct binary_request request = request_of(file, bytes);
    request.content_type = "application/json";
    binary_refused(&request, 400, "", "");
    request.content_type = "application/x-safetensor";
    binary_refused(&request, 415, "", "send application/json or " SAFETENSORS_TYPE);
    request.face = API_INFER;
    request.content_type = SAFETENSORS_TYPE;
    binary_refused(&request, 415, "", "send application/json");
    free(file);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_comes_back_as_a_file),
        cmocka_unit_test(tensors_may_lie_anywhere),
        cmocka_unit_test(short_files_are_refused),
        cmocka_unit_test(header_lengths),
        cmocka_unit_test(headers_that_are_none),
        cmocka_unit_test(shapes_and_offsets),
        cmocka_unit_test(gaps_and_overlaps),
        cmocka_unit_test(names),
        cmocka_unit_test(fields_stand_in_the_metadata),
        cmocka_unit_test(metadata_that_is_none),
        cmocka_unit_test(every_float_dtype_is_read),
        cmocka_unit_test(dtypes_belong_to_names),
        cmocka_unit_test(masks_lengths_and_numbers_a_head),
        cmocka_unit_test(weights_of_projections),
        cmocka_unit_test(empty_tensors),
        cmocka_unit_test(replies_hold_what_json_holds),
        cmocka_unit_test(accept_headers),
    };
    return cmocka_run_group_tests_name("safetensors", tests, NULL, NULL);
}
