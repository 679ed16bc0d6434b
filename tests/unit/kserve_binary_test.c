/* The binary tensor extension of the Open Inference Protocol: tensors as bytes behind the JSON, both ways. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/number/element_type.h"
#include "tests/support/binary_client.h"
#include "tests/support/check.h"

#define BODY_BYTES_MAX 4096

/* An input whose bytes follow the JSON. */
#define BYTES(name, datatype, shape, size)                                                                                     \
    "{\"name\":\"" name "\",\"datatype\":\"" datatype "\",\"shape\":" shape ",\"parameters\":{\"binary_data_size\":" size "}}"
#define TEXT(name, datatype, shape, data)                                                                                      \
    "{\"name\":\"" name "\",\"datatype\":\"" datatype "\",\"shape\":" shape ",\"data\":" data "}"

/* One head, one query, two keys of size 1: with these the weights are half and half. */
static const float zero_and_values[] = {0, 0, 0, 10, 20};
#define QKV                                                                                                                    \
    BYTES("Q", "FP32", "[1,1,1,1]", "4") "," BYTES("K", "FP32", "[1,1,2,1]", "8") "," BYTES("V", "FP32", "[1,1,2,1]", "8")
#define INPUTS(inputs) "{\"inputs\":[" inputs "]}"
#define INPUTS_OUTPUTS(inputs, outputs) "{\"inputs\":[" inputs "],\"outputs\":[" outputs "]}"

struct sent {
    char body[BODY_BYTES_MAX], json_length[24];
    struct binary_request request;
};

static const struct binary_request *sent_of(struct sent *sent, const char *json, const void *data, size_t data_bytes)
{
    size_t json_bytes = strlen(json);
    assert_true(json_bytes + data_bytes <= sizeof sent->body);
    memcpy(sent->body, json, json_bytes);
    if (data_bytes > 0)
        memcpy(sent->body + json_bytes, data, data_bytes);
    (void)snprintf(sent->json_length, sizeof sent->json_length, "%zu", json_bytes);
    sent->request = (struct binary_request){
        .protocol = &api_protocol_kserve,
        .content_type = "application/octet-stream",
        .json_length = sent->json_length,
        .body = sent->body,
        .body_bytes = json_bytes + data_bytes,
    };
    return &sent->request;
}

static void client(struct binary_client *binary, const char *json, const void *data, size_t data_bytes)
{
    struct sent sent;
    binary_client_send(binary, sent_of(&sent, json, data, data_bytes));
}

static void refused(const char *json, const void *data, size_t data_bytes, int status, const char *pointer, const char *words)
{
    struct sent sent;
    binary_client_refused(sent_of(&sent, json, data, data_bytes), status, pointer, words);
}

/* The reply's output `index`: its description fits; the bytes behind the JSON, or NULL where its data stand in the JSON. */
static const void *output(const struct binary_client *binary, size_t index, const char *name, const char *datatype,
                          const char *shape)
{
    const json_t *outputs = json_object_get(binary->json, "outputs"), *found = json_array_get(outputs, index);
    char *got_shape = json_dumps(json_object_get(found, "shape"), JSON_COMPACT);
    if (found == NULL || got_shape == NULL || strcmp(json_string_value(json_object_get(found, "name")), name) != 0 ||
        strcmp(json_string_value(json_object_get(found, "datatype")), datatype) != 0 || strcmp(got_shape, shape) != 0)
        fail_msg("output %zu of %s is not %s of %s and %s", index, binary->body, name, datatype, shape);
    free(got_shape);
    size_t at = binary->data_offset_bytes;
    for (size_t i = 0; i < index; i++)
        at += (size_t)json_integer_value(
            json_object_get(json_object_get(json_array_get(outputs, i), "parameters"), "binary_data_size"));
    const json_t *size = json_object_get(json_object_get(found, "parameters"), "binary_data_size");
    assert_true((size == NULL) != (json_object_get(found, "data") == NULL));
    assert_true(size == NULL || at + (size_t)json_integer_value(size) <= binary->body_bytes);
    return size == NULL ? NULL : binary->body + at;
}

static double output_number(const struct binary_client *binary, size_t index)
{
    const json_t *found = json_array_get(json_object_get(binary->json, "outputs"), index);
    return json_number_value(json_array_get(json_object_get(found, "data"), 0));
}

