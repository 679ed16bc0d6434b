#include "api/compare/compare_read.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/json/document.h"
#include "api/protocol/media_type.h"
#include "api/protocol/safetensors.h"
#include "core/size.h"

bool compare_request_error(const struct comparison *comparison, struct error *err)
{
    char pointer[ERROR_POINTER_BYTES_MAX];
    if (comparison->is_binary)
        return false;
    (void)snprintf(pointer, sizeof pointer, "/request%.*s", (int)(ERROR_POINTER_BYTES_MAX - sizeof "/request"), err->pointer);
    memcpy(err->pointer, pointer, sizeof err->pointer);
    return false;
}

static bool decode_expected(struct comparison *comparison, const json_t *value, struct error *err)
{
    const char *names[RESULTS + 1] = {NULL};
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++)
        names[i - RESULT_OUTPUT] = request_result_names[i];
    if (!json_is_object(value))
        return document_refuse(comparison->extract, value, "/expected", "an object of tensors, as {\"output\": [..]},", err);
    if (!document_known(value, "/expected", names, err))
        return false;
    for (size_t i = RESULT_OUTPUT; i <= RESULT_LSE; i++) {
        const json_t *tensor = document_member(value, request_result_names[i]);
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        (void)snprintf(pointer, sizeof pointer, "/expected/%s", request_result_names[i]);
        if (tensor != NULL && !tensor_input_read(comparison->extract, tensor, pointer, TENSOR_INPUT_NUMBERS,
                                                 &comparison->expected.inputs[i], err))
            return false;
    }
    return true;
}

static bool decode_bound(const struct extract *extract, const json_t *object, const char *name, double *ret, struct error *err)
{
    char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
    const json_t *value = document_member(object, name);
    (void)snprintf(pointer, sizeof pointer, "/tolerance/%s", name);
    if (value == NULL)
        return true;
    if (!document_number(extract, value, pointer, ret, err))
        return false;
    return *ret >= 0 || document_refuse(extract, value, pointer, "a number of at least 0", err);
}

static bool decode_tolerance(struct comparison *comparison, const struct extract *extract, const json_t *value,
                             struct error *err)
{
    static const char *const names[] = {"absolute", "relative", NULL};
    double absolute = 0, relative = 0;
    if (!json_is_object(value))
        return document_refuse(extract, value, "/tolerance", "an object with absolute and relative", err);
    if (!document_known(value, "/tolerance", names, err) || !decode_bound(extract, value, "absolute", &absolute, err) ||
        !decode_bound(extract, value, "relative", &relative, err))
        return false;
    comparison->expected.has_tolerance = true;
    for (size_t i = 0; i < RESULTS; i++) {
        comparison->expected.absolute[i] = absolute;
        comparison->expected.relative[i] = relative;
    }
    return true;
}

static bool decode_only(struct comparison *comparison, const struct extract *extract, const json_t *value, struct error *err)
{
    const char *names[CONVENTIONS_MAX + 1];
    const struct json_array_text *extracted = document_array(extract, value);
    convention_names(names);
    if (!json_is_array(value) || extracted != NULL)
        return document_refuse(extract, value, "/search/only", "an array of names, as [\"scale\", \"causal\"],", err);
    memset(comparison->only, 0, sizeof comparison->only);
    for (size_t i = 0; i < json_array_size(value); i++) {
        char pointer[TENSOR_INPUT_POINTER_BYTES_MAX];
        size_t choice = 0;
        (void)snprintf(pointer, sizeof pointer, "/search/only/%zu", i);
        if (!document_choice(extract, json_array_get(value, i), pointer, names, &choice, err))
            return false;
        comparison->only[choice] = true;
    }
    return true;
}

static bool decode_search(struct comparison *comparison, const struct extract *extract, const json_t *value, struct error *err)
{
    static const char *const names[] = {"pairs", "only", NULL};
    if (!json_is_object(value))
        return document_refuse(extract, value, "/search", "an object with pairs and only", err);
    if (!document_known(value, "/search", names, err))
        return false;
    const json_t *pairs = document_member(value, "pairs"), *only = document_member(value, "only");
    return (pairs == NULL || document_bool(extract, pairs, "/search/pairs", &comparison->pairs, err)) &&
           (only == NULL || decode_only(comparison, extract, only, err));
}

