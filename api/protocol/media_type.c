#include "api/protocol/media_type.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static size_t type_length(const char *value)
{
    return strcspn(value, ";, \t");
}

bool media_type_is(const char *content_type, const char *type)
{
    return content_type != NULL && type_length(content_type) == strlen(type) &&
           strncasecmp(content_type, type, strlen(type)) == 0;
}

bool media_type_may_be_json(const char *content_type)
{
    static const char *const types[] = {"application/json", "application/x-www-form-urlencoded", "text/json", "text/plain",
                                        "application/octet-stream"};
    if (content_type == NULL || content_type[0] == '\0')
        return true;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (media_type_is(content_type, types[i]))
            return true;
    size_t length = type_length(content_type);
    return length > 5 && strncasecmp(content_type + length - 5, "+json", 5) == 0;
}

/* The weight of a media range in thousandths: "q=0.5" among its parameters, 1000 without (RFC 9110, section 12.4.2). */
static int range_weight(const char *range, size_t length)
{
    for (size_t i = 0; i + 3 < length; i++) {
        if (range[i] != ';')
            continue;
        size_t q = i + 1 + strspn(range + i + 1, " \t");
        if (q + 2 >= length || strncasecmp(range + q, "q=", 2) != 0)
            continue;
        int weight = range[q + 2] == '1' ? 1000 : 0;
        for (size_t digit = q + 4, place = 100; digit < length && place > 0 && range[digit] >= '0' && range[digit] <= '9';
             digit++) {
            weight += (range[digit] - '0') * (int)place;
            place /= 10;
        }
        return weight;
    }
    return 1000;
}

/* An Accept header's weight of a type, in thousandths; -1 where it does not name the type. */
static int quality(const char *accept, const char *type)
{
    for (const char *range = accept; range != NULL && *range != '\0';) {
        range += strspn(range, " \t,");
        size_t length = strcspn(range, ",");
        if (media_type_is(range, type))
            return range_weight(range, length);
        range += length;
    }
    return -1;
}

bool media_type_accepts(const char *accept, const char *type, const char *other)
{
    int wanted = quality(accept, type);
    return wanted > 0 && wanted >= quality(accept, other);
}
