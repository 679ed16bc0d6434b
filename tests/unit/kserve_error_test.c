/* Requests of the Open Inference Protocol that are refused, and the messages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/kserve_check.h"

#define Q FP32("Q", "[1,1,1,1]", "[1]")
#define K FP32("K", "[1,1,2,1]", "[1,2]")
#define V FP32("V", "[1,1,2,1]", "[1,2]")
#define ALL Q "," K "," V

/* A whole body, or the parts of one that is otherwise right. */
struct refused {
    const char *body, *parameters, *inputs, *outputs;
    const char *error;
};

static void check_refused(const struct refused *cases, size_t count, int status)
{
    for (size_t k = 0; k < count; k++) {
        char text[KSERVE_TEXT_BYTES_MAX];
        kserve_text(cases[k].parameters ? cases[k].parameters : "", cases[k].inputs ? cases[k].inputs : ALL, cases[k].outputs,
                    text);
        kserve_check_error(cases[k].body ? cases[k].body : text, status, cases[k].error);
    }
}

#define CHECK_REFUSED(cases, status) check_refused(cases, sizeof(cases) / sizeof *(cases), status)

static void bodies(void **state)
{
    (void)state;
    static const struct refused malformed[] = {
        {.body = "", .error = "not JSON: line 1, column 1: the body is empty: send the request as one object of JSON"},
        {.body = "{", .error = "line 1, column 2: the text ends before the object opened at line 1, column 1 is closed"},
        {.body = "{\"inputs\":[1,2}",
         .error = "line 1, column 16: the text ends before the array opened at line 1, column 11 is closed"},
        {.body = "{\"inputs\" 1}",
         .error = "not JSON: line 1, column 11: ':' expected near '1' (':' is missing after the name)"},
    };
    static const struct refused invalid[] = {
        {.body = "[]", .error = "an empty array, where an object with inputs is expected"},
        {.body = "1", .error = "1, where an object with inputs is expected"},
        {.body = "{\"inputs\":[],\"inputs\":[]}",
         .error = "line 1, column 21: duplicate object key near '\"inputs\"': each name may stand once"},
        {.body = "{\"id\":\"a\\u0000\",\"inputs\":[]}",
         .error = "line 1, column 15: the string holds \\u0000, which no name and no value here does"},
        {.body = "{\"input\":[]}", .error = "/input: input: no such field; did you mean inputs?"},
        {.body = "{\"id\":42,\"inputs\":[]}", .error = "/id: 42, where a string is expected"},
    };
    CHECK_REFUSED(malformed, 400);
    CHECK_REFUSED(invalid, 422);
}

