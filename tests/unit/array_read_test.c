/* What array_read makes of arrays: the numbers, and the words for what is no array of numbers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/array_check.h"
#include "api/json/extract.h"
#include "core/size.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/extracted.h"

/* The same number and sign of zero, or both NaN. */
static bool is_same(double a, double b)
{
    return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
}

static void check_values(const char *text, size_t count, const double *values)
{
    struct extracted extracted;
    assert_true(extracted_init(&extracted, text, strlen(text)));
    assert_int_equal(shape_count(extracted.extract.arrays[0].rank, extracted.extract.arrays[0].shape), count);
    float *f32 = extracted_read(&extracted, 0, DTYPE_F32);
    double *f64 = extracted_read(&extracted, 0, DTYPE_F64);
    assert_non_null(f32);
    assert_non_null(f64);
    for (size_t i = 0; i < count; i++) {
        assert_true(is_same(f64[i], values[i]));
        assert_true(is_same(f32[i], (float)values[i]));
    }
    free(f32);
    free(f64);
    extracted_done(&extracted);
}

static void numbers_in_every_form(void **state)
{
    (void)state;
    check_values("[1,-2.5,3e2,4E-1,-0,0.1e+1]", 6, (const double[]){1, -2.5, 300, 0.4, -0.0, 1});
    check_values("[\n [ 1 ,\t2 ] ,\r\n [ 3,4 ]\n]", 4, (const double[]){1, 2, 3, 4});
    check_values("[[[1],[2]],[[3],[4]],[[5],[6]]]", 6, (const double[]){1, 2, 3, 4, 5, 6});
    check_values("[[[[[[[[7]]]]]]]]", 1, (const double[]){7});
    check_values("[3.4028234663852886e38, 1e-60, 1.401298464324817e-45]", 3,
                 (const double[]){3.4028234663852886e38, 1e-60, 1.401298464324817e-45});
    check_values("[NaN, Infinity, -Infinity, 0]", 4, (const double[]){NAN, INFINITY, -INFINITY, 0});
    check_values("[\"NaN\",\"nan\",\"Infinity\",\"inf\",\"-Infinity\",\"-inf\"]", 6,
                 (const double[]){NAN, NAN, INFINITY, INFINITY, -INFINITY, -INFINITY});
}

static void arrays_without_elements(void **state)
{
    (void)state;
    check_values("[]", 0, NULL);
    check_values("[[ ], [\n] , []]", 0, NULL);
    check_values("[[[]], [[]]]", 0, NULL);
}

static void booleans(void **state)
{
    (void)state;
    struct extracted extracted;
    assert_true(extracted_init(&extracted, "[[true,false ] , [ false, true]] [true] [[],[]]", 47));
    uint8_t *data = extracted_read(&extracted, 0, DTYPE_BOOL);
    assert_non_null(data);
    assert_memory_equal(data, ((const uint8_t[]){1, 0, 0, 1}), 4);
    free(data);
    data = extracted_read(&extracted, 1, DTYPE_BOOL);
    assert_non_null(data);
    assert_int_equal(data[0], 1);
    free(data);
    data = extracted_read(&extracted, 2, DTYPE_BOOL);
    assert_non_null(data);
    free(data);
    extracted_done(&extracted);
}

