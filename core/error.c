#include "core/error.h"

#include <stdio.h>
#include <string.h>

void error_init(struct error *err)
{
    memset(err, 0, sizeof *err);
}

/* Returns true where this is the first error and so was taken. */
static bool error_take(struct error *err, enum error_code code, const char *format, va_list arguments)
{
    if (err->code != ERROR_NONE)
        return false;
    err->code = code;
    (void)vsnprintf(err->text, sizeof err->text, format, arguments);
    return true;
}

bool error_set(struct error *err, enum error_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)error_take(err, code, format, arguments);
    va_end(arguments);
    return false;
}

bool error_set_at(struct error *err, enum error_code code, const char *pointer, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (error_take(err, code, format, arguments))
        (void)snprintf(err->pointer, sizeof err->pointer, "%s", pointer);
    va_end(arguments);
    return false;
}

bool error_set_limit(struct error *err, const char *limit_name, uint64_t limit_value, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (error_take(err, ERROR_TOO_LARGE, format, arguments)) {
        (void)snprintf(err->limit_name, sizeof err->limit_name, "%s", limit_name);
        err->limit_value = limit_value;
    }
    va_end(arguments);
    return false;
}

void error_append(struct error *err, const char *text)
{
    size_t used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, "%s", text);
}