static bool decode_options(struct comparison *comparison, const struct extract *extract, const json_t *document,
                           struct error *err)
{
    const json_t *tolerance = document_member(document, "tolerance"), *search = document_member(document, "search");
    const json_t *is_case = document_member(document, "case");
    if (is_case != NULL && !document_bool(extract, is_case, "/case", &comparison->is_case, err))
        return false;
    if (document_member(document, "comparison") != NULL) /* a case, sent again: its old result is not looked at */
        comparison->is_case = false;
    return (tolerance == NULL || decode_tolerance(comparison, extract, tolerance, err)) &&
           (search == NULL || decode_search(comparison, extract, search, err));
}

/* {"request", "expected", ..}. */
static bool decode(struct comparison *comparison, const json_t *document, struct error *err)
{
    static const char *const names[] = {"request", "expected", "tolerance", "search", "case", "comparison", NULL};
    if (!json_is_object(document))
        return document_refuse(comparison->extract, document, "", "an object with request and expected", err);
    if (!document_known(document, "", names, err))
        return false;
    const json_t *request = document_member(document, "request"), *expected = document_member(document, "expected");
    if (request == NULL || expected == NULL)
        return error_set_at(err, ERROR_INVALID, "",
                            "%s is missing: send the request, as to POST /attention, and what your code made of it as expected",
                            request == NULL ? "request" : "expected");
    if (!attention_read_fields(comparison->extract, request, &comparison->request, &comparison->reply, err))
        return compare_request_error(comparison, err);
    return decode_expected(comparison, expected, err) && decode_options(comparison, comparison->extract, document, err);
}

/* __metadata__.compare: what is neither request nor expected. */
static bool read_options(struct comparison *comparison, const char *text, size_t text_bytes, struct arena *arena,
                         struct error *err)
{
    static const char *const names[] = {"tolerance", "search", "case", NULL};
    struct extract extract;
    json_t *document = NULL;
    bool done = document_read(text, text_bytes, "__metadata__.compare", arena, &extract, &document, err) &&
                (json_is_object(document) || document_refuse(&extract, document, "", "an object", err)) &&
                document_known(document, "", names, err) && decode_options(comparison, &extract, document, err);
    document_done(document);
    return done;
}

static bool read_binary(const struct api_request *sent, struct arena *arena, struct comparison *ret, struct error *err)
{
    struct safetensors_comparison *file = arena_alloc(arena, sizeof *file, err);
    if (file == NULL)
        return false;
    *file = (struct safetensors_comparison){0};
    ret->is_binary = true;
    if (!safetensors_read_comparison(sent, arena, ret->extract, &ret->request, &ret->reply, file, err))
        return false;
    memcpy(ret->expected.inputs, file->expected, sizeof file->expected);
    if (file->options != NULL && !read_options(ret, file->options, file->options_bytes, arena, err))
        return false;
    ret->is_case &= !file->is_compared;
    return true;
}

static bool read_text(const struct api_request *sent, struct arena *arena, struct comparison *ret, struct error *err)
{
    json_t *document = NULL;
    bool done =
        document_read(sent->body, sent->body_bytes, NULL, arena, ret->extract, &document, err) && decode(ret, document, err);
    document_done(document);
    return done;
}

size_t compare_read_cost(void)
{
    return size_add(size_multiply(4, document_cost()), arena_cost(sizeof(struct extract)) +
                                                           arena_cost(sizeof(struct safetensors_comparison)) +
                                                           arena_cost(4 * DOCUMENT_BYTES_MAX + EXTRACT_STRING_BYTES_MAX));
}

bool compare_read(const struct api_request *sent, struct arena *arena, struct comparison *ret, struct error *err)
{
    *ret = (struct comparison){0};
    for (size_t i = 0; i < CONVENTIONS_MAX; i++)
        ret->only[i] = true;
    ret->extract = arena_alloc(arena, sizeof *ret->extract, err);
    if (ret->extract == NULL)
        return false;
    *ret->extract = (struct extract){0}; /* until the text is scanned */
    bool binary = media_type_is(sent->content_type, SAFETENSORS_TYPE);
    return (binary ? read_binary : read_text)(sent, arena, ret, err);
}
