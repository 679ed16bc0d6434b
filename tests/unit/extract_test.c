/* What extract_scan leaves in the document, what it says of the arrays, and the way back from the document to the text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/array_check.h"
#include "api/json/extract.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/extracted.h"

static const struct {
    const char *text, *document;
} documents[] = {
    {"{\"query\": [[1, 2], [3, 4]], \"causal\": true}", "{\"query\":[0],\"causal\":true}"},
    {"[1,2]", "[0]"},
    {" [ ] ", "[0]"},
    {"", ""},
    {" \t\r\n", ""},
    {"\"a  b\"", "\"a  b\""},
    {"{\"a [1] \\\" \\\\\": [1], \"\\u005b\": \"]\"}", "{\"a [1] \\\" \\\\\":[0],\"\\u005b\":\"]\"}"},
    {"{\"return\": [\"output\", \"weights\"]}", "{\"return\":[\"output\",\"weights\"]}"},
    {"[null, 1]", "[null,1]"},
    {"[{\"a\": [1], \"b\": [[true]]}, [2]]", "[{\"a\":[0],\"b\":[1]},[2]]"},
    {"[\"a\", [1, 2], 3]", "[\"a\",[0],3]"},
    {"[ [ [ \"a\" ], [1] ], [2] ]", "[[[\"a\"],[0]],[1]]"},
    {"[[], \"a\"]", "[0]"},
    {"[\"NaN\"][\"nan\"][\"Infinity\"][\"inf\"][\"-Infinity\"][\"-inf\"]", "[0][1][2][3][4][5]"},
    {"[NaN][Infinity][-Infinity]", "[0][1][2]"},
    {"[\"nans\"][\"INF\"]", "[\"nans\"][\"INF\"]"},
    {"[+1][.5][-x][Nope]", "[0][1][2][3]"},
    {"[nan][x]", "[nan][x]"},
    {"{\"a\": NaN, \"b\": -Infinity, \"c\":Infinity}", "{\"a\":\"NaN\",\"b\":\"-Infinity\",\"c\":\"Infinity\"}"},
    {"NaN", "\"NaN\""},
    {"[\"a\", NaN]", "[\"a\",\"NaN\"]"},
    {"{NaN: 1, NaN: 2}", "{NaN:1,NaN:2}"},
    {"{\"a\": NaNs}", "{\"a\":NaNs}"},
    {"1 2", "1 2"},
    {"tr\nue", "tr ue"},
    {"{\"a\": NaN 1}", "{\"a\":\"NaN\" 1}"},
    {"{\"a\": 1 NaN}", "{\"a\":1 NaN}"},
    {"[1] 2 [3]", "[0]2[1]"},
    {"{\"a\" \"b\" : 1 , }", "{\"a\"\"b\":1,}"},
    {"[1, \"]\", 2]", "[0]"},
    {"[1, Y_]_", "[0]_"},
    {"[1, \"[\\\"]\", {\"a\": [3]}]", "[0]"},
};

static void document_keeps_all_but_number_arrays(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof documents / sizeof documents[0]; k++) {
        struct extracted extracted;
        assert_true(extracted_init(&extracted, documents[k].text, strlen(documents[k].text)));
        assert_string_equal(extracted.extract.document, documents[k].document);
        assert_int_equal(extracted.extract.document_bytes, strlen(documents[k].document));
        extracted_done(&extracted);
    }
}

static const struct {
    const char *text;
    enum json_array_kind kind;
    const char *shape;
} shapes[] = {
    {"[]", JSON_ARRAY_EMPTY, "[0]"},
    {"[[], []]", JSON_ARRAY_EMPTY, "[2, 0]"},
    {"[[[]], [[]]]", JSON_ARRAY_EMPTY, "[2, 1, 0]"},
    {"[[], [1, 2]]", JSON_ARRAY_EMPTY, "[2, 0]"},
    {"[7]", JSON_ARRAY_NUMBERS, "[1]"},
    {"[[1,2,3],[4,5,6]]", JSON_ARRAY_NUMBERS, "[2, 3]"},
    {"[[1,2],[4,5,6],[7]]", JSON_ARRAY_NUMBERS, "[3, 2]"},
    {"[[[1],[2]],[[3],[4],[5]],[[6]]]", JSON_ARRAY_NUMBERS, "[3, 2, 1]"},
    {"[[[[[[[[1]]]]]]]]", JSON_ARRAY_NUMBERS, "[1, 1, 1, 1, 1, 1, 1, 1]"},
    {"[1, [2, 3], [[4, 5, 6]]]", JSON_ARRAY_NUMBERS, "[3]"},
    {"[[1], 2, 3]", JSON_ARRAY_NUMBERS, "[3, 1]"},
    {"[ true , false ]", JSON_ARRAY_BOOLS, "[2]"},
    {"[[false]]", JSON_ARRAY_BOOLS, "[1, 1]"},
    {"[\"-Infinity\", 0]", JSON_ARRAY_NUMBERS, "[2]"},
    {"[[NaN, \",]\", \"\\\",\"], [3]]", JSON_ARRAY_NUMBERS, "[2, 3]"},
};

static void arrays_have_kind_and_first_shape(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        struct extracted extracted;
        assert_true(extracted_init(&extracted, shapes[k].text, strlen(shapes[k].text)));
        assert_int_equal(extracted.extract.array_count, 1);
        const struct json_array_text *array = &extracted.extract.arrays[0];
        char text[SHAPE_TEXT_BYTES_MAX];
        assert_string_equal(shape_text(array->rank, array->shape, text, sizeof text), shapes[k].shape);
        assert_int_equal(array->kind, shapes[k].kind);
        assert_int_equal(array->offset_bytes, 0);
        assert_int_equal(array->text_bytes, strlen(shapes[k].text));
        extracted_done(&extracted);
    }
}

/* Writes a random array of the shape's axes from `axis` on, with space, strings and escapes strewn in. */
static char *draw_array(struct draw *draw, size_t rank, const size_t *shape, size_t axis, char *out)
{
    static const char *const leaves[] = {"1", "-0.25e-7", "1234567890123456789", "\"-Infinity\"", "\"],[\"", "\"\\\\\\\"[\""};
    if (axis == rank) {
        size_t some = draw_chance(draw, 0.9) ? 2 : sizeof leaves / sizeof leaves[0] - 1;
        return out + snprintf(out, 64, "%s", leaves[draw_size(draw, 0, some)]);
    }
    *out++ = '[';
    for (size_t i = 0; i < shape[axis]; i++) {
        if (i > 0)
            *out++ = ',';
        for (size_t spaces = draw_chance(draw, 0.2) ? draw_size(draw, 0, 9) : 0; spaces > 0; spaces--)
            *out++ = " \n"[draw_size(draw, 0, 1)];
        out = draw_array(draw, rank, shape, axis + 1, out);
    }
    *out++ = ']';
    return out;
}