static void inputs(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {.body = "{}", .error = "/inputs: inputs is missing"},
        {.body = "{\"inputs\":[]}", .error = "/inputs: an empty array, where an array of input tensors is expected"},
        {.body = "{\"inputs\":{\"Q\":1}}", .error = "/inputs: an object, where an array of input tensors is expected"},
        {.body = "{\"inputs\":[1]}",
         .error = "/inputs: an array of numbers of shape [1], where an array of input tensors is expected"},
        {.inputs = "\"Q\"", .error = "/inputs/0: \"Q\", where an object with name, shape, datatype and data is expected"},
        {.inputs = "null", .error = "/inputs/0: null, where an object with name, shape, datatype and data is expected"},
        {.inputs = "{\"name\":\"Q\",\"shape\":[1],\"datatype\":\"FP32\",\"dat\":[1]}",
         .error = "/inputs/0/dat: dat: no such field; did you mean data?"},
        {.inputs = "{\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}", .error = "/inputs/0: an input without name"},
        {.inputs = "{\"name\":\"Q\",\"datatype\":\"FP32\",\"data\":[1]}", .error = "/inputs/0: an input without shape"},
        {.inputs = "{\"name\":\"Q\",\"shape\":[1],\"data\":[1]}", .error = "/inputs/0: an input without datatype"},
        {.inputs = "{\"name\":\"Q\",\"shape\":[1],\"datatype\":\"FP32\"}",
         .error = "/inputs/0: an input without data: its numbers, or parameters with the "
                  "binary_data_size of the bytes behind the JSON"},
        {.inputs = FP32("query", "[1]", "[1]"),
         .error = "/inputs/0/name: \"query\", where \"Q\", \"K\", \"V\", \"attn_mask\", \"past_key\", \"past_value\" or "
                  "\"nonpad_kv_seqlen\" is expected; did you mean \"Q\"?"},
        {.inputs = "{\"name\":1,\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}",
         .error = "/inputs/0/name: 1, where \"Q\", \"K\", \"V\", \"attn_mask\", \"past_key\", \"past_value\" or "
                  "\"nonpad_kv_seqlen\" is expected"},
        {.inputs = INPUT("Q", "INT8", "[1]", "[1]"),
         .error = "/inputs/0/datatype: Q of datatype INT8, where FP32, FP64, FP16 or BF16 is expected"},
        {.inputs = FP32("Q", "[1,1,1,1]", "[1,2]"),
         .error =
             "/inputs/0/data: data of shape [2], where shape [1, 1, 1, 1] needs 1 number, flat or nested as the shape says"},
        {.inputs = FP32("Q", "[1,-1,1,1]", "[1]"),
         .error = "/inputs/0/shape/1: -1, where an integer from 0 to 9007199254740992 is expected (no axis follows from the "
                  "others: send its "
                  "length)"},
        {.inputs = FP32("Q", "1", "[1]"), .error = "/inputs/0/shape: 1, where a flat array of integers is expected"},
        {.inputs = FP32("Q", "[1]", "\"AAAA\""), .error = "/inputs/0/data: \"AAAA\", where an array of numbers is expected"},
        {.inputs = Q "," Q, .error = "/inputs/1: Q is given twice"},
        {.inputs = K "," V, .error = "/inputs: input Q is missing"},
        {.inputs = Q "," V, .error = "/inputs: input K is missing"},
        {.inputs = Q "," K, .error = "/inputs: input V is missing"},
        {.inputs = FP32("Q", "[1,1,1,1]", "[\"x\"]"),
         .error = "/inputs/0/data/0: \"x\", where a number or \"NaN\", \"Infinity\" or \"-Infinity\" is expected"},
        {.inputs = ALL "," BOOL("attn_mask", "[1,2]", "[null,true]"),
         .error = "/inputs/3/data/0: null, where a number or a boolean is expected"
                  " (a number that is not finite is written \"NaN\", \"Infinity\" or \"-Infinity\": JSON.stringify and others "
                  "make null of it)"},
        {.inputs = FP32("Q", "[1,1,1,1]", "[1e39]") "," K "," V,
         .error = "/inputs/0/data/0: 1e39 overflows float32: send \"Infinity\" where that is meant, else compute in float64"},
        {.inputs = FP16("Q", "[1,1,1,1]", "[70000]") "," K "," V,
         .error = "/inputs/0/data/0: 70000 overflows float16, the datatype: send \"-Infinity\" or \"Infinity\" where that is "
                  "meant, or a wider datatype"},
        {.inputs = Q "," BF16("K", "[1,1,2,1]", "[[[[1],[-3.4e38]]]]") "," V,
         .error =
             "/inputs/1/data/0/0/1/0: -3.39999995e+38 overflows bfloat16, the datatype: send \"-Infinity\" or \"Infinity\" "
             "where that is meant, or a wider datatype"},
        {.parameters = "\"softmax_precision\":11",
         .inputs = Q "," K "," FP32("V", "[1,1,2,1]", "[1,1e39]"),
         .error = "/inputs/2/data/1: 1e+39 overflows float32, the datatype: send \"-Infinity\" or \"Infinity\" where that is "
                  "meant, or a wider datatype"},
        {.inputs = INT64("Q", "[1,1,1,1]", "[1]"),
         .error = "/inputs/0/datatype: Q of datatype INT64, where FP32, FP64, FP16 or BF16 is expected"},
        {.inputs = BOOL("K", "[1,1,1,1]", "[true]"),
         .error = "/inputs/0/datatype: K of datatype BOOL, where FP32, FP64, FP16 or BF16 is expected"},
        {.inputs = FP32("Q", "[1,1,1,1]", "[true]"),
         .error = "/inputs/0/datatype: boolean data, where datatype FP32 is announced"
                  ": for true and false announce BOOL"},
        {.inputs = ALL "," INT64("attn_mask", "[1,2]", "[1,0]"),
         .error = "/inputs/3/datatype: attn_mask of datatype INT64, where BOOL, or FP32, FP64, FP16 or BF16 to be added is "
                  "expected"},
        {.inputs = ALL "," INPUT("attn_mask", "INT32", "[1,2]", "[1,0]"),
         .error = "/inputs/3/datatype: attn_mask of datatype INT32, where BOOL, or FP32, FP64, FP16 or BF16 to be added is "
                  "expected"},
        {.inputs = ALL "," BOOL("attn_mask", "[1,2]", "[1,0]"),
         .error = "/inputs/3/datatype: numeric data, where datatype BOOL is announced: send true and false (in Python "
                  ".astype(bool).tolist()), or announce a type of numbers"},
        {.inputs = ALL "," FP32("attn_mask", "[1,2]", "[true,false]"),
         .error = "/inputs/3/datatype: boolean data, where datatype FP32 is announced: for true and false announce BOOL"},
        {.inputs = ALL "," FP32("nonpad_kv_seqlen", "[1]", "[1]"),
         .error = "/inputs/3/datatype: nonpad_kv_seqlen of datatype FP32, where INT64 or INT32 is expected"},
    };
    CHECK_REFUSED(cases, 422);
}

