/* Any bytes, extracted and read in every dtype. Then jansson, which makes a tree of the whole text, is the judge of the
 * document, the numbers, and what is JSON at all. */
#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/array_check.h"
#include "api/json/extract.h"
#include "core/size.h"
#include "tests/support/fuzz.h"

#define ELEMENTS_MAX 65536 /* a ragged array's first shape may promise more than its text holds */
#define JANSSON_FLAGS (JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL)

/* Reads into memory of just the array's size. Returns it, or NULL where the array is refused. */
static void *read_array(const struct extract *extract, const struct json_array_text *array, enum dtype dtype, struct error *err)
{
    error_init(err);
    if (array->rank > TENSOR_RANK_MAX) {
        CHECK(array_check(extract, array, "/x", err));
        return NULL;
    }
    size_t count = shape_count(array->rank, array->shape);
    if (count > ELEMENTS_MAX)
        return NULL;
    void *data = malloc(size_max(count * dtype_bytes(dtype), 1));
    CHECK(data != NULL);
    bool is_read = array_read(extract, array, dtype, "/x", data, err);
    if (dtype == (array->kind == JSON_ARRAY_BOOLS ? DTYPE_BOOL : DTYPE_F64)) {
        struct error checked;
        error_init(&checked);
        CHECK(array_check(extract, array, "/x", &checked) == is_read);
        CHECK(strcmp(checked.text, err->text) == 0 && strcmp(checked.pointer, err->pointer) == 0);
    }
    if (is_read) {
        CHECK(err->code == ERROR_NONE);
        return data;
    }
    CHECK(err->code == ERROR_MALFORMED || err->code == ERROR_INVALID);
    CHECK(strncmp(err->pointer, "/x", 2) == 0);
    for (const char *c = err->text; *c != '\0'; c++)
        CHECK(*c >= ' ' && *c <= '~');
    free(data);
    return NULL;
}

/* Whether it stands for a extracted array; then *ret is which. */
static bool is_placeholder(const json_t *document, size_t *ret)
{
    if (!json_is_array(document) || json_array_size(document) != 1 || !json_is_integer(json_array_get(document, 0)))
        return false;
    *ret = (size_t)json_integer_value(json_array_get(document, 0));
    return true;
}

/* Each extracted array has one placeholder, in the order of the text. `next` counts them. */
static void check_placeholders(const json_t *document, size_t *next)
{
    size_t index;
    if (is_placeholder(document, &index)) {
        CHECK(index == (*next)++);
    } else if (json_is_array(document)) {
        for (size_t i = 0; i < json_array_size(document); i++)
            check_placeholders(json_array_get(document, i), next);
    } else if (json_is_object(document)) {
        for (void *at = json_object_iter((json_t *)document); at != NULL; at = json_object_iter_next((json_t *)document, at))
            check_placeholders(json_object_iter_value(at), next);
    }
}

static bool value_of(const json_t *json, double *ret)
{
    static const char *const names[] = {"NaN", "nan", "Infinity", "inf", "-Infinity", "-inf"};
    static const double values[] = {NAN, NAN, INFINITY, INFINITY, -INFINITY, -INFINITY};
    if (json_is_number(json)) {
        *ret = json_number_value(json);
        return true;
    }
    for (size_t i = 0; json_is_string(json) && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(json_string_value(json), names[i]) == 0) {
            *ret = values[i];
            return true;
        }
    }
    return false;
}

/* Whether the tree is an array of the shape, of what the dtype reads. Appends its elements to `data` where that is not
 * NULL: there they are compared. */
static bool tree_fits(const json_t *json, size_t rank, const size_t *shape, enum dtype dtype, const void *data, size_t *next)
{
    if (rank > 0) {
        if (!json_is_array(json) || json_array_size(json) != shape[0])
            return false;
        bool fits = true;
        for (size_t i = 0; fits && i < shape[0]; i++)
            fits = tree_fits(json_array_get(json, i), rank - 1, shape + 1, dtype, data, next);
        return fits;
    }
    double value = json_is_true(json);
    if (dtype == DTYPE_BOOL ? !json_is_boolean(json) : !value_of(json, &value))
        return false;
    if (data != NULL && dtype == DTYPE_BOOL) {
        CHECK(((const uint8_t *)data)[*next] == (uint8_t)value);
    } else if (data != NULL) {
        double read = ((const double *)data)[*next];
        CHECK(isnan(value) ? isnan(read) : read == value);
    }
    (*next)++;
    return true;
}

