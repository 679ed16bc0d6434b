#include "api/protocol/return_read.h"

#include <inttypes.h>
#include <string.h>

#include "api/json/document.h"
#include "api/json/writer.h"

bool return_read(const struct extract *extract, const json_t *value, struct request *ret, struct error *err)
{
    const struct json_array_text *extracted = document_array(extract, value);
    memset(ret->results, 0, sizeof ret->results);
    if (extracted != NULL && extracted->kind == JSON_ARRAY_EMPTY && extracted->rank == 1)
        return true;
    if (!json_is_array(value) || extracted != NULL)
        return document_refuse(extract, value, "/return", "an array of names, as [\"output\", \"weights\"]", err);
    for (size_t i = 0; i < json_array_size(value); i++) {
        char place[TENSOR_INPUT_POINTER_BYTES_MAX];
        struct writer writer;
        size_t choice = 0;
        writer_init(&writer, place, sizeof place);
        writer_add(&writer, "/return/");
        writer_unsigned(&writer, i);
        writer_end(&writer);
        if (!document_choice(extract, json_array_get(value, i), place, request_result_names, &choice, err))
            return false;
        ret->results[choice] = true;
        ret->result_places[choice] = i;
    }
    return true;
}

bool return_read_pool(const struct extract *extract, const json_t *value, struct request *ret, struct error *err)
{
    size_t count = 0;
    if (!json_is_array(value))
        return document_refuse(extract, value, "/pool", "[m, n], the rows and columns that pooled_weights shall have,", err);
    if (!tensor_input_integers(extract, value, "/pool", 2, 1, INT32_MAX, ret->pool, &count, err))
        return false;
    if (count != 2)
        return error_set_at(err, ERROR_INVALID, "/pool",
                            "an array of %zu, where [m, n] is expected: the rows and columns that pooled_weights shall have",
                            count);
    return true;
}

/* [start, end], which goes on up to `end`. */
static bool read_range(const struct extract *extract, const json_t *value, const char *pointer, bool *ret_has, int64_t ret[2],
                       struct error *err)
{
    size_t count = 0;
    *ret_has = value != NULL;
    if (value == NULL)
        return true;
    if (!json_is_array(value))
        return document_refuse(extract, value, pointer, "[start, end], which ends before end,", err);
    if (!tensor_input_integers(extract, value, pointer, 2, 0, INT32_MAX, ret, &count, err))
        return false;
    if (count == 2 && ret[0] >= ret[1])
        return error_set_at(err, ERROR_INVALID, pointer, "[%" PRId64 ", %" PRId64 "], where the end is above the start", ret[0],
                            ret[1]);
    if (count != 2)
        return error_set_at(
            err, ERROR_INVALID, pointer,
            "an array of %zu, where [start, end] with start below end is expected: start and what follows it up "
            "to end, which is left out",
            count);
    return true;
}

static bool read_heads(const struct extract *extract, const json_t *value, struct request_select *ret, struct error *err)
{
    int64_t heads[REQUEST_SELECT_HEADS_MAX];
    ret->has_heads = value != NULL;
    if (value == NULL)
        return true;
    if (!tensor_input_integers(extract, value, "/select/heads", REQUEST_SELECT_HEADS_MAX, 0, INT32_MAX - 1, heads,
                               &ret->head_count, err))
        return false;
    for (size_t i = 0; i < ret->head_count; i++)
        ret->heads[i] = (int32_t)heads[i];
    if (ret->head_count == 0)
        return error_set_at(err, ERROR_INVALID, "/select/heads", "no heads: leave heads out for all");
    return true;
}

bool return_read_select(const struct extract *extract, const json_t *value, struct request *ret, struct error *err)
{
    static const char *const names[] = {"heads", "queries", "keys", NULL};
    struct request_select *select = &ret->select;
    if (!json_is_object(value))
        return document_refuse(extract, value, "/select", "an object, as {\"heads\": [0], \"queries\": [0, 8]},", err);
    if (!document_known(value, "/select", names, err))
        return false;
    select->given = true;
    return read_heads(extract, document_member(value, "heads"), select, err) &&
           read_range(extract, document_member(value, "queries"), "/select/queries", &select->has_queries, select->queries,
                      err) &&
           read_range(extract, document_member(value, "keys"), "/select/keys", &select->has_keys, select->keys, err);
}