static void parameters(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {.body = "{\"parameters\":\"\"}", .error = "/parameters: \"\", where an object is expected"},
        {.body = "{\"parameters\":[1]}", .error = "/parameters: an array of numbers of shape [1], where an object is expected"},
        {.parameters = "\"causal\":1", .error = "/parameters/causal: causal: no such field; did you mean is_causal?"},
        {.parameters = "\"is_causal\":2", .error = "/parameters/is_causal: 2, where an integer from 0 to 1 is expected"},
        {.parameters = "\"is_causal\":\"true\"",
         .error = "/parameters/is_causal: \"true\", where an integer from 0 to 1 is expected "
                  "(true, false and null are not in quotes)"},
        {.parameters = "\"scale\":\"1\"",
         .error = "/parameters/scale: \"1\", where a finite number is expected (a number is not in quotes)"},
        {.parameters = "\"scale\":NaN", .error = "/parameters/scale: \"NaN\", where a finite number is expected"},
        {.parameters = "\"scale\":1e39",
         .error = "/parameters/scale: 1e+39 overflows float32: send a smaller one, or compute in float64"},
        {.parameters = "\"softcap\":-1", .error = "/parameters/softcap: -1, where 0 (none) or more is expected"},
        {.parameters = "\"softcap\":true", .error = "/parameters/softcap: true, where a finite number is expected"},
        {.parameters = "\"q_num_heads\":0",
         .error = "/parameters/q_num_heads: 0, where an integer from 1 to 2147483647 is expected"},
        {.parameters = "\"kv_num_heads\":1.5",
         .error = "/parameters/kv_num_heads: 1.5, where an integer from 1 to 2147483647 is expected"},
        {.parameters = "\"qk_matmul_output_mode\":4",
         .error = "/parameters/qk_matmul_output_mode: 4, where an integer from 0 to 3 is expected"},
        {.parameters = "\"softmax_precision\":0",
         .error = "/parameters/softmax_precision: 0, where 1 (FLOAT), 10 (FLOAT16), 11 (DOUBLE) or 16 (BFLOAT16) is expected"},
        {.parameters = "\"softmax_precision\":7",
         .error = "/parameters/softmax_precision: 7, where 1 (FLOAT), 10 (FLOAT16), 11 (DOUBLE) or 16 (BFLOAT16) is expected"},
        {.parameters = "\"softmax_precision\":99",
         .error = "/parameters/softmax_precision: 99, where an integer from 0 to 32 is expected"},
        {.parameters = "\"left_window_size\":-2",
         .error = "/parameters/left_window_size: -2, where an integer from -1 to 9007199254740992 is expected"},
        {.parameters = "\"right_window_size\":[1]",
         .error = "/parameters/right_window_size: an array of numbers of shape [1], where an integer from -1 to "
                  "9007199254740992 is expected"},
        {.parameters = "\"q_num_heads\":2", .error = "/parameters/q_num_heads: 2, where the tensors' head axis holds 1"},
        {.parameters = "\"kv_num_heads\":2", .error = "/parameters/kv_num_heads: 2, where the tensors' head axis holds 1"},
    };
    CHECK_REFUSED(cases, 422);
}

