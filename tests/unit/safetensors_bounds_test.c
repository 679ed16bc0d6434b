/* Safetensors files that are none: every bound of the format, names, dtypes and metadata that do not fit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/safetensors_example.h"

static void short_files_are_refused(void **state)
{
    (void)state;
    size_t bytes;
    char *file = safetensors_file(SMALL, small, sizeof small, &bytes);
    for (size_t cut = 0; cut < bytes; cut++) {
        struct binary_request request = safetensors_request(file, cut);
        const char *words = cut < 8                   ? "where a safetensors file has a header's length in its first 8"
                            : cut < 8 + strlen(SMALL) ? "bytes is announced, and"
                                                      : "";
        binary_client_refused(&request, 400,
                              cut < 8 + strlen(SMALL) ? ""
                              : cut < bytes - 24      ? "/query/data_offsets"
                              : cut < bytes - 8       ? "/key/data_offsets"
                                                      : "/value/data_offsets",
                              words);
    }
    free(file);
    safetensors_refused(SMALL, small, 0, 400, "/query/data_offsets", "within the 0 bytes of data");
    float more[11] = {0};
    safetensors_refused(SMALL, more, sizeof more, 400, "",
                        "the file holds 44 bytes of data, the tensors' data_offsets end at 40");
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
        const struct binary_request request = safetensors_request(file, bytes);
        binary_client_refused(&request, 400, "", "bytes is announced, and");
    }
    memset(file, 0, 8); /* an empty header */
    struct binary_request request = safetensors_request(file, bytes);
    binary_client_refused(&request, 400, "", "not JSON: the header is empty");
    file[0] = (char)(strlen(SMALL) - 1); /* one that ends early, and one that takes a byte of the data */
    file[1] = 0;
    binary_client_refused(&request, 400, "", "");
    file[0] = (char)(strlen(SMALL) + 1);
    binary_client_refused(&request, 400, "", "");
    free(file);
}

/* Sent as anything that is read as JSON, a file is told by its first bytes. */
static void files_without_their_content_type(void **state)
{
    (void)state;
    static const char *const types[] = {NULL, "application/octet-stream", "application/json",
                                        "application/x-www-form-urlencoded"};
    size_t bytes;
    char *file = safetensors_file(SMALL, small, sizeof small, &bytes);
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        struct binary_request request = safetensors_request(file, bytes);
        request.content_type = types[i];
        binary_client_refused(&request, 415, "",
                              "looks like a safetensors file, and is to be read as JSON: send it with Content-Type: "
                              "application/x-safetensors");
        request.body_bytes = 8;
        binary_client_refused(&request, 400, "", "the body looks like binary data, not text");
    }
    free(file);
}

