/* document.h: the small JSON that is left once number arrays are extracted, read with jansson.
 *
 * Every getter takes the field's JSON Pointer and, on failure, says what was found and what is expected. */
#ifndef ATTND_API_JSON_DOCUMENT_H
#define ATTND_API_JSON_DOCUMENT_H

#include <jansson.h>
#include <stdint.h>

#include "api/json/extract.h"
#include "core/arena.h"
#include "core/error.h"

/* What extract_scan and then document_parse take of their arena at most. */
size_t document_cost(void);

/* Parses the document, into memory from the arena. The caller owns *ret: document_done.
 * Fails    malformed (with line and column in the body); invalid for a duplicate key or an integer past 64 bits. */
bool document_parse(const struct extract *extract, struct arena *arena, json_t **ret, struct error *err)
    __attribute__((warn_unused_result));

/* Both: extracts the arrays of a text, and parses what is left. `name` as in extract_scan.
 * Fails    as the two do. */
bool document_read(const char *text, size_t text_bytes, const char *name, struct arena *arena, struct extract *extract,
                   json_t **ret, struct error *err) __attribute__((warn_unused_result));

/* Frees it; NULL is allowed. Of several documents the one parsed last is freed first. */
void document_done(json_t *document);

/* The extracted array that a value of the document stands for; NULL where it stands for none. */
const struct json_array_text *document_array(const struct extract *extract, const json_t *value);

/* Sets "<what was found>, where <expected> is expected" at `pointer`, with a remark where it is known what was found
 * (dialect.h); always returns false. */
bool document_refuse(const struct extract *extract, const json_t *value, const char *pointer, const char *expected,
                     struct error *err);

/* As document_refuse, with the one of `choices` (NULL-terminated) that a string may have meant. */
bool document_refuse_choice(const struct extract *extract, const json_t *value, const char *pointer, const char *expected,
                            const char *const *choices, struct error *err);

/* The member `name`; NULL where it is absent, or null, which is how some languages leave a member out. */
const json_t *document_member(const json_t *object, const char *name);

/* Fails on the first member of `object` whose name is not in `names` (NULL-terminated), with the name that was meant
 * (suggest.h). */
bool document_known(const json_t *object, const char *pointer, const char *const *names, struct error *err)
    __attribute__((warn_unused_result));

bool document_integer(const struct extract *extract, const json_t *value, const char *pointer, int64_t min, int64_t max,
                      int64_t *ret, struct error *err) __attribute__((warn_unused_result));
bool document_number(const struct extract *extract, const json_t *value, const char *pointer, double *ret, struct error *err)
    __attribute__((warn_unused_result));
bool document_bool(const struct extract *extract, const json_t *value, const char *pointer, bool *ret, struct error *err)
    __attribute__((warn_unused_result));

/* One of `choices` (NULL-terminated): its index. */
bool document_choice(const struct extract *extract, const json_t *value, const char *pointer, const char *const *choices,
                     size_t *ret, struct error *err) __attribute__((warn_unused_result));

/* Appends "/name" to a pointer, with ~ and / escaped (RFC 6901). */
void pointer_append(const char *pointer, const char *name, char *ret, size_t ret_bytes);

#endif