static void inputs_lie_behind_the_json(void **state)
{
    (void)state;
    struct binary_client binary;
    client(&binary, INPUTS(QKV), zero_and_values, sizeof zero_and_values);
    binary_client_check_ok(&binary);
    assert_null(output(&binary, 0, "Y", "FP32", "[1,1,1,1]"));
    assert_true(output_number(&binary, 0) == 15);
    assert_string_equal(binary.call.reply.content_type, "application/json");
    assert_true(binary.call.reply.json_bytes == 0 && binary.call.reply.chunk_count == 0);
    binary_client_done(&binary);
}

/* JSON and bytes in any mixture: bytes follow each other in the order of those inputs that have them. */
static void json_and_bytes_mix(void **state)
{
    (void)state;
    struct binary_client binary;
    static const float values_then_query[] = {10, 20, 0};
    client(&binary,
           INPUTS(BYTES("V", "FP32", "[1,1,2,1]", "8") "," TEXT("K", "FP32", "[1,1,2,1]", "[0,0]") "," BYTES("Q", "FP32",
                                                                                                             "[1,1,1,1]", "4")),
           values_then_query, sizeof values_then_query);
    binary_client_check_ok(&binary);
    assert_true(output_number(&binary, 0) == 15);
    binary_client_done(&binary);
    /* The header without bytes behind the JSON is fine, too. */
    client(&binary,
           INPUTS(TEXT("V", "FP32", "[1,1,2,1]", "[10,20]") "," TEXT("K", "FP32", "[1,1,2,1]",
                                                                     "[0,0]") "," TEXT("Q", "FP32", "[1,1,1,1]", "[0]")),
           NULL, 0);
    binary_client_check_ok(&binary);
    assert_true(output_number(&binary, 0) == 15);
    binary_client_done(&binary);
}

static void outputs_as_asked(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool y_binary, qk_binary;
    } cases[] = {
        {INPUTS_OUTPUTS(QKV, "{\"name\":\"Y\"},{\"name\":\"qk_matmul_output\"}"), false, false},
        {INPUTS_OUTPUTS(QKV, "{\"name\":\"Y\",\"parameters\":{\"binary_data\":true}},{\"name\":\"qk_matmul_output\"}"), true,
         false},
        {INPUTS_OUTPUTS(QKV, "{\"name\":\"Y\",\"parameters\":{\"binary_data\":false}},"
                             "{\"name\":\"qk_matmul_output\",\"parameters\":{\"binary_data\":true}}"),
         false, true},
        {"{\"parameters\":{\"binary_data_output\":true},\"inputs\":[" QKV "],\"outputs\":[{\"name\":\"Y\"},"
         "{\"name\":\"qk_matmul_output\",\"parameters\":null}]}",
         true, true},
        {"{\"parameters\":{\"binary_data_output\":true},\"inputs\":[" QKV "],\"outputs\":[{\"name\":\"Y\",\"parameters\":{}},"
         "{\"name\":\"qk_matmul_output\",\"parameters\":{\"binary_data\":false}}]}",
         true, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct binary_client binary;
        client(&binary, cases[i].json, zero_and_values, sizeof zero_and_values);
        binary_client_check_ok(&binary);
        const void *y = output(&binary, 0, "Y", "FP32", "[1,1,1,1]");
        const void *qk = output(&binary, 1, "qk_matmul_output", "FP32", "[1,1,1,2]");
        assert_true((y != NULL) == cases[i].y_binary && (qk != NULL) == cases[i].qk_binary);
        float number = 15;
        assert_true(y == NULL || memcmp(y, &number, sizeof number) == 0);
        bool any = y != NULL || qk != NULL;
        assert_string_equal(binary.call.reply.content_type, any ? "application/octet-stream" : "application/json");
        assert_int_equal(binary.call.reply.json_bytes > 0, any);
        assert_int_equal(binary.body_bytes - binary.data_offset_bytes, (y != NULL) * 4 + (qk != NULL) * 8);
        binary_client_done(&binary);
    }
}

static void ids_come_back(void **state)
{
    (void)state;
    struct binary_client binary;
    client(&binary, "{\"id\":\"a \\\"b\\\"\",\"parameters\":{\"binary_data_output\":true},\"inputs\":[" QKV "]}",
           zero_and_values, sizeof zero_and_values);
    binary_client_check_ok(&binary);
    assert_string_equal(json_string_value(json_object_get(binary.json, "id")), "a \"b\"");
    assert_non_null(output(&binary, 0, "Y", "FP32", "[1,1,1,1]"));
    binary_client_done(&binary);
}

