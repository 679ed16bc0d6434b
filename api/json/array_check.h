/* array_check.h: what is wrong with the arrays of a text, for errors that were found without reading them.
 *
 * Shapes and fields are compared before any array is read, using the shapes that extract_scan counted. Where an array is ragged
 * or not JSON its shape means nothing, and neither does an error derived from it: the array's own error is what to report. */
#ifndef ATTND_API_JSON_ARRAY_CHECK_H
#define ATTND_API_JSON_ARRAY_CHECK_H

#include <jansson.h>

#include "api/json/extract.h"
#include "api/json/token.h"
#include "core/executor.h"

/* Finds the errors that array_read would, except a number that only float32 overflows, and keeps nothing of what it reads. An
 * array of more than TENSOR_RANK_MAX axes passes: its field refuses it. */
bool array_check(const struct extract *extract, const struct json_array_text *array, const char *pointer, struct error *err)
    __attribute__((warn_unused_result));

/* Quotes the element at `index`, row-major, of an array that array_read took: as the text has it, not as it was rounded. Returns
 * text. */
char *array_quote(const struct extract *extract, const struct json_array_text *array, size_t index,
                  char text[TOKEN_QUOTE_BYTES_MAX]);

/* Replaces an `err` that a broken array may have caused by that array's error, if the text holds one: the first, with its
 * pointer; one of the same kind at the same place stays, for its field knows more. Takes as long as reading every array, and no memory. `executor` may be NULL; once it is stopped `err` stays. */
void array_check_explain(const struct extract *extract, const json_t *document, const struct executor *executor,
                         struct error *err);

/* The same for a text whose document was freed: parses it again, into memory from the arena. Does nothing where `extract` is NULL
 * or of no text, or where there is no error. */
void array_check_explain_text(const struct extract *extract, struct arena *arena, const struct executor *executor,
                              struct error *err);

#endif