static const struct {
    const char *text;
    enum dtype dtype;
    enum error_code code;
    const char *pointer, *message;
} errors[] = {
    /* Ragged. */
    {"[[1,2],[3,4,5]]", DTYPE_F32, ERROR_INVALID, "/x/1", "ragged: 3 numbers where the rows before hold 2"},
    {"[[1,2],[3,4],[5]]", DTYPE_F32, ERROR_INVALID, "/x/2", "ragged: 1 number where the rows before hold 2"},
    {"[[1,2],[]]", DTYPE_F32, ERROR_INVALID, "/x/1", "ragged: 0 numbers where the rows before hold 2"},
    {"[[],[1, \",\", [2, 3]]]", DTYPE_F32, ERROR_INVALID, "/x/1", "ragged: 3 elements where the rows before hold 0"},
    {"[[1],[2,[3,4],\",\"]]", DTYPE_F64, ERROR_INVALID, "/x/1", "ragged: 3 numbers where the rows before hold 1"},
    {"[[true],[true,false]]", DTYPE_BOOL, ERROR_INVALID, "/x/1", "ragged: 2 booleans where the rows before hold 1"},
    {"[[[1],[2]],[[3]]]", DTYPE_F32, ERROR_INVALID, "/x/1", "ragged: 1 array where the arrays before hold 2"},
    {"[[[1],[2]],[[3],[4],[5]]]", DTYPE_F32, ERROR_INVALID, "/x/1", "ragged: 3 arrays where the arrays before hold 2"},
    {"[[[1]],[]]", DTYPE_F32, ERROR_INVALID, "/x/1", "ragged: 0 arrays where the arrays before hold 1"},
    /* Nested differently. */
    {"[[1],2]", DTYPE_F32, ERROR_INVALID, "/x/1", "found the number 2 where an array was expected"},
    {"[1,[2]]", DTYPE_F32, ERROR_INVALID, "/x/1", "found an array where a number was expected"},
    {"[[[1]],[2]]", DTYPE_F32, ERROR_INVALID, "/x/1/0", "found the number 2 where an array was expected"},
    {"[[],1]", DTYPE_F32, ERROR_INVALID, "/x/1", "found the number 1 where an array was expected"},
    {"[[1],NaN]", DTYPE_F32, ERROR_INVALID, "/x/1", "found the number NaN where an array was expected"},
    /* Of another kind. */
    {"[true]", DTYPE_F32, ERROR_INVALID, "/x/0", "found the boolean true where a number was expected"},
    {"[1,false]", DTYPE_F64, ERROR_INVALID, "/x/1", "found the boolean false where a number was expected"},
    {"[1,0]", DTYPE_BOOL, ERROR_INVALID, "/x/0", "found the number 1 where true or false was expected"},
    {"[true,0]", DTYPE_BOOL, ERROR_INVALID, "/x/1", "found the number 0 where true or false was expected"},
    {"[true,\"-inf\"]", DTYPE_BOOL, ERROR_INVALID, "/x/1", "found \"-inf\" where true or false was expected"},
    {"[1,null]", DTYPE_F32, ERROR_INVALID, "/x/1",
     "found null where a number was expected"
     " (a number that is not finite is written \"NaN\", \"Infinity\" or \"-Infinity\": JSON.stringify and others make null of "
     "it)"},
    {"[1,{\"a\":2}]", DTYPE_F32, ERROR_INVALID, "/x/1", "found an object where a number was expected"},
    {"[[1],\"a\"]", DTYPE_F32, ERROR_INVALID, "/x/1", "found the string \"a\" where an array was expected"},
    {"[1,\"a\\\"\tb\xc3\xa9\"]", DTYPE_F32, ERROR_INVALID, "/x/1", "found the string \"a\\\"?b?\" where a number was expected"},
    {"[1,\"12345678901234567890\"]", DTYPE_F32, ERROR_INVALID, "/x/1",
     "found the string \"12345678901234567890\" where a number was expected (a number is not in quotes)"},
    {"[1,\"123456789012345678901\"]", DTYPE_F32, ERROR_INVALID, "/x/1",
     "found the string \"12345678901234567890...\" where a number was expected (a number is not in quotes)"},
    /* Too large. */
    {"[[1,2],[3,1e39]]", DTYPE_F32, ERROR_INVALID, "/x/1/1",
     "1e39 overflows float32: send \"Infinity\" where that is meant, else compute in float64"},
    {"[-1e400 ]", DTYPE_F64, ERROR_INVALID, "/x/0", "-1e400 overflows float64: send \"-Infinity\" where that is meant"},
    {"[1234567890123456789012345e20]", DTYPE_F32, ERROR_INVALID, "/x/0",
     "123456789012345678901234... overflows float32: send \"Infinity\" where that is meant, else compute in float64"},
    /* No JSON. */
    {"[1,]", DTYPE_F32, ERROR_MALFORMED, "/x",
     "line 1, column 4: expected a number after ',', found ']' (JSON has no trailing commas)"},
    {"[[1],[2, ]]", DTYPE_F32, ERROR_MALFORMED, "/x/1",
     "line 1, column 10: expected a number after ',', found ']' (JSON has no trailing commas)"},
    {"[[1],]", DTYPE_F32, ERROR_MALFORMED, "/x",
     "line 1, column 6: expected an array after ',', found ']' (JSON has no trailing commas)"},
    {"[true,]", DTYPE_BOOL, ERROR_MALFORMED, "/x",
     "line 1, column 7: expected true or false after ',', found ']' (JSON has no trailing commas)"},
    {"[1,,2]", DTYPE_F32, ERROR_MALFORMED, "/x/1",
     "line 1, column 4: expected a number, found ',' (a value is missing before ',')"},
    {"[[1],,[2]]", DTYPE_F32, ERROR_MALFORMED, "/x/1",
     "line 1, column 6: expected an array, found ',' (a value is missing before ',')"},
    {"[1,:]", DTYPE_F32, ERROR_MALFORMED, "/x/1", "line 1, column 4: expected a number, found ':'"},
    {"[1\n 2]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 2, column 2: expected ',' or ']' after a number, found '2'"
     " (a ',' is missing: NumPy and MATLAB print arrays without commas; json.dumps of .tolist(), and jsonencode, write JSON)"},
    {"[1}]", DTYPE_F32, ERROR_MALFORMED, "/x/0", "line 1, column 3: expected ',' or ']' after a number, found '}'"},
    {"[1\"b\"]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 3: expected ',' or ']' after a number, found the string \"b\""
     " (a ',' is missing: NumPy and MATLAB print arrays without commas; json.dumps of .tolist(), and jsonencode, write JSON)"},
    {"[1 [2]]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 4: expected ',' or ']' after a number, found '['"
     " (a ',' is missing: NumPy and MATLAB print arrays without commas; json.dumps of .tolist(), and jsonencode, write JSON)"},
    {"[[1] [2]]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 6: expected ',' or ']' after an array, found '['"
     " (a ',' is missing: NumPy and MATLAB print arrays without commas; json.dumps of .tolist(), and jsonencode, write JSON)"},
    {"[true false]", DTYPE_BOOL, ERROR_MALFORMED, "/x/0",
     "line 1, column 7: expected ',' or ']' after a boolean, found 'false'"
     " (',' or ':' is missing before it)"},
    {"[truefalse]", DTYPE_BOOL, ERROR_MALFORMED, "/x/0", "line 1, column 2: expected true or false, found 'truefalse'"},
    {"[tru]", DTYPE_BOOL, ERROR_MALFORMED, "/x/0", "line 1, column 2: expected true or false, found 'tru'"},
    {"[f]", DTYPE_BOOL, ERROR_MALFORMED, "/x/0", "line 1, column 2: expected true or false, found 'f'"},
    {"[falsy]", DTYPE_BOOL, ERROR_MALFORMED, "/x/0", "line 1, column 2: expected true or false, found 'falsy'"},
    {"[NaNs]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found 'NaNs' (non-finite numbers are written \"NaN\", \"Infinity\", \"-Infinity\")"},
    {"[1,nan]", DTYPE_F32, ERROR_MALFORMED, "/x/1",
     "line 1, column 4: expected a number, found 'nan' (non-finite numbers are written \"NaN\", \"Infinity\", \"-Infinity\")"},
    {"[01]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found '01' (a number has no leading zeros in JSON)"},
    {"[1,-007.5]", DTYPE_F64, ERROR_MALFORMED, "/x/1",
     "line 1, column 4: expected a number, found '-007.5' (a number has no leading zeros in JSON)"},
    {"[+1]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found '+1' (a number has no leading '+' in JSON)"},
    {"[-.5]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found '-.5' (a number has a digit before its point in JSON)"},
    {"[1.]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found '1.' (a number has a digit after its point in JSON: NumPy prints "
     "1., json.dumps of .tolist() writes 1.0)"},
    {"[2.e3]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found '2.e3' (a number has a digit after its point in JSON)"},
    {"[0x1F]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found '0x1F' (JSON has no hexadecimal numbers: send it in decimal)"},
    {"[-]", DTYPE_F32, ERROR_MALFORMED, "/x/0", "line 1, column 2: expected a number, found '-'"},
    {"[1e]", DTYPE_F32, ERROR_MALFORMED, "/x/0",
     "line 1, column 2: expected a number, found '1e' (a number ends with a digit in JSON)"},
    {"[1, 1_000_000_000_000_000_000_000]", DTYPE_F32, ERROR_MALFORMED, "/x/1",
     "line 1, column 5: expected a number, found '1_000_000_000_000_000_00...' (JSON does not group digits: 1000, not 1_000)"},
};