static void ends_are_found_wherever_blocks_fall(void **state)
{
    (void)state;
    enum { CASES = 3000, BYTES = 1 << 16 };
    char *text = malloc(BYTES);
    assert_non_null(text);
    for (uint64_t seed = 0; seed < CASES; seed++) {
        struct draw draw = {seed};
        size_t rank = draw_size(&draw, 1, 4), shape[4];
        for (size_t i = 0; i < rank; i++)
            shape[i] = draw_size(&draw, 1, 6);
        size_t before = draw_size(&draw, 0, 70), after = draw_size(&draw, 0, 70);
        memset(text, ' ', before);
        text[before] = '[';
        char *start = text + before + snprintf(text + before, 16, "{\"a\":");
        /* The first leaf decides whether the array is extracted, so it is a number. */
        char *leaf = start, *end = draw_array(&draw, rank, shape, 0, start);
        while (*leaf == '[' || *leaf == ' ' || *leaf == '\n')
            leaf++;
        if (*leaf == '"')
            continue;
        memset(end, ' ', after);
        end[after] = '}';

        struct extracted extracted;
        assert_true(extracted_init(&extracted, text, (size_t)(end + after + 1 - text)));
        assert_string_equal(extracted.extract.document, "{\"a\":[0]}");
        assert_int_equal(extracted.extract.arrays[0].offset_bytes, start - text);
        assert_int_equal(extracted.extract.arrays[0].text_bytes, end - start);
        assert_int_equal(extracted.extract.arrays[0].rank, rank);
        assert_memory_equal(extracted.extract.arrays[0].shape, shape, rank * sizeof shape[0]);
        extracted_done(&extracted);

        /* Without any of its last bytes the array has no end. */
        size_t cut = (size_t)(end - text) - draw_size(&draw, 1, (size_t)(end - start));
        assert_false(extracted_init(&extracted, text, cut));
        assert_int_equal(extracted.err.code, ERROR_MALFORMED);
        extracted_done(&extracted);
    }
    free(text);
}

