/* envelope.h: the small JSON that is left once the arrays are lifted, read with jansson.
 *
 * Every getter takes the field's JSON Pointer and, on failure, says what was found and what was expected. */
#ifndef ATTND_API_ENVELOPE_H
#define ATTND_API_ENVELOPE_H

#include <jansson.h>
#include <stdint.h>

#include "api/lift.h"
#include "core/arena.h"
#include "core/error.h"

/* What lift_scan and then envelope_parse take of their arena at the most. */
size_t envelope_cost(void);

/* Parses the envelope, into memory from the arena. The caller owns *ret: envelope_done.
 * Fails    malformed (with line and column in the body); invalid for a duplicate key or an integer past 64 bits. */
bool envelope_parse(const struct lift *lift, struct arena *arena, json_t **ret, struct error *err)
    __attribute__((warn_unused_result));

/* Frees it; NULL is allowed. Of several envelopes the last one parsed goes first. */
void envelope_done(json_t *envelope);

/* Sets "<what was found>, where <expected> is expected" at `pointer`; always returns false. */
bool envelope_refuse(const struct lift *lift, const json_t *value, const char *pointer, const char *expected,
                     struct error *err);

/* The member `name`; NULL where it is absent, or null, which is how some languages leave a member out. */
const json_t *envelope_member(const json_t *object, const char *name);

/* Fails on the first member of `object` whose name is not in `names` (NULL-terminated), with the nearest known name. */
bool envelope_known(const json_t *object, const char *pointer, const char *const *names, struct error *err)
    __attribute__((warn_unused_result));

/* Sets "no such field", with the nearest of `names`; always returns false. */
bool envelope_unknown(const char *name, const char *pointer, const char *const *names, struct error *err);

bool envelope_integer(const struct lift *lift, const json_t *value, const char *pointer, int64_t min, int64_t max, int64_t *ret,
                      struct error *err) __attribute__((warn_unused_result));
bool envelope_number(const struct lift *lift, const json_t *value, const char *pointer, double *ret, struct error *err)
    __attribute__((warn_unused_result));
bool envelope_bool(const struct lift *lift, const json_t *value, const char *pointer, bool *ret, struct error *err)
    __attribute__((warn_unused_result));

/* One of `choices` (NULL-terminated): its index. */
bool envelope_choice(const struct lift *lift, const json_t *value, const char *pointer, const char *const *choices, size_t *ret,
                     struct error *err) __attribute__((warn_unused_result));

/* Appends "/name" to a pointer, with ~ and / escaped (RFC 6901). */
void pointer_append(const char *pointer, const char *name, char *ret, size_t ret_bytes);

#endif