static void faults_say_what_and_where(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof errors / sizeof errors[0]; k++) {
        struct extracted extracted;
        assert_true(extracted_init(&extracted, errors[k].text, strlen(errors[k].text)));
        assert_null(extracted_read(&extracted, 0, errors[k].dtype));
        assert_string_equal(extracted.err.text, errors[k].message);
        assert_string_equal(extracted.err.pointer, errors[k].pointer);
        assert_int_equal(extracted.err.code, errors[k].code);
        extracted_done(&extracted);
    }
}

/* array_check finds what array_read does, but for numbers that float64 holds. */
static void check_agrees(struct extracted *extracted, size_t index)
{
    const struct json_array_text *array = &extracted->extract.arrays[index];
    struct error err;
    error_init(&err);
    error_init(&extracted->err);
    void *read = extracted_read(extracted, index, array->kind == JSON_ARRAY_BOOLS ? DTYPE_BOOL : DTYPE_F64);
    assert_int_equal(array_check(&extracted->extract, array, "/x", &err), read != NULL);
    assert_string_equal(err.text, extracted->err.text);
    assert_string_equal(err.pointer, extracted->err.pointer);
    assert_int_equal(err.code, extracted->err.code);
    free(read);
}

static void checking_finds_the_same_faults(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof errors / sizeof errors[0]; k++) {
        struct extracted extracted;
        assert_true(extracted_init(&extracted, errors[k].text, strlen(errors[k].text)));
        check_agrees(&extracted, 0);
        extracted_done(&extracted);
    }
    /* Ragged, and by its first shape larger than memory. */
    struct extracted extracted;
    char text[6001] = "[[1";
    for (size_t i = strlen(text); i < sizeof text - 2; i += 2)
        memcpy(text + i, ",1", 3);
    memcpy(text + 5001, "] ", 2); /* a row of 2500; what follows is none */
    text[sizeof text - 2] = ']';
    assert_true(extracted_init(&extracted, text, strlen(text)));
    assert_false(array_check(&extracted.extract, &extracted.extract.arrays[0], "/x", &extracted.err));
    assert_string_equal(extracted.err.pointer, "/x/1");
    extracted_done(&extracted);
}

