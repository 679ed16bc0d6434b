#include "api/protocol/query_fields.h"

#include <string.h>

#include "api/protocol/attention_read.h"

bool query_fields_check(const char *query, struct error *err)
{
    const char *names[ATTENTION_FIELDS_MAX + 1];
    attention_field_names(names);
    while (*query != '\0') {
        size_t length = strcspn(query, "=&");
        for (size_t i = 0; names[i] != NULL; i++)
            if (strlen(names[i]) == length && memcmp(names[i], query, length) == 0)
                return error_set(err, ERROR_INVALID,
                                 "%s stands in the path's query, where it changes nothing: fields are read from the body alone",
                                 names[i]);
        query += strcspn(query, "&");
        query += *query == '&';
    }
    return true;
}