/* Each datatype as bytes in and out; 15 is exact in all. */
static void every_float_datatype(void **state)
{
    (void)state;
    static const struct {
        enum element_type element_type;
        const char *name;
    } all[] = {{ELEMENT_F64, "FP64"}, {ELEMENT_F32, "FP32"}, {ELEMENT_F16, "FP16"}, {ELEMENT_BF16, "BF16"}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        double wide[5] = {0, 0, 0, 10, 20};
        const size_t five = 5, one = 1;
        struct tensor t = tensor_contiguous(wide, DTYPE_F64, 1, &five);
        size_t bytes = element_pack(all[i].element_type, &t), step = element_bytes(all[i].element_type);
        char json[1000], inputs[3][200];
        static const char *const names[] = {"Q", "K", "V"}, *const shapes[] = {"[1,1,1,1]", "[1,1,2,1]", "[1,1,2,1]"};
        for (size_t k = 0; k < 3; k++)
            (void)snprintf(inputs[k], sizeof inputs[k], BYTES("%s", "%s", "%s", "%zu"), names[k], all[i].name, shapes[k],
                           (k > 0 ? 2 : 1) * step);
        (void)snprintf(json, sizeof json, "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[%s,%s,%s]}", inputs[0],
                       inputs[1], inputs[2]);
        struct binary_client binary;
        client(&binary, json, wide, bytes);
        binary_client_check_ok(&binary);
        double number;
        struct tensor read = tensor_contiguous(&number, DTYPE_F64, 1, &one);
        assert_int_equal(element_read(all[i].element_type, output(&binary, 0, "Y", all[i].name, "[1,1,1,1]"), &read), 1);
        assert_true(number == 15);
        assert_int_equal(binary.body_bytes - binary.data_offset_bytes, step);
        binary_client_done(&binary);
    }
}

/* As JSON's numbers, bytes that float32 cannot hold are refused, at the place that nested data would have. */
static void finite_numbers_are_not_made_infinite(void **state)
{
    (void)state;
    static const char json[] = INPUTS(QKV "," BYTES("attn_mask", "FP64", "[1,2]", "16"));
    unsigned char data[36];
    double mask[2] = {0, -1.797e308};
    memcpy(data, zero_and_values, 20);
    memcpy(data + 20, mask, 16);
    refused(json, data, sizeof data, 422, "/inputs/3/data/0/1", "overflows float32");
    mask[1] = -INFINITY;
    memcpy(data + 20, mask, 16);
    struct binary_client binary;
    client(&binary, json, data, sizeof data);
    binary_client_check_ok(&binary);
    assert_true(output_number(&binary, 0) == 10);
    binary_client_done(&binary);
}

/* Caches of a 16-bit datatype come back as they were, whatever was computed with. */
static void narrow_caches_come_back_bit_by_bit(void **state)
{
    (void)state;
    static const uint16_t data[] = {0x3c00, 0x0001, 0x7bff, 0xc500, 0x83ff}; /* Q, K, V, past_key, past_value in FP16 */
    struct binary_client binary;
    client(
        &binary,
        "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[" BYTES("Q", "FP16", "[1,1,1,1]", "2") "," BYTES(
            "K", "FP16", "[1,1,1,1]", "2") "," BYTES("V", "FP16", "[1,1,1,1]",
                                                     "2") "," BYTES("past_key", "FP16", "[1,1,1,1]",
                                                                    "2") "," BYTES("past_value", "FP16", "[1,1,1,1]", "2") "]}",
        data, sizeof data);
    binary_client_check_ok(&binary);
    (void)output(&binary, 0, "Y", "FP16", "[1,1,1,1]");
    const uint16_t keys[] = {0xc500, 0x0001}, values[] = {0x83ff, 0x7bff};
    assert_memory_equal(output(&binary, 1, "present_key", "FP16", "[1,1,2,1]"), keys, 4);
    assert_memory_equal(output(&binary, 2, "present_value", "FP16", "[1,1,2,1]"), values, 4);
    binary_client_done(&binary);
}