static void outputs(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {.body = "{\"inputs\":[" ALL "],\"outputs\":\"Y\"}",
         .error = "/outputs: \"Y\", where an array of objects with a name is expected"},
        {.body = "{\"inputs\":[" ALL "],\"outputs\":{\"name\":\"Y\"}}",
         .error = "/outputs: an object, where an array of objects with a name is expected"},
        {.body = "{\"inputs\":[" ALL "],\"outputs\":[1]}",
         .error = "/outputs: an array of numbers of shape [1], where an array of objects with a name is expected"},
        {.outputs = "\"Y\"", .error = "/outputs/0: \"Y\", where an object with a name is expected"},
        {.outputs = "{}", .error = "/outputs/0: an object, where an object with a name is expected"},
        {.outputs = "{\"name\":\"y\"}",
         .error =
             "/outputs/0: \"y\", where \"Y\", \"present_key\", \"present_value\" or \"qk_matmul_output\" is expected; did you "
             "mean \"Y\"?"},
        {.outputs = "{\"name\":\"Y\",\"datatype\":\"FP32\"}",
         .error = "/outputs/0/datatype: datatype: no such field; expected name or parameters"},
        {.outputs = "{\"name\":\"Y\"},{\"name\":\"Y\"}", .error = "/outputs/1: Y is asked for twice"},
    };
    CHECK_REFUSED(cases, 422);
}