static void headers_that_are_none(void **state)
{
    (void)state;
    safetensors_refused("[]", NULL, 0, 400, "", "the header is no JSON object");
    safetensors_refused("1", NULL, 0, 400, "", "the header is no JSON object");
    safetensors_refused("{", NULL, 0, 400, "", "the header, line 1, column 2: the text ends before");
    safetensors_refused("{\"query\":{\"dtype\":\"F99\",\"shape\":[2,,2],\"data_offsets\":[0,0]}}", NULL, 0, 400,
                        "/query/shape/1", "the header, line 1, column 36: expected a number");
    safetensors_refused("{\"query\":1}", NULL, 0, 422, "/query", "an object with dtype, shape and data_offsets");
    safetensors_refused("{\"query\":[[1]]}", NULL, 0, 422, "/query", "an object with dtype, shape and data_offsets");
    safetensors_refused("{\"query\":{}}", NULL, 0, 422, "/query", "a tensor without dtype");
    safetensors_refused("{\"query\":{\"dtype\":\"F32\"}}", NULL, 0, 422, "/query", "a tensor without shape");
    safetensors_refused("{\"query\":{\"dtype\":\"F32\",\"shape\":[0]}}", NULL, 0, 422, "/query",
                        "a tensor without data_offsets");
    safetensors_refused("{\"query\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0],\"more\":1}}", NULL, 0, 422,
                        "/query/more", "");
    safetensors_refused("{\"query\":{\"dtype\":32,\"shape\":[0],\"data_offsets\":[0,0]}}", NULL, 0, 422, "/query/dtype", "");
    safetensors_refused("{\"query\":{\"dtype\":\"f32\",\"shape\":[0],\"data_offsets\":[0,0]}}", NULL, 0, 422, "/query/dtype",
                        "");
    safetensors_refused("{\"query\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}}", NULL, 0, 422, "/query/dtype",
                        "");
    safetensors_refused("{" QUERY "," QUERY "}", small, 16, 422, "", "query");
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
        {"[4294967296,4294967296,4]", "[0,0]", 400, "/query/data_offsets", "2^64 or more bytes"},
        {"[9007199254740992,2,256,4]", "[0,0]", 400, "/query/data_offsets", ""},
        {"[0,4294967296]", "[0,0]", 413, "/query", "an axis may have at most"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char header[600];
        (void)snprintf(header, sizeof header, "{\"query\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":%s},%s,%s}",
                       cases[i].shape, cases[i].offsets, KEY, VALUE);
        safetensors_refused(header, small, sizeof small, cases[i].status, cases[i].pointer, cases[i].words);
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
        safetensors_refused(header, small, sizeof small, 400, "", words);
    }
    const float gap[12] = {0};
    safetensors_refused("{" QUERY ",\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[20,36]},"
                        "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[36,44]}}",
                        gap, 44, 400, "", "a gap or overlap at byte 16 of the data");
    safetensors_refused("{\"query\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[4,20]},"
                        "\"key\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[20,36]},"
                        "\"value\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[36,44]}}",
                        gap, 44, 400, "", "a gap or overlap at byte 0 of the data");
}