static const struct {
    const char *text;
    enum error_code code;
    const char *message;
} errors[] = {
    {"[1, 2", ERROR_MALFORMED, "line 1, column 6: the text ends before the array opened at line 1, column 1 is closed"},
    {"[", ERROR_MALFORMED, "line 1, column 2: the text ends before the array opened at line 1, column 1 is closed"},
    {"[[\"a\"]", ERROR_MALFORMED, "line 1, column 7: the text ends before the array opened at line 1, column 1 is closed"},
    {"[1, \"]\n", ERROR_MALFORMED, "line 2, column 1: the text ends before the array opened at line 1, column 1 is closed"},
    {"{\n \"a\": {", ERROR_MALFORMED, "line 2, column 8: the text ends before the object opened at line 2, column 7 is closed"},
    {"{\"a\": \"b\\\"", ERROR_MALFORMED,
     "line 1, column 11: the text ends before the string opened at line 1, column 7 is closed"},
    {"\"\\", ERROR_MALFORMED, "line 1, column 3: the text ends before the string opened at line 1, column 1 is closed"},
    {"{\n  \"a\": [\"b\"}", ERROR_MALFORMED,
     "line 2, column 12: expected ']' to close the array opened at line 2, column 8, found '}'"},
    {"{\"a\": 1]", ERROR_MALFORMED, "line 1, column 8: expected '}' to close the object opened at line 1, column 1, found ']'"},
    {"1]", ERROR_MALFORMED, "line 1, column 2: found ']' where nothing is open"},
};

static void errors_say_where(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof errors / sizeof errors[0]; k++) {
        struct extracted extracted;
        assert_false(extracted_init(&extracted, errors[k].text, strlen(errors[k].text)));
        assert_string_equal(extracted.err.text, errors[k].message);
        assert_int_equal(extracted.err.code, errors[k].code);
        extracted_done(&extracted);
    }
}

/* The place is told in the text's own name, and what failed leaves nothing behind. */
static void other_texts_have_a_name(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    struct extract extract;
    memset(&extract, 1, sizeof extract);
    arena_init(&arena, extract_scan_cost());
    error_init(&err);
    assert_false(extract_scan("[1", 2, "the header", &arena, &extract, &err));
    assert_string_equal(err.text,
                        "the header, line 1, column 3: the text ends before the array opened at line 1, column 1 is closed");
    assert_true(extract.text == NULL && extract.document == NULL && extract.array_count == 0);
    arena_done(&arena);
}

/* Left to the reader of the field, which knows its name, to refuse. */
static void deep_arrays_are_extracted(void **state)
{
    (void)state;
    struct extracted extracted;
    const char *text = "{\"a\":[[[[[[[[[1,2]]]]]]]],[]],\"b\":[3]}";
    assert_true(extracted_init(&extracted, text, strlen(text)));
    assert_string_equal(extracted.extract.document, "{\"a\":[0],\"b\":[1]}");
    assert_int_equal(extracted.extract.arrays[0].rank, 9);
    assert_int_equal(extracted.extract.arrays[0].shape[0], 2);
    assert_true(array_check(&extracted.extract, &extracted.extract.arrays[0], "/a", &extracted.err));
    extracted_done(&extracted);
}

/* A text of `count` times `piece`, between `first` and `last`. */
static void check_repeated(const char *first, const char *piece, size_t count, const char *last, const char *limit_name,
                           size_t limit_value)
{
    size_t bytes = strlen(first) + count * strlen(piece) + strlen(last);
    char *text = malloc(bytes + 1);
    assert_non_null(text);
    char *out = text + snprintf(text, bytes + 1, "%s", first);
    for (size_t i = 0; i < count; i++, out += strlen(piece))
        memcpy(out, piece, strlen(piece));
    memcpy(out, last, strlen(last));

    struct extracted extracted;
    bool fits = extracted_init(&extracted, text, bytes);
    if (limit_name == NULL) {
        assert_true(fits);
    } else {
        assert_false(fits);
        assert_int_equal(extracted.err.code, ERROR_TOO_LARGE);
        assert_string_equal(extracted.err.limit_name, limit_name);
        assert_int_equal(extracted.err.limit_value, limit_value);
    }
    extracted_done(&extracted);
    free(text);
}