/* How clients put separators: compact, Python's json, indented, and as no library does. */
static const char *const separators[][2] = {{"", ""}, {"", " "}, {"\n    ", "\n    "}, {" \t", "\r\n"}};

static char *write_array(struct draw *draw, size_t rank, const size_t *shape, const char *const separator[2], float **value,
                         char *out)
{
    if (rank == 0) {
        *(*value)++ = (float)(draw_normal(draw) * exp(20 * draw_normal(draw)));
        return out + snprintf(out, 32, "%.9g", (double)(*value)[-1]);
    }
    *out++ = '[';
    for (size_t i = 0; i < shape[0]; i++) {
        out += snprintf(out, 16, "%s%s", i > 0 ? separator[0] : "", i > 0 ? "," : "");
        out += snprintf(out, 16, "%s", i > 0 ? separator[1] : "");
        out = write_array(draw, rank - 1, shape + 1, separator, value, out);
    }
    out += snprintf(out, 16, "%s", separator[0]);
    *out++ = ']';
    return out;
}

static void random_arrays_come_back(void **state)
{
    (void)state;
    enum { CASES = 500, ELEMENTS_MAX = 4096, BYTES = ELEMENTS_MAX * 200 };
    char *text = malloc(BYTES);
    float *values = malloc(ELEMENTS_MAX * sizeof *values);
    assert_non_null(text);
    assert_non_null(values);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct draw draw = {seed};
        size_t rank = draw_size(&draw, 1, TENSOR_RANK_MAX), shape[TENSOR_RANK_MAX];
        for (size_t i = 0; i < rank; i++)
            shape[i] = draw_size(&draw, 1, rank > 3 ? 2 : 16);
        float *value = values;
        char *end = write_array(&draw, rank, shape, separators[draw_size(&draw, 0, 3)], &value, text);

        struct extracted extracted;
        assert_true(extracted_init(&extracted, text, (size_t)(end - text)));
        assert_int_equal(extracted.extract.arrays[0].rank, rank);
        assert_memory_equal(extracted.extract.arrays[0].shape, shape, rank * sizeof shape[0]);
        float *read = extracted_read(&extracted, 0, DTYPE_F32);
        assert_non_null(read);
        assert_memory_equal(read, values, (size_t)(value - values) * sizeof *values);
        free(read);
        check_agrees(&extracted, 0);
        extracted_done(&extracted);
        text[draw_size(&draw, 1, (size_t)(end - text) - 2)] = ",1]-e "[draw_size(&draw, 0, 5)];
        if (extracted_init(&extracted, text, (size_t)(end - text)) && extracted.extract.array_count > 0)
            check_agrees(&extracted, 0);
        extracted_done(&extracted);
    }
    free(text);
    free(values);
}