static void check_array(const struct extract *extract, const struct json_array_text *array, const json_t *tree)
{
    CHECK(json_is_array(tree));
    if (array->rank > TENSOR_RANK_MAX || shape_count(array->rank, array->shape) > ELEMENTS_MAX)
        return;
    static const enum dtype dtypes[] = {DTYPE_F64, DTYPE_BOOL};
    for (size_t k = 0; k < 2; k++) {
        struct error err;
        size_t next = 0;
        void *data = read_array(extract, array, dtypes[k], &err);
        CHECK(tree_fits(tree, array->rank, array->shape, dtypes[k], data, &next) == (data != NULL));
        CHECK(data != NULL || err.code == ERROR_INVALID); /* it is JSON, so it is not malformed */
        free(data);
    }
}

/* The document's tree against the text's: the same but for extracted arrays. */
static void check_tree(const struct extract *extract, const json_t *document, const json_t *tree)
{
    size_t index;
    if (is_placeholder(document, &index)) {
        check_array(extract, &extract->arrays[index], tree);
    } else if (json_is_array(document)) {
        CHECK(json_is_array(tree) && json_array_size(tree) == json_array_size(document));
        for (size_t i = 0; i < json_array_size(tree); i++)
            check_tree(extract, json_array_get(document, i), json_array_get(tree, i));
    } else if (json_is_object(document)) {
        CHECK(json_is_object(tree) && json_object_size(tree) == json_object_size(document));
        for (void *at = json_object_iter((json_t *)document); at != NULL; at = json_object_iter_next((json_t *)document, at))
            check_tree(extract, json_object_iter_value(at),
                       json_object_getn(tree, json_object_iter_key(at), json_object_iter_key_len(at)));
    } else {
        CHECK(json_equal(document, tree));
    }
}

static void check_offsets(const struct extract *extract)
{
    size_t before = 0;
    for (size_t i = 0; i <= extract->document_bytes; i++) {
        size_t offset = extract_body_offset(extract, i);
        CHECK(offset >= before && offset <= extract->text_bytes);
        before = offset;
    }
    for (size_t k = 0; k < extract->array_count; k++)
        CHECK(extract_body_offset(extract, extract->arrays[k].document_offset_bytes) == extract->arrays[k].offset_bytes);
}

/* Whether every array is one of numbers or one of booleans; reads each in each dtype. */
static bool read_all(const struct extract *extract)
{
    bool all = true;
    for (size_t k = 0; k < extract->array_count; k++) {
        bool any = false;
        for (enum dtype dtype = DTYPE_F32; dtype <= DTYPE_BOOL; dtype++) {
            struct error err;
            void *data = read_array(extract, &extract->arrays[k], dtype, &err);
            any |= data != NULL;
            free(data);
        }
        all &= any;
    }
    return all;
}

static bool has(const uint8_t *data, size_t size, const char *word)
{
    return memmem(data, size, word, strlen(word)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct arena arena;
    struct error err;
    struct extract extract;
    arena_init(&arena, extract_scan_cost());
    error_init(&err);
    bool scanned = extract_scan((const char *)data, size, NULL, &arena, &extract, &err);
    CHECK(scanned == (err.code == ERROR_NONE));

    json_error_t error = {0};
    bool has_nul = memchr(data, 0, size) != NULL; /* jansson 2.14 drops one that follows a number */
    json_t *tree = has_nul ? NULL : json_loadb((const char *)data, size, JANSSON_FLAGS, &error);
    if (!scanned) {
        CHECK(tree == NULL || err.code == ERROR_TOO_LARGE || err.code == ERROR_INVALID);
    } else {
        json_t *document = json_loadb(extract.document, extract.document_bytes, JANSSON_FLAGS, NULL);
        bool is_read = read_all(&extract);
        check_offsets(&extract);
        size_t placeholders = 0;
        check_placeholders(document, &placeholders);
        CHECK(document == NULL || placeholders == extract.array_count);
        if (tree != NULL) {
            CHECK(document != NULL);
            check_tree(&extract, document, tree);
        } else if (document != NULL && is_read) {
            /* More than JSON: the non-finite tokens, and integers of any size. */
            CHECK(has(data, size, "NaN") || has(data, size, "Infinity") ||
                  json_error_code(&error) == json_error_numeric_overflow);
        }
        json_decref(document);
    }
    json_decref(tree);
    arena_done(&arena);
    return 0;
}
