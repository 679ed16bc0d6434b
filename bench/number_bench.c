/* number_bench: ns a number, reading and writing an array of a million random normal float32, one by one and in rows, as tensors are
 * (and the same as float64), beside jansson on the same text in the same run. Each figure is the best of several runs: what else the
 * machine does only ever adds. */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/number/batch.h"
#include "api/number/read.h"
#include "api/number/write.h"
#include "tests/support/draw.h"

#define COUNT 1000000
#define RUNS 15
#define JANSSON_RUNS 3
#define SEPARATOR_BYTES 2

struct bench {
    float *f32;
    double *f64;
    char *text; /* "[1.5, -0.25]" */
    size_t text_bytes;
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Runs `run` on the bench `runs` times and prints the best. */
static void measure(const char *name, void (*run)(struct bench *), struct bench *bench, int runs)
{
    double best_ns = 1e18;
    for (int i = 0; i < runs; i++) {
        double start_ns = now_ns();
        run(bench);
        best_ns = fmin(best_ns, now_ns() - start_ns);
    }
    printf("%-28s %7.1f ns a number\n", name, best_ns / COUNT);
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes);
    if (!p)
        abort();
    return p;
}

typedef char *write_one(const struct bench *b, size_t i, char *out);

static inline __attribute__((always_inline)) void write_array(struct bench *b, write_one *write)
{
    char *out = b->text;
    *out++ = '[';
    for (size_t i = 0; i < COUNT; i++) {
        out = write(b, i, out);
        memcpy(out, ", ", SEPARATOR_BYTES);
        out += SEPARATOR_BYTES;
    }
    out[-SEPARATOR_BYTES] = ']';
    b->text_bytes = (size_t)(out - b->text) - 1;
}

static char *write_one_f32(const struct bench *b, size_t i, char *out)
{
    return number_write_f32(b->f32[i], out);
}

static char *write_one_f32_rounded(const struct bench *b, size_t i, char *out)
{
    return number_write_f32_rounded(b->f32[i], 4, out);
}

static char *write_one_f64(const struct bench *b, size_t i, char *out)
{
    return number_write_f64(b->f64[i], out);
}

static void write_f32(struct bench *b)
{
    write_array(b, write_one_f32);
}

static void write_f32_rounded(struct bench *b)
{
    write_array(b, write_one_f32_rounded);
}

static void write_f64(struct bench *b)
{
    write_array(b, write_one_f64);
}

static void read_f32(struct bench *b)
{
    const char *p = b->text, *end = b->text + b->text_bytes;
    for (size_t i = 0; i < COUNT; i++) {
        p = number_read_f32(p + (i ? SEPARATOR_BYTES : 1), end, &b->f32[i]);
        if (!p)
            abort();
    }
}

static void read_f64(struct bench *b)
{
    const char *p = b->text, *end = b->text + b->text_bytes;
    for (size_t i = 0; i < COUNT; i++) {
        p = number_read_f64(p + (i ? SEPARATOR_BYTES : 1), end, &b->f64[i]);
        if (!p)
            abort();
    }
}

static void write_row_f32(struct bench *b)
{
    char *end = number_batch_write_f32(b->f32, COUNT, b->text);
    b->text[0] = '[';
    *end++ = ']';
    b->text_bytes = (size_t)(end - b->text);
}

/* As write_row_f32 wrote them. */
static void read_row_f32(struct bench *b)
{
    const char *p = b->text + 1, *end = b->text + b->text_bytes;
    for (size_t i = 0; i < COUNT; i++) {
        i += number_batch_read_f32(&p, end, COUNT - 1 - i, &b->f32[i]);
        p = number_read_f32(p, end, &b->f32[i]);
        if (!p++)
            abort();
    }
}

static void write_row_f64(struct bench *b)
{
    char *end = number_batch_write_f64(b->f64, COUNT, b->text);
    b->text[0] = '[';
    *end++ = ']';
    b->text_bytes = (size_t)(end - b->text);
}

/* As write_row_f64 wrote them. */
static void read_row_f64(struct bench *b)
{
    const char *p = b->text + 1, *end = b->text + b->text_bytes;
    for (size_t i = 0; i < COUNT; i++) {
        i += number_batch_read_f64(&p, end, COUNT - 1 - i, &b->f64[i]);
        p = number_read_f64(p, end, &b->f64[i]);
        if (!p++)
            abort();
    }
}

static void read_jansson(struct bench *b)
{
    json_t *array = json_loadb(b->text, b->text_bytes, 0, NULL);
    if (json_array_size(array) != COUNT)
        abort();
    json_decref(array);
}

static json_t *jansson_array;

static void write_jansson(struct bench *b)
{
    (void)b;
    free(json_dumps(jansson_array, JSON_REAL_PRECISION(9)));
}

int main(void)
{
    struct bench b = {.f32 = allocate(COUNT * sizeof(float)), .f64 = allocate(COUNT * sizeof(double))};
    b.text = allocate((size_t)COUNT * (NUMBER_F64_BYTES_MAX + SEPARATOR_BYTES));
    struct draw draw = {1337};
    for (size_t i = 0; i < COUNT; i++) {
        b.f64[i] = draw_normal(&draw);
        b.f32[i] = (float)b.f64[i];
    }
    measure("write f64", write_f64, &b, RUNS);
    measure("read f64, 17 digits", read_f64, &b, RUNS);
    measure("write f64 in rows", write_row_f64, &b, RUNS);
    measure("read f64 in rows", read_row_f64, &b, RUNS);
    measure("write f32, 4 decimals", write_f32_rounded, &b, RUNS);
    measure("write f32", write_f32, &b, RUNS);
    measure("read f32, shortest digits", read_f32, &b, RUNS);
    measure("write f32 in rows", write_row_f32, &b, RUNS);
    measure("read f32 in rows", read_row_f32, &b, RUNS);
    measure("jansson read", read_jansson, &b, JANSSON_RUNS);
    jansson_array = json_loadb(b.text, b.text_bytes, 0, NULL);
    measure("jansson write, 9 digits", write_jansson, &b, JANSSON_RUNS);
    json_decref(jansson_array);

    for (size_t i = 0; i < COUNT; i++)
        b.f32[i] = i % 2 ? 0.0F : 1.0F;
    measure("write f32, zeros and ones", write_f32, &b, RUNS);
    measure("read f32, zeros and ones", read_f32, &b, RUNS);
    measure("write f32, these in rows", write_row_f32, &b, RUNS);
    measure("read f32, these in rows", read_row_f32, &b, RUNS);
    free(b.text);
    free(b.f64);
    free(b.f32);
    return 0;
}
