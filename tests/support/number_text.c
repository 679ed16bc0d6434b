#include "tests/support/number_text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/environment.h"

size_t number_cases(size_t count)
{
    return environment_cases(count, 10, 100);
}

float number_draw_f32(struct draw *draw)
{
    float x;
    do {
        uint32_t bits = (uint32_t)draw_u64(draw);
        memcpy(&x, &bits, sizeof x);
    } while (!isfinite(x));
    return x;
}

double number_draw_f64(struct draw *draw)
{
    double x;
    do {
        uint64_t bits = draw_u64(draw);
        memcpy(&x, &bits, sizeof x);
    } while (!isfinite(x));
    return x;
}

static const char *after_digits(const char *p, const char *end)
{
    while (p < end && *p >= '0' && *p <= '9')
        p++;
    return p;
}

size_t number_bytes(const char *text, size_t bytes)
{
    const char *end = text + bytes, *digits = text + (bytes > 0 && *text == '-');
    const char *p = after_digits(digits, end);
    if (p == digits)
        return 0;
    if (*digits == '0')
        p = digits + 1;
    if (p < end && *p == '.' && after_digits(p + 1, end) > p + 1)
        p = after_digits(p + 1, end);
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char *exponent = p + 1;
        exponent += exponent < end && (*exponent == '+' || *exponent == '-');
        if (after_digits(exponent, end) > exponent)
            p = after_digits(exponent, end);
    }
    return (size_t)(p - text);
}

void number_digits_init(struct number_digits *digits, const char *text, size_t bytes)
{
    const char *p = text, *end = text + bytes;
    memset(digits, 0, sizeof *digits);
    digits->negative = *p == '-';
    p += digits->negative;

    int integer_count = 0; /* digits before the point; negative: zeros after it */
    bool fraction = false;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (digits->count > 0 || *p != '0')
            digits->digits[digits->count++] = *p;
        else if (fraction)
            integer_count--;
        if (!fraction && digits->count > 0)
            integer_count++;
    }
    digits->exponent = integer_count - 1;
    if (p < end)
        digits->exponent += (int)strtol(p + 1, NULL, 10);
    while (digits->count > 0 && digits->digits[digits->count - 1] == '0')
        digits->count--;
}

static char *put(char *p, const char *text, size_t bytes)
{
    memcpy(p, text, bytes);
    return p + bytes;
}

static char *put_scientific(const struct number_digits *digits, char *p)
{
    *p++ = digits->digits[0];
    if (digits->count > 1) {
        *p++ = '.';
        p = put(p, digits->digits + 1, digits->count - 1);
    }
    return p + snprintf(p, 8, "e%d", digits->exponent);
}

size_t number_digits_text(const struct number_digits *digits, char *text)
{
    char *p = text;
    if (digits->negative)
        *p++ = '-';
    if (digits->count == 0) {
        p = put(p, "0.0", 3);
    } else if (digits->exponent < -5 || digits->exponent > 15) {
        p = put_scientific(digits, p);
    } else if (digits->exponent < 0) {
        p = put(p, "0.0000", 1 + (size_t)-digits->exponent);
        p = put(p, digits->digits, digits->count);
    } else {
        size_t integer_count = (size_t)digits->exponent + 1;
        for (size_t i = 0; i < digits->count || i < integer_count + 1; i++) {
            if (i == integer_count)
                *p++ = '.';
            *p++ = i < digits->count ? digits->digits[i] : '0';
        }
    }
    *p = '\0';
    return (size_t)(p - text);
}
