#include "api/protocol/safetensors_metadata.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/json/document.h"
#include "api/json/library_names.h"
#include "api/json/suggest.h"
#include "api/protocol/attention_read.h"

#define INTO_REQUEST                                                                                                           \
    "fields are members of the JSON in \"request\", as metadata={\"request\": json.dumps({\"%.40s\": ..})} in Python"

static bool is_field(const char *name, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (strcasecmp(name, names[i]) == 0)
            return true;
    return false;
}

/* safetensors' own writers say {"format": "pt"}, which is no reply's format. */
static bool is_file_format(const char *name, const char *text)
{
    return strcasecmp(name, "format") == 0 && strcmp(text, "nested") != 0 && strcmp(text, "flat") != 0;
}

/* Another library's name for a field, where it is no everyday word. */
static const char *field_meant(const char *name, const char *const *names)
{
    const struct library_name *known = strchr(name, '_') == NULL ? NULL : library_name_find(name, names);
    return known == NULL ? NULL : known->ours;
}

/* "requests", "Request", "reqeust". */
static bool is_like_request(const char *name)
{
    static const char *const names[] = {"request", NULL};
    return strncasecmp(name, "request", strlen("request")) == 0 || suggest_nearest(name, names) != NULL;
}

/* Whether a text is an object that names two fields, or one alone. */
static bool holds_fields(const char *text, const char *const *names)
{
    size_t count = 0;
    text += strspn(text, " \t\r\n");
    if (*text != '{')
        return false;
    for (size_t i = 0; names[i] != NULL; i++) {
        char quoted[64];
        (void)snprintf(quoted, sizeof quoted, "\"%s\"", names[i]);
        count += strstr(text, quoted) != NULL;
    }
    return count >= 2 || (count == 1 && strchr(text, ',') == NULL);
}

/* What requests and replies have there. */
static bool is_ours(const char *name)
{
    static const char *const names[] = {"request", "compare", "applied", "warnings", "comparison"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

static bool check_one(const char *name, const char *text, const char *const *names, struct error *err)
{
    char place[ERROR_POINTER_BYTES_MAX];
    const char *meant = field_meant(name, names);
    pointer_append("/__metadata__", name, place, sizeof place);
    if (is_ours(name) || is_file_format(name, text))
        return true;
    if (is_field(name, names))
        return error_set_at(err, ERROR_INVALID, place, "%.60s is not read beside request: " INTO_REQUEST, name, name);
    if (meant != NULL)
        return error_set_at(err, ERROR_INVALID, place, "%.60s is not read here; did you mean %s? " INTO_REQUEST, name, meant,
                            meant);
    if (is_like_request(name) || holds_fields(text, names))
        return error_set_at(err, ERROR_INVALID, place, "%.60s: not read; did you mean request? " INTO_REQUEST, name, "causal");
    return true;
}

bool safetensors_metadata_check(const json_t *metadata, struct error *err)
{
    const char *names[ATTENTION_FIELDS_MAX + 1];
    const char *name;
    json_t *value;
    attention_field_names(names);
    json_object_foreach((json_t *)metadata, name, value)
    {
        const char *text = json_string_value(value);
        if (!check_one(name, text == NULL ? "" : text, names, err))
            return false;
    }
    return true;
}
