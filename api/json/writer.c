#include "api/json/writer.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/json/token.h"
#include "api/number/write.h"
#include "core/size.h"

void writer_init(struct writer *writer, char *buffer, size_t buffer_bytes)
{
    *writer = (struct writer){.start = buffer, .at = buffer, .end = buffer + buffer_bytes};
}

void writer_add_bytes(struct writer *writer, const char *bytes, size_t count)
{
    assert(count <= (size_t)(writer->end - writer->at));
    memcpy(writer->at, bytes, count);
    writer->at += count;
}

void writer_add(struct writer *writer, const char *string)
{
    writer_add_bytes(writer, string, strlen(string));
}

void writer_end(struct writer *writer)
{
    writer_add_bytes(writer, "", 1);
}

#define UNSIGNED_BYTES_MAX 20

/* The digits of `value`, `count_min` at least, in front of `end`. Returns where they begin. */
static char *digits_before(char *end, uint64_t value, size_t count_min)
{
    char *at = end;
    for (; value > 0 || (size_t)(end - at) < count_min; value /= 10)
        *--at = (char)('0' + value % 10);
    return at;
}

void writer_unsigned(struct writer *writer, uint64_t value)
{
    char digits[UNSIGNED_BYTES_MAX], *end = digits + sizeof digits;
    const char *begin = digits_before(end, value, 1);
    writer_add_bytes(writer, begin, (size_t)(end - begin));
}

void writer_signed(struct writer *writer, int64_t value)
{
    if (value < 0)
        writer_add(writer, "-");
    writer_unsigned(writer, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void writer_thousandths(struct writer *writer, double value)
{
    double bounded = value > 0 ? fmin(value, WRITER_THOUSANDTHS_MAX) : 0;
    uint64_t thousandths = (uint64_t)(bounded * 1000 + 0.5);
    char fraction[4] = ".";
    (void)digits_before(fraction + sizeof fraction, thousandths % 1000, 3);
    writer_unsigned(writer, thousandths / 1000);
    writer_add_bytes(writer, fraction, sizeof fraction);
}

void writer_format(struct writer *writer, const char *format, ...)
{
    char text[WRITER_FORMAT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < sizeof text);
    writer_add_bytes(writer, text, (size_t)length);
}

const char *writer_escape(unsigned char byte, char ret[WRITER_ESCAPE_BYTES_MAX])
{
    (void)snprintf(ret, WRITER_ESCAPE_BYTES_MAX, byte == '"' || byte == '\\' ? "\\%c" : "\\u%04x", byte);
    return ret;
}

void writer_string(struct writer *writer, const char *string)
{
    writer_add(writer, "\"");
    for (const unsigned char *c = (const unsigned char *)string; *c != '\0';) {
        char escape[WRITER_ESCAPE_BYTES_MAX];
        size_t length = token_utf8_bytes(c);
        if (length == 0)
            writer_add(writer, "\\ufffd");
        else if (*c == '"' || *c == '\\' || *c < 0x20 || *c == 0x7f)
            writer_add(writer, writer_escape(*c, escape));
        else
            writer_add_bytes(writer, (const char *)c, length);
        c += size_max(length, 1);
    }
    writer_add(writer, "\"");
}

void writer_number(struct writer *writer, double x, enum dtype dtype, int decimals)
{
    char number[NUMBER_F64_BYTES_MAX];
    char *end;
    if (dtype == DTYPE_F32)
        end = decimals < 0 ? number_write_f32((float)x, number) : number_write_f32_rounded((float)x, decimals, number);
    else
        end = decimals < 0 ? number_write_f64(x, number) : number_write_f64_rounded(x, decimals, number);
    writer_add_bytes(writer, number, (size_t)(end - number));
}