static void maxima_hold(void **state)
{
    (void)state;
    check_repeated("[null", ",[1]", EXTRACT_ARRAYS_MAX, "]", NULL, 0);
    check_repeated("[null", ",[1]", EXTRACT_ARRAYS_MAX + 1, "]", "number-arrays", EXTRACT_ARRAYS_MAX);
    check_repeated("\"", "x", DOCUMENT_BYTES_MAX - 2, "\"", NULL, 0);
    check_repeated("\"", "x", DOCUMENT_BYTES_MAX - 1, "\"", "envelope-bytes", DOCUMENT_BYTES_MAX);
    check_repeated("\"", "x", DOCUMENT_BYTES_MAX - 2, "\" ", NULL, 0);
    check_repeated("\"", "x", DOCUMENT_BYTES_MAX - 2, "\"[1]", "envelope-bytes", DOCUMENT_BYTES_MAX);
    check_repeated("[", "[", DOCUMENT_DEPTH_MAX, "\"a\"", "nesting-depth", DOCUMENT_DEPTH_MAX);
    check_repeated("", "{\"a\":", DOCUMENT_DEPTH_MAX, "1}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}", NULL, 0);
    check_repeated("", "{\"a\":", DOCUMENT_DEPTH_MAX + 1, "1", "nesting-depth", DOCUMENT_DEPTH_MAX);
    check_repeated("[[1]", ",[1]", 100000, "]", NULL, 0);
    check_repeated("[", " ", 1000000, "1]", NULL, 0);
}

static void nul_bytes_are_refused_outside_of_strings(void **state)
{
    (void)state;
    struct extracted extracted;
    assert_false(extracted_init(&extracted, "{\"a\":\n1\0}", 9));
    assert_string_equal(
        extracted.err.text,
        "line 2, column 2: found a NUL byte (text has none: where binary data follow the JSON, under /v2, send its "
        "length in the header Inference-Header-Content-Length)");
    extracted_done(&extracted);
    assert_true(extracted_init(&extracted, "\"a\0b\"", 5)); /* the JSON library refuses it */
    assert_int_equal(extracted.extract.document_bytes, 5);
    extracted_done(&extracted);
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    struct extract extract;
    arena_init(&arena, DOCUMENT_BYTES_MAX);
    error_init(&err);
    assert_false(extract_scan("[1]", 3, NULL, &arena, &extract, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    arena_done(&arena);

    arena_init(&arena, DOCUMENT_BYTES_MAX + 2 * ARENA_ALIGNMENT_BYTES);
    error_init(&err);
    assert_false(extract_scan("[1]", 3, NULL, &arena, &extract, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    arena_done(&arena);
}

static void document_offsets_lead_back(void **state)
{
    (void)state;
    const char *text = "{ \"a b\" : [ 1 , 2 ] ,\n \"c\":NaN, \"d\" : [[3]] , \"e\": tr  ue , \"f\": [4] } ";
    struct extracted extracted;
    assert_true(extracted_init(&extracted, text, strlen(text)));
    const struct extract *extract = &extracted.extract;
    assert_string_equal(extract->document, "{\"a b\":[0],\"c\":\"NaN\",\"d\":[1],\"e\":tr ue,\"f\":[2]}");
    for (size_t k = 0; k < extract->array_count; k++) {
        const struct json_array_text *array = &extract->arrays[k];
        assert_int_equal(array->document_bytes, 3);
        for (size_t i = 0; i < array->document_bytes; i++)
            assert_int_equal(extract_body_offset(extract, array->document_offset_bytes + i), array->offset_bytes);
    }
    size_t before = 0;
    for (size_t i = 0; i < extract->document_bytes; i++) {
        size_t offset = extract_body_offset(extract, i);
        assert_true(offset >= before && offset < strlen(text));
        before = offset;
        bool placeholder = strchr("[012]", extract->document[i]) != NULL;
        if (!placeholder && text[offset] != extract->document[i]) /* the quotes of "NaN" and the space in tr ue */
            assert_non_null(strchr("NuN", text[offset]));
    }
    assert_int_equal(extract_body_offset(extract, extract->document_bytes), strlen(text));
    extracted_done(&extracted);
}

static void lines_and_columns_count_from_one(void **state)
{
    (void)state;
    static const size_t lines[] = {1, 1, 1, 2, 3, 3, 3}, columns[] = {1, 2, 3, 1, 1, 2, 3};
    for (size_t offset = 0; offset < sizeof lines / sizeof lines[0]; offset++) {
        size_t line, column;
        text_line_column("ab\n\ncd", offset, &line, &column);
        assert_int_equal(line, lines[offset]);
        assert_int_equal(column, columns[offset]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(document_keeps_all_but_number_arrays),
        cmocka_unit_test(arrays_have_kind_and_first_shape),
        cmocka_unit_test(ends_are_found_wherever_blocks_fall),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(other_texts_have_a_name),
        cmocka_unit_test(deep_arrays_are_extracted),
        cmocka_unit_test(maxima_hold),
        cmocka_unit_test(nul_bytes_are_refused_outside_of_strings),
        cmocka_unit_test(no_memory_is_an_error),
        cmocka_unit_test(document_offsets_lead_back),
        cmocka_unit_test(lines_and_columns_count_from_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