static void masks_and_lengths(void **state)
{
    (void)state;
    char data[40];
    struct binary_client binary;
    memcpy(data, zero_and_values, 20);
    memcpy(data + 20, "\0\7", 2);
    client(&binary, INPUTS(QKV "," BYTES("attn_mask", "BOOL", "[1,2]", "2")), data, 22);
    binary_client_check_ok(&binary);
    assert_true(output_number(&binary, 0) == 20);
    binary_client_done(&binary);
    memcpy(data + 20, "\1\0\0\0\0\0\0\0", 8);
    client(&binary, INPUTS(QKV "," BYTES("nonpad_kv_seqlen", "INT64", "[1]", "8")), data, 28);
    binary_client_check_ok(&binary);
    assert_true(output_number(&binary, 0) == 10);
    binary_client_done(&binary);
    refused(INPUTS(QKV "," BYTES("attn_mask", "INT64", "[1,1]", "8")), data, 28, 422, "/inputs/3/datatype", "INT64");
    refused(INPUTS(QKV "," BYTES("nonpad_kv_seqlen", "FP64", "[1]", "8")), data, 28, 422, "/inputs/3/datatype", "INT64");
    refused(INPUTS(BYTES("Q", "BOOL", "[1,1,1,1]", "1") "," BYTES("K", "FP32", "[1,1,2,1]", "8") "," BYTES("V", "FP32",
                                                                                                           "[1,1,2,1]", "8")),
            data, 17, 422, "/inputs/0/datatype", "BOOL");
}

static void sizes_must_fit(void **state)
{
    (void)state;
    static const char *const wrong[] = {"3", "5", "0", "8", "9223372036854775807"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char json[1000];
        (void)snprintf(json, sizeof json, INPUTS(BYTES("Q", "FP32", "[1,1,1,1]", "%s")), wrong[i]);
        refused(json, zero_and_values, 20, 422, "/inputs/0/parameters/binary_data_size", "where shape and datatype need 4");
    }
    static const char *const no_integers[] = {"-1", "4.0", "\"4\"", "true", "[4]", "{}", "18446744073709551620"};
    for (size_t i = 0; i < sizeof no_integers / sizeof no_integers[0]; i++) {
        char json[1000];
        (void)snprintf(json, sizeof json, INPUTS(BYTES("Q", "FP32", "[1,1,1,1]", "%s")), no_integers[i]);
        struct sent sent;
        struct binary_client binary;
        binary_client_send(&binary, sent_of(&sent, json, zero_and_values, 20));
        assert_int_equal(binary.call.reply.status, 422);
        binary_client_done(&binary);
    }
    refused(INPUTS(QKV), zero_and_values, 19, 400, "/inputs/2/parameters/binary_data_size", "8 bytes, where 7 are left");
    refused(INPUTS(QKV), zero_and_values, 3, 400, "/inputs/0/parameters/binary_data_size", "4 bytes, where 3 are left");
    refused(INPUTS(QKV), NULL, 0, 400, "/inputs/0/parameters/binary_data_size", "Inference-Header-Content-Length");
    refused(INPUTS(QKV), "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 21, 400, "", "1 byte behind the JSON");
    refused(INPUTS(BYTES("Q", "FP32", "[9007199254740992,2048,1,1]", "0")), NULL, 0, 413, "/inputs/0", "axis");
    refused(INPUTS(BYTES("Q", "FP32", "[2147483647,2147483647,4,1]", "4")), NULL, 0, 422,
            "/inputs/0/parameters/binary_data_size", "need 2^64 or more");
}

static void inputs_have_one_kind_of_data(void **state)
{
    (void)state;
    refused(INPUTS("{\"name\":\"Q\",\"datatype\":\"FP32\",\"shape\":[1,1,1,1]}"), NULL, 0, 422, "/inputs/0",
            "an input without data");
    refused(INPUTS("{\"name\":\"Q\",\"datatype\":\"FP32\",\"shape\":[1,1,1,1],\"parameters\":{}}"), NULL, 0, 422, "/inputs/0",
            "an input without data");
    refused(INPUTS("{\"name\":\"Q\",\"datatype\":\"FP32\",\"shape\":[1,1,1,1],\"data\":[1],"
                   "\"parameters\":{\"binary_data_size\":4}}"),
            zero_and_values, 4, 422, "/inputs/0", "an input with data and binary_data_size");
    refused(INPUTS("{\"name\":\"Q\",\"datatype\":\"FP32\",\"shape\":[1,1,1,1],\"parameters\":{\"binary_size\":4}}"),
            zero_and_values, 4, 422, "/inputs/0/parameters/binary_size", "no such field");
    refused(INPUTS("{\"name\":\"Q\",\"datatype\":\"FP32\",\"shape\":[1,1,1,1],\"data\":[1],\"parameters\":7}"), NULL, 0, 422,
            "/inputs/0/parameters", "an object");
    refused(INPUTS(QKV "," BYTES("Q", "FP32", "[1,1,1,1]", "4")), zero_and_values, 20, 422, "/inputs/3", "Q is given twice");
    refused(INPUTS_OUTPUTS(QKV, "{\"name\":\"Y\",\"parameters\":{\"binary_data\":1}}"), zero_and_values, 20, 422,
            "/outputs/0/parameters/binary_data", "");
    refused(INPUTS_OUTPUTS(QKV, "{\"name\":\"Y\",\"parameters\":{\"classification\":1}}"), zero_and_values, 20, 422,
            "/outputs/0/parameters/classification", "");
    refused(INPUTS_OUTPUTS(QKV, "{\"name\":\"Y\",\"parameters\":[true]}"), zero_and_values, 20, 422, "/outputs/0/parameters",
            "");
    refused("{\"parameters\":{\"binary_data_output\":\"yes\"},\"inputs\":[" QKV "]}", zero_and_values, 20, 422,
            "/parameters/binary_data_output", "");
}

static void the_header_says_where_json_ends(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "0x10",
                                        "1.0",
                                        "99999",
                                        "18446744073709551617",
                                        "99999999999999999999999999999999999999999999999999999999"};
    struct sent sent;
    (void)sent_of(&sent, INPUTS(QKV), zero_and_values, sizeof zero_and_values);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        sent.request.json_length = wrong[i];
        binary_client_refused(&sent.request, 400, "", "Inference-Header-Content-Length is ");
    }
    sent.request.json_length = "0";
    binary_client_refused(&sent.request, 400, "", "");
    sent.request.json_length = "10";
    binary_client_refused(&sent.request, 400, "", "the text ends before");
    sent.request.json_length = NULL; /* then all of it should be JSON */
    binary_client_refused(&sent.request, 400, "", "");
    char longer[24];
    (void)snprintf(longer, sizeof longer, "%zu", strlen(INPUTS(QKV)) + 1);
    sent.request.json_length = longer;
    binary_client_refused(&sent.request, 400, "", "");
}

