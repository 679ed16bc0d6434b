#include "api/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/number_write.h"
#include "core/size.h"

void text_init(struct text *text, char *room, size_t room_bytes)
{
    *text = (struct text){.start = room, .at = room, .end = room + room_bytes};
}

static void add_bytes(struct text *text, const char *bytes, size_t count)
{
    assert(count <= (size_t)(text->end - text->at));
    memcpy(text->at, bytes, count);
    text->at += count;
}

void text_add(struct text *text, const char *part)
{
    add_bytes(text, part, strlen(part));
}

void text_end(struct text *text)
{
    add_bytes(text, "", 1);
}

void text_format(struct text *text, const char *format, ...)
{
    char part[TEXT_FORMAT_BYTES_MAX];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < sizeof part);
    add_bytes(text, part, (size_t)length);
}

/* Bytes of the UTF-8 character at `c` (RFC 3629), 0 where it is none. */
static size_t utf8_length(const unsigned char *c)
{
    static const struct {
        unsigned char first_low, first_high, second_low, second_high;
        size_t length;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
        {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (c[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (c[0] < forms[i].first_low || c[0] > forms[i].first_high)
            continue;
        if (c[1] < forms[i].second_low || c[1] > forms[i].second_high)
            return 0;
        for (size_t more = 2; more < forms[i].length; more++)
            if (c[more] < 0x80 || c[more] > 0xbf)
                return 0;
        return forms[i].length;
    }
    return 0;
}

void text_string(struct text *text, const char *string)
{
    text_add(text, "\"");
    for (const unsigned char *c = (const unsigned char *)string; *c != '\0';) {
        size_t length = utf8_length(c);
        if (length == 0)
            text_add(text, "\\ufffd");
        else if (*c == '"' || *c == '\\')
            text_format(text, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7f)
            text_format(text, "\\u%04x", *c);
        else
            add_bytes(text, (const char *)c, length);
        c += size_max(length, 1);
    }
    text_add(text, "\"");
}

static char *put_f32(float x, int decimals, char *at)
{
    return decimals < 0 ? number_write_f32(x, at) : number_write_f32_rounded(x, decimals, at);
}

static char *put_f64(double x, int decimals, char *at)
{
    return decimals < 0 ? number_write_f64(x, at) : number_write_f64_rounded(x, decimals, at);
}

void text_number(struct text *text, double x, enum dtype dtype, int decimals)
{
    char number[NUMBER_F64_BYTES_MAX];
    char *end = dtype == DTYPE_F32 ? put_f32((float)x, decimals, number) : put_f64(x, decimals, number);
    add_bytes(text, number, (size_t)(end - number));
}

/* How the numbers of a tensor are written. */
struct style {
    enum dtype digits;
    int decimals;
};

/* `count` numbers with commas between them. */
static void put_row(struct text *text, const struct tensor *t, size_t first, size_t count, struct style style)
{
    char *at = text->at;
    for (size_t i = 0; i < count; i++) {
        if (t->dtype == DTYPE_F32)
            at = put_f32(((const float *)t->data)[first + i], style.decimals, at);
        else if (style.digits == DTYPE_F32)
            at = put_f32((float)((const double *)t->data)[first + i], style.decimals, at);
        else
            at = put_f64(((const double *)t->data)[first + i], style.decimals, at);
        *at++ = ',';
    }
    text->at = count > 0 ? at - 1 : at;
}

static void put_axis(struct text *text, const struct tensor *t, size_t axis, size_t first, struct style style)
{
    *text->at++ = '[';
    if (axis + 1 == t->rank)
        put_row(text, t, first, t->shape[axis], style);
    for (size_t i = 0; axis + 1 < t->rank && i < t->shape[axis]; i++) {
        if (i > 0)
            *text->at++ = ',';
        put_axis(text, t, axis + 1, first + i * shape_count(t->rank - axis - 1, t->shape + axis + 1), style);
    }
    *text->at++ = ']';
}

size_t text_tensor_bytes_max(enum dtype dtype, size_t rank, const size_t *shape, bool flat, int decimals)
{
    size_t number = dtype == DTYPE_F32 ? NUMBER_F32_TEXT_BYTES_MAX : NUMBER_F64_TEXT_BYTES_MAX;
    if (decimals >= 0)
        number = dtype == DTYPE_F32 ? NUMBER_F32_BYTES_MAX : NUMBER_F64_BYTES_MAX;
    size_t bytes = size_multiply(shape_count(rank, shape), number + 1); /* and a comma */
    for (size_t axis = 0; axis < rank && !flat; axis++) /* two brackets and a comma an array */
        bytes = size_add(bytes, size_multiply(3, shape_count(axis, shape)));
    return size_add(bytes, NUMBER_F64_BYTES_MAX + 4); /* the last number's room, and the flat array's brackets */
}

static void put_tensor(struct text *text, const struct tensor *t, bool flat, struct style style)
{
    size_t count = tensor_count(t);
    assert(text_tensor_bytes_max(t->dtype, t->rank, t->shape, flat, style.decimals) <= (size_t)(text->end - text->at));
    struct tensor view = flat ? tensor_contiguous(t->data, t->dtype, 1, &count) : *t;
    put_axis(text, &view, 0, 0, style);
}

void text_tensor(struct text *text, const struct tensor *t, bool flat, int decimals)
{
    put_tensor(text, t, flat, (struct style){t->dtype, decimals});
}

void text_tensor_as(struct text *text, const struct tensor *t, enum dtype digits)
{
    put_tensor(text, t, true, (struct style){digits, -1});
}
