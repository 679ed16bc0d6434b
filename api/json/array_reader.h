/* array_reader.h: an array being read, or a part of one. Internal to array_*.c. */
#ifndef ATTND_API_JSON_ARRAY_READER_H
#define ATTND_API_JSON_ARRAY_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/json/extract.h"

struct array_reader {
    const struct extract *extract;
    const char *first; /* of the array's text, its '[' */
    const char *end;   /* of the array's text, whose last byte is its ']' */
    const struct json_array_text *array;
    enum dtype dtype;
    const char *pointer;
    struct error *err;
    size_t index[TENSOR_RANK_MAX]; /* of the element being read along each axis that is open */
};

static inline void array_reader_init(struct array_reader *ret, const struct extract *extract,
                                     const struct json_array_text *array, enum dtype dtype, const char *pointer,
                                     struct error *err)
{
    const char *first = extract->text + array->offset_bytes;
    *ret = (struct array_reader){extract, first, first + array->text_bytes, array, dtype, pointer, err, {0}};
}

/* Reads elements [first, last) to `ret_data`, contiguous. `at` is at the array's '[' where first is 0, else after the comma
 * before that element. Returns the first byte after the comma that follows the last element, or after the array; NULL with the
 * error set. */
const char *array_read_elements(struct array_reader *reader, size_t first, size_t last, const char *at, void *ret_data);

#endif