/* Any text of few kinds of byte is read or refused, and within its array. */
static void junk_is_refused(void **state)
{
    (void)state;
    static const char bytes[] = "[[[]]],,,,1023.eE+- \n\"\"\\tf{}:NIa\x80";
    size_t refused = 0;
    for (uint64_t seed = 0; seed < 100000; seed++) {
        struct draw draw = {seed};
        char text[100] = "[[1,2,true,\"NaN\"],";
        size_t count = draw_size(&draw, 2, sizeof text);
        for (size_t i = draw_size(&draw, 1, 18); i < count; i++)
            text[i] = bytes[draw_size(&draw, 0, sizeof bytes - 2)];
        struct extracted extracted;
        bool scanned = extracted_init(&extracted, text, count);
        refused += !scanned;
        for (size_t k = 0; scanned && k < size_min(extracted.extract.array_count, 1); k++) {
            void *data = extracted_read(&extracted, k, (enum dtype)draw_size(&draw, DTYPE_F32, DTYPE_BOOL));
            refused += data == NULL;
            free(data);
            check_agrees(&extracted, k);
        }
        extracted_done(&extracted);
    }
    assert_true(refused > 90000);
}

static void long_pointers_are_cut(void **state)
{
    (void)state;
    char pointer[2 * ERROR_POINTER_BYTES_MAX];
    memset(pointer, 'p', sizeof pointer - 1);
    pointer[sizeof pointer - 1] = '\0';
    struct extracted extracted;
    float data[2];
    assert_true(extracted_init(&extracted, "[1,null]", 8));
    assert_false(array_read(&extracted.extract, &extracted.extract.arrays[0], DTYPE_F32, pointer, data, &extracted.err));
    assert_int_equal(strlen(extracted.err.pointer), ERROR_POINTER_BYTES_MAX - 1);
    extracted_done(&extracted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_every_form),
        cmocka_unit_test(arrays_without_elements),
        cmocka_unit_test(booleans),
        cmocka_unit_test(faults_say_what_and_where),
        cmocka_unit_test(checking_finds_the_same_faults),
        cmocka_unit_test(random_arrays_come_back),
        cmocka_unit_test(junk_is_refused),
        cmocka_unit_test(long_pointers_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
