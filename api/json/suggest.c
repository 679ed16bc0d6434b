#include "api/json/suggest.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "api/json/library_names.h"
#include "core/size.h"

#define NAME_BYTES_MAX 48 /* longer names resemble none of ours */
#define NAMES_LISTED_MAX 12
#define CHOICE_LETTERS_MIN 4   /* of shorter words most are near to others: I32 to F32 */
#define EXPECTED_BYTES_MAX 520 /* with the name within ERROR_TEXT_BYTES_MAX */

/* How many letters to insert, delete or replace to get from one name to the other (Levenshtein 1966), ignoring case. */
static size_t edits(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1];
    size_t b_length = strlen(b);
    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            bool same = tolower((unsigned char)a[i]) == tolower((unsigned char)b[j]);
            size_t change = diagonal + (same ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = size_min(change, size_min(row[j], diagonal) + 1);
        }
    }
    return row[b_length];
}

/* The one that follows the last ".", as of torch.float32. */
static const char *same_last_part(const char *name, const char *const *names)
{
    const char *point = strrchr(name, '.');
    for (size_t i = 0; point != NULL && names[i] != NULL; i++)
        if (strcmp(point + 1, names[i]) == 0)
            return names[i];
    return NULL;
}

static const char *nearest_letters(const char *name, const char *const *names, size_t fewest)
{
    const char *nearest = NULL;
    for (size_t i = 0; names[i] != NULL; i++) {
        size_t count = edits(name, names[i]);
        if (count <= fewest && count < strlen(names[i]) && (nearest == NULL || count < edits(name, nearest)))
            nearest = names[i];
    }
    return nearest;
}

const char *suggest_nearest(const char *name, const char *const *names)
{
    if (strlen(name) > NAME_BYTES_MAX)
        return NULL;
    const struct library_name *known = library_name_find(name, names);
    if (known != NULL)
        return known->kind == LIBRARY_NAME_RENAMED ? known->ours : NULL;
    const char *same = same_last_part(name, names);
    return same != NULL ? same : nearest_letters(name, names, strlen(name) / 3 + 1); /* a third may be wrong */
}

/* Fewer letters may be wrong than in a name: INT32 is not INT64. */
static const char *nearest_choice(const char *name, const char *const *choices)
{
    if (strlen(name) > NAME_BYTES_MAX)
        return NULL;
    for (size_t i = 0; choices[i] != NULL; i++)
        if (library_name_is_same(name, choices[i]))
            return choices[i];
    if (strlen(name) < CHOICE_LETTERS_MIN)
        return NULL;
    const char *same = same_last_part(name, choices);
    return same != NULL ? same : nearest_letters(name, choices, (strlen(name) + 1) / 4);
}

const char *suggest_choice(const char *name, const char *const *choices, char ret[SUGGEST_CHOICE_BYTES_MAX])
{
    const struct library_name *known = strlen(name) > NAME_BYTES_MAX ? NULL : library_name_find(name, choices);
    const char *nearest = known != NULL ? known->ours : nearest_choice(name, choices);
    ret[0] = '\0';
    if (known != NULL && known->kind == LIBRARY_NAME_ANSWERED)
        (void)snprintf(ret, SUGGEST_CHOICE_BYTES_MAX, " (%s)", known->advice);
    else if (nearest != NULL)
        (void)snprintf(ret, SUGGEST_CHOICE_BYTES_MAX, "; did you mean \"%s\"?", nearest);
    return ret;
}

/* "expected a, b or c" of a few names; "the fields are: .." of many. */
static const char *expected_names(const char *const *names, char text[EXPECTED_BYTES_MAX])
{
    size_t count = 0, used = 0;
    while (names[count] != NULL)
        count++;
    const bool many = count > NAMES_LISTED_MAX;
    used = (size_t)snprintf(text, EXPECTED_BYTES_MAX, many ? "the names are " : "expected ");
    for (size_t i = 0; i < count && used < EXPECTED_BYTES_MAX; i++)
        used += (size_t)snprintf(text + used, EXPECTED_BYTES_MAX - used, "%s%s",
                                 i == 0          ? ""
                                 : i + 1 < count ? ", "
                                 : many          ? " and "
                                                 : " or ",
                                 names[i]);
    return text;
}

bool suggest_refuse(const char *name, const char *pointer, const char *const *names, struct error *err)
{
    char expected[EXPECTED_BYTES_MAX];
    const struct library_name *known = strlen(name) > NAME_BYTES_MAX ? NULL : library_name_find(name, names);
    const char *nearest = known == NULL ? suggest_nearest(name, names) : known->ours;
    if (known != NULL && known->kind == LIBRARY_NAME_ANSWERED)
        return error_set_at(err, ERROR_INVALID, pointer, "%.60s: no such field: %s", name, known->advice);
    if (nearest == NULL)
        return error_set_at(err, ERROR_INVALID, pointer, "%.60s: no such field; %s", name, expected_names(names, expected));
    const char *advice = known == NULL || known->advice == NULL ? "" : known->advice;
    return error_set_at(err, ERROR_INVALID, pointer, "%.60s: no such field; did you mean %s?%s%s", name, nearest,
                        advice[0] == '\0' ? "" : " ", advice);
}