static void names(void **state)
{
    (void)state;
    safetensors_refused("{\"querry\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}," KEY "," VALUE "}", small,
                        sizeof small, 422, "/querry", "query");
    safetensors_refused("{" QUERY "," KEY "," VALUE ",\"scale\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[40,40]}}",
                        small, sizeof small, 422, "/scale", "");
    safetensors_refused("{" QUERY "," KEY "}", small, 32, 422, "", "value");
    safetensors_refused("{}", NULL, 0, 422, "", "");
    char name[200], header[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    (void)snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", name);
    size_t bytes;
    char *file = safetensors_file(header, NULL, 0, &bytes);
    const struct binary_request request = safetensors_request(file, bytes);
    struct binary_client binary;
    binary_client_send(&binary, &request);
    assert_int_equal(binary.call.reply.status, 422);
    binary_client_done(&binary);
    free(file);
}

static void metadata_that_is_none(void **state)
{
    (void)state;
#define REFUSED_METADATA(metadata, status, pointer, words)                                                                     \
    safetensors_refused("{\"__metadata__\":" metadata "," QUERY "," KEY "," VALUE "}", small, sizeof small, status, pointer,   \
                        words)
    REFUSED_METADATA("1", 422, "/__metadata__", "an object of strings");
    REFUSED_METADATA("[1]", 422, "/__metadata__", "an object of strings");
    REFUSED_METADATA("{\"request\":{\"scale\":1}}", 422, "/__metadata__/request", "a string that holds a JSON object");
    REFUSED_METADATA("{\"request\":\"\"}", 400, "", "__metadata__.request is empty");
    REFUSED_METADATA("{\"Request\":\"{}\"}", 422, "/__metadata__/Request", "did you mean request?");
    REFUSED_METADATA("{\"request\":\"{}\",\"REQUEST\":\"{}\"}", 422, "/__metadata__/REQUEST", "did you mean request?");
    REFUSED_METADATA("{\"request\":\"{\\\"causal\\\":tru}\"}", 400, "", "not JSON: __metadata__.request, line 1, column 11: ");
    REFUSED_METADATA("{\"request\":\"{\\\"scale\\\":1\"}", 400, "", "__metadata__.request, line 1, column 11: the text ends");
    REFUSED_METADATA("{\"request\":\"{\\\"mask\\\":[[0,0],[0,0],]}\"}", 400, "/mask",
                     "__metadata__.request, line 1, column 22: expected an array after ','");
    REFUSED_METADATA("{\"request\":\"[1]\"}", 422, "", "");
    REFUSED_METADATA("{\"request\":\"{\\\"scale\\\":\"}", 400, "", "");
    REFUSED_METADATA("{\"request\":\"{\\\"scal\\\":1}\"}", 422, "/scal", "scale");
    REFUSED_METADATA("{\"request\":\"{\\\"scale\\\":\\\"x\\\"}\"}", 422, "/scale", "");
    REFUSED_METADATA("{\"request\":\"{\\\"decimals\\\":3}\"}", 422, "/decimals", "decimals is for replies in JSON, and Accept");
    REFUSED_METADATA("{\"request\":\"{\\\"format\\\":\\\"flat\\\"}\"}", 422, "/format",
                     "format \"flat\" is for replies in JSON, and Accept");
    REFUSED_METADATA("{\"request\":\"{}\",\"request\":\"{}\"}", 422, "", "request");
}

/* A mask of numbers has no sense to be dropped; an empty one may be either. */
static void masks_of_numbers_are_not_dropped(void **state)
{
    (void)state;
    const float data[12] = {1, 0, 0, 1, 1, 0, 0, 1, 10, 20, 0, 0};
    safetensors_refused("{" METADATA("{\\\"mask_semantics\\\": \\\"drop\\\"}") "," QUERY "," KEY "," VALUE
                                                                               ",\"mask\":{\"dtype\":\"F32\",\"shape\":[2],"
                                                                               "\"data_offsets\":[40,48]}}",
                        data, sizeof data, 422, "/mask_semantics", "the mask holds numbers");
    struct binary_client binary;
    safetensors_client(&binary,
                       "{" METADATA("{\\\"mask_semantics\\\": \\\"drop\\\"}") ",\"query\":{\"dtype\":\"F32\",\"shape\":[2,2],"
                                                                              "\"data_offsets\":[0,16]},"
                                                                              "\"key\":{\"dtype\":\"F32\",\"shape\":[0,2],"
                                                                              "\"data_offsets\":[16,16]},"
                                                                              "\"value\":{\"dtype\":\"F32\",\"shape\":[0,1],"
                                                                              "\"data_offsets\":[16,16]},"
                                                                              "\"mask\":{\"dtype\":\"F32\",\"shape\":[2,0],"
                                                                              "\"data_offsets\":[16,16]}}",
                       data, 16);
    binary_client_check_ok(&binary);
    binary_client_done(&binary);
}

static void dtypes_belong_to_names(void **state)
{
    (void)state;
    safetensors_refused("{\"query\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[0,4]}}", small, 4, 422,
                        "/query/dtype", "query of dtype BOOL, where F64, F32, F16 or BF16 is expected");
    safetensors_refused("{\"query\":{\"dtype\":\"I64\",\"shape\":[2,2],\"data_offsets\":[0,32]}}", small, 32, 422,
                        "/query/dtype", "I64");
    safetensors_refused("{\"mask\":{\"dtype\":\"I64\",\"shape\":[2,2],\"data_offsets\":[0,32]}}", small, 32, 422, "/mask/dtype",
                        "BOOL, F64, F32, F16 or BF16 is expected");
    safetensors_refused("{\"key_lengths\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", small, 8, 422,
                        "/key_lengths/dtype", "where I64 or I32 is expected");
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_files_are_refused),
        cmocka_unit_test(header_lengths),
        cmocka_unit_test(files_without_their_content_type),
        cmocka_unit_test(headers_that_are_none),
        cmocka_unit_test(shapes_and_offsets),
        cmocka_unit_test(gaps_and_overlaps),
        cmocka_unit_test(names),
        cmocka_unit_test(metadata_that_is_none),
        cmocka_unit_test(masks_of_numbers_are_not_dropped),
        cmocka_unit_test(dtypes_belong_to_names),
    };
    return cmocka_run_group_tests_name("safetensors bounds", tests, NULL, NULL);
}
