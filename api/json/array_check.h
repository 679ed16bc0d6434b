/* arrays.h: what is wrong with the arrays of a text, for errors that were found without reading them.
 *
 * Shapes and fields are held against each other before any array is read, by the shapes that the scan counted. Of a text that is
 * no JSON, or of a ragged array, these mean nothing, and so do errors that come of them. */
#ifndef ATTND_API_JSON_ARRAY_CHECK_H
#define ATTND_API_JSON_ARRAY_CHECK_H

#include <jansson.h>

#include "api/json/extract.h"
#include "core/executor.h"

/* Where `err` may come of an array that is broken, and one of the text is, that becomes the error: the first in the text, with its
 * pointer. Takes the time of reading the arrays, and no memory. `executor` may be NULL; once it is stopped `err` stays. */
void document_explain(const struct extract *extract, const json_t *document, const struct executor *executor,
                      struct error *err);

#endif
