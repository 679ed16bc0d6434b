#include "tests/support/text.h"

#include <stdarg.h>
#include <stdio.h>

#include "tests/support/check.h"

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text->bytes += (size_t)vsnprintf(text->chars + text->bytes, sizeof text->chars - text->bytes, format, arguments);
    va_end(arguments);
    assert_true(text->bytes < sizeof text->chars);
}