/* Each part is right by itself; together they are not. */
static void together(void **state)
{
    (void)state;
    static const struct refused cases[] = {
        {.inputs = FP32("Q", "[1,1]", "[1]") "," FP32("K", "[1,1]", "[1]") "," FP32("V", "[1,1]", "[1]"),
         .error = "/inputs/0: Q of rank 2, where [B, H, T, D], or [B, T, H*D] with q_num_heads and kv_num_heads, is expected"},
        {.inputs = FP32("Q", "[1]", "[1]") "," FP32("K", "[1]", "[1]") "," FP32("V", "[1]", "[1]"),
         .error = "/inputs/0: Q of rank 1, where [B, H, T, D], or [B, T, H*D] with q_num_heads and kv_num_heads, is expected"},
        {.inputs = FP32("Q", "[1,1,1]", "[1]") "," FP32("K", "[1,1,1]", "[1]") "," FP32("V", "[1,1,1]", "[1]"),
         .error = "/parameters: q_num_heads and kv_num_heads are needed where Q, K and V have rank 3"},
        {.parameters = "\"q_num_heads\":1",
         .inputs = FP32("Q", "[1,1,1]", "[1]") "," FP32("K", "[1,1,1]", "[1]") "," FP32("V", "[1,1,1]", "[1]"),
         .error = "/parameters: q_num_heads and kv_num_heads are needed where Q, K and V have rank 3"},
        {.parameters = "\"q_num_heads\":2,\"kv_num_heads\":1",
         .inputs = FP32("Q", "[1,1,3]", "[1,2,3]") "," FP32("K", "[1,1,1]", "[1]") "," FP32("V", "[1,1,1]", "[1]"),
         .error = "/inputs/0: shape [1, 1, 3]: the last axis does not divide into 2 heads"},
        {.parameters = "\"q_num_heads\":3,\"kv_num_heads\":2",
         .inputs = FP32("Q", "[1,1,3]", "[1,2,3]") "," FP32("K", "[1,1,2]", "[1,2]") "," FP32("V", "[1,1,2]", "[1,2]"),
         .error =
             "/parameters/kv_num_heads: 3 query heads cannot share 2 key and value heads: the second must divide the first"},
        {.inputs = FP32("Q", "[1,1,1,2]", "[1,2]") "," K "," V,
         .error =
             "/inputs/1: the head sizes differ, 2 and 1: Q has shape [1, 1, 1, 2], K has shape [1, 1, 2, 1]; key and value fit "
             "with their last two axes swapped: send them as [.., Tk, D] and [.., Tk, Dv]"},
        {.inputs = Q "," K "," FP32("V", "[1,1,1,1]", "[1]"),
         .error = "/inputs/2: the numbers of tokens differ: K has shape [1, 1, 2, 1], V has shape [1, 1, 1, 1]"},
        {.inputs = FP32("Q", "[1,1,1,0]", "[]") "," FP32("K", "[1,1,1,0]", "[]") "," FP32("V", "[1,1,1,1]", "[1]"),
         .error = "/parameters/scale: the head size is 0, so the default scale 1/sqrt(0) is none: give scale"},
        {.inputs = ALL "," FP32("past_key", "[1,1,1,1]", "[1]"), .error = "/inputs/3: past_key and past_value go together"},
        {.inputs = ALL "," FP32("past_value", "[1,1,1,1]", "[1]"), .error = "/inputs/3: past_key and past_value go together"},
        {.inputs = ALL "," FP32("past_key", "[1,1,1,1]", "[1]") "," FP32("past_value", "[1,1,2,1]", "[1,2]"),
         .error = "/inputs/4: the numbers of past tokens differ: past_key has shape [1, 1, 1, 1], past_value has shape [1, 1, "
                  "2, 1]"},
        {.parameters = "\"q_num_heads\":1,\"kv_num_heads\":1",
         .inputs = FP32("Q", "[1,1,1]", "[1]") "," FP32("K", "[1,1,1]", "[1]") "," FP32("V", "[1,1,1]", "[1]") "," FP32(
             "past_key", "[1,1,1]", "[1]") "," FP32("past_value", "[1,1,1]", "[1]"),
         .error = "/inputs/3: shape [1, 1, 1], where [B, Hkv, T, D] is expected"},
        {.inputs = ALL "," FP32("past_key", "[1,1,1,1]", "[1]") "," FP32("past_value", "[1,1,1,1]",
                                                                         "[1]") "," INT64("nonpad_kv_seqlen", "[1]", "[1]"),
         .error = "/inputs/5: nonpad_kv_seqlen goes with a cache that K and V hold already, not with past_key"},
        {.inputs = ALL "," INT64("nonpad_kv_seqlen", "[1]", "[3]"),
         .error = "/inputs/3/data/0: 3 for item 0, where an integer from 0 to 2, the number of keys, is expected"},
        {.inputs = ALL "," INT64("nonpad_kv_seqlen", "[1]", "[-1]"),
         .error = "/inputs/3/data/0: -1 for item 0, where an integer from 0 to 2, the number of keys, is expected"},
        {.inputs = ALL "," INT64("nonpad_kv_seqlen", "[1]", "[1.5]"),
         .error = "/inputs/3/data/0: 1.5 for item 0, where an integer from 0 to 2, the number of keys, is expected"},
        {.inputs = ALL "," INT64("nonpad_kv_seqlen", "[2]", "[1,1]"),
         .error = "/inputs/3: shape [2], where [1] is expected: one integer per item of the batch"},
        {.inputs = ALL "," INT64("nonpad_kv_seqlen", "[1,1]", "[1]"),
         .error = "/inputs/3: shape [1, 1], where [1] is expected: one integer per item of the batch"},
        {.inputs = ALL "," FP32("attn_mask", "[2,2]", "[1,2,3,4]"),
         .error = "/inputs/3: shape [2, 2] does not broadcast to the weights' shape [1, 1, 1, 2]"},
        {.inputs = ALL "," FP32("attn_mask", "[1,3]", "[1,2,3]"),
         .error = "/inputs/3: shape [1, 3] does not broadcast to the weights' shape [1, 1, 1, 2]"},
        {.inputs = ALL "," FP32("attn_mask", "[1,1,1,1,2]", "[1,2]"),
         .error = "/inputs/3: shape [1, 1, 1, 1, 2] does not broadcast to the weights' shape [1, 1, 1, 2]"},
    };
    CHECK_REFUSED(cases, 422);
}

/* What the shapes would take is refused before it is taken. */
static void too_large(void **state)
{
    (void)state;
    kserve_check_error("{\"inputs\":[" FP32("Q", "[1,1,4294967296,1]", "[1]") "]}", 413,
                       "/inputs/0: shape [1, 1, 4294967296, 1]: an axis may have at most 2147483647 elements");

    static const char text[] = "{\"parameters\":{\"scale\":1},\"inputs\":[" FP32("Q", "[1,1,2147483647,0]", "[]") "," FP32(
        "K", "[1,1,2147483647,0]", "[]") "," FP32("V", "[1,1,2147483647,0]", "[]") "]}";
    struct client client;
    client_kserve(&client, "two billion empty queries", text, strlen(text), NULL);
    assert_int_equal(client.call.reply.status, 413);
    const char *error = json_string_value(json_object_get(client.reply, "error"));
    assert_non_null(error);
    assert_non_null(strstr(error, "bytes of memory, where a request may take 1073741824"));
    client_done(&client);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies),  cmocka_unit_test(inputs),   cmocka_unit_test(parameters),
        cmocka_unit_test(outputs), cmocka_unit_test(together), cmocka_unit_test(too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