static void unaligned_bytes_are_the_same(void **state)
{
    (void)state;
    struct sent sent;
    (void)sent_of(&sent, INPUTS(QKV), zero_and_values, sizeof zero_and_values);
    for (size_t offset = 0; offset < 8; offset++) {
        struct binary_client binary;
        sent.request.offset_bytes = offset;
        binary_client_send(&binary, &sent.request);
        binary_client_check_ok(&binary);
        assert_true(output_number(&binary, 0) == 15);
        binary_client_done(&binary);
    }
}

static void empty_tensors(void **state)
{
    (void)state;
    struct binary_client binary;
    client(&binary,
           "{\"parameters\":{\"binary_data_output\":true},\"inputs\":[" BYTES("Q", "FP32", "[1,1,0,1]", "0") "," BYTES(
               "K", "FP32", "[1,1,2,1]", "8") "," BYTES("V", "FP32", "[1,1,2,1]", "8") "]}",
           zero_and_values, 16);
    binary_client_check_ok(&binary);
    assert_non_null(output(&binary, 0, "Y", "FP32", "[1,1,0,1]"));
    assert_true(binary.body_bytes == binary.data_offset_bytes && binary.call.reply.json_bytes == binary.body_bytes);
    binary_client_done(&binary);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_lie_behind_the_json),
        cmocka_unit_test(json_and_bytes_mix),
        cmocka_unit_test(outputs_as_asked),
        cmocka_unit_test(ids_come_back),
        cmocka_unit_test(every_float_datatype),
        cmocka_unit_test(finite_numbers_are_not_made_infinite),
        cmocka_unit_test(narrow_caches_come_back_bit_by_bit),
        cmocka_unit_test(masks_and_lengths),
        cmocka_unit_test(sizes_must_fit),
        cmocka_unit_test(inputs_have_one_kind_of_data),
        cmocka_unit_test(the_header_says_where_json_ends),
        cmocka_unit_test(unaligned_bytes_are_the_same),
        cmocka_unit_test(empty_tensors),
    };
    return cmocka_run_group_tests_name("kserve_binary", tests, NULL, NULL);
}
