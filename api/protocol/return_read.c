#include "api/protocol/return_read.h"

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
    if (!tensor_input_integers(extract, value, "/pool", 2, 1, INT32_MAX, ret->pool, &count, err))
        return false;
    if (count != 2)
        return error_set_at(err, ERROR_INVALID, "/pool",
                            "an array of %zu, where [m, n] is expected: the rows and columns that pooled_weights shall have",
                            count);
    return true;
}
