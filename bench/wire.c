/* wire: ns a number, reading and writing JSON, for attnd and jansson: CPU time, the best of several runs.
 *
 *   build/bench/wire FILE    FILE holds one flat JSON array of numbers; prints one JSON object
 *
 * bench/wire_report.py runs it beside the same in other languages. */
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/json/extract.h"
#include "api/json/tensor_write.h"

#define RUNS 25
#define JANSSON_RUNS 5

struct bench {
    char *text;
    size_t text_bytes;
    float *numbers;
    size_t count;
    char *room; /* for writing */
    size_t room_bytes;
};

static void must(bool done)
{
    if (!done)
        abort();
}

static double cpu_ns(void)
{
    struct timespec t;
    must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The best of `runs` of what one run takes, in ns a unit: what else the machine does only ever adds. */
static double measure(void (*run)(struct bench *), struct bench *bench, int runs, size_t units)
{
    double best_ns = 1e18;
    for (int i = 0; i < runs; i++) {
        double start_ns = cpu_ns();
        run(bench);
        best_ns = fmin(best_ns, cpu_ns() - start_ns);
    }
    return best_ns / (double)units;
}

/* As a request is read: the scan that finds the array, then its numbers. */
static void read_attnd(struct bench *b)
{
    struct arena arena;
    struct extract extract;
    struct error err;
    arena_init(&arena, extract_scan_cost());
    error_init(&err);
    must(extract_scan(b->text, b->text_bytes, NULL, &arena, &extract, &err));
    must(extract.array_count == 1 && extract.arrays[0].shape[0] == b->count);
    must(array_read(&extract, &extract.arrays[0], DTYPE_F32, "", b->numbers, &err));
    arena_done(&arena);
}

static void write_attnd(struct bench *b)
{
    struct tensor t = tensor_contiguous(b->numbers, DTYPE_F32, 1, &b->count);
    const struct number_style style = {.digits = DTYPE_F32, .decimals = -1};
    must(tensor_write(&t, style, 0, b->count, b->room) <= b->room + b->room_bytes);
}

static void read_jansson(struct bench *b)
{
    json_t *array = json_loadb(b->text, b->text_bytes, 0, NULL);
    must(json_array_size(array) == b->count);
    json_decref(array);
}

static json_t *tree;

static void write_jansson(struct bench *b)
{
    (void)b;
    char *text = json_dumps(tree, JSON_COMPACT | JSON_REAL_PRECISION(9));
    must(text != NULL);
    free(text);
}

static void copy(struct bench *b)
{
    memcpy(b->room, b->text, b->text_bytes);
    __asm__ volatile("" : : "r"(b->room) : "memory");
}

static void load(struct bench *b, const char *file_name)
{
    FILE *file = fopen(file_name, "rbe");
    must(file != NULL && fseek(file, 0, SEEK_END) == 0);
    b->text_bytes = (size_t)ftell(file);
    rewind(file);
    b->text = malloc(b->text_bytes);
    must(b->text != NULL && fread(b->text, 1, b->text_bytes, file) == b->text_bytes);
    (void)fclose(file);
    for (size_t i = 0; i < b->text_bytes; i++)
        b->count += b->text[i] == ',';
    b->count++;
    const struct number_style style = {.digits = DTYPE_F32, .decimals = -1};
    b->room_bytes = tensor_write_offset(DTYPE_F32, 1, &b->count, style, b->count) + TENSOR_WRITE_SLACK_BYTES;
    b->room_bytes = b->room_bytes > b->text_bytes ? b->room_bytes : b->text_bytes;
    b->numbers = malloc(b->count * sizeof *b->numbers);
    b->room = malloc(b->room_bytes);
    must(b->numbers != NULL && b->room != NULL);
}

int main(int argument_count, char **arguments)
{
    struct bench b = {0};
    if (argument_count != 2) {
        (void)fprintf(stderr, "usage: wire FILE (see bench/wire_report.py)\n");
        return argument_count == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    load(&b, arguments[1]);
    double read_ns = measure(read_attnd, &b, RUNS, b.count), write_ns = measure(write_attnd, &b, RUNS, b.count);
    double jansson_read_ns = measure(read_jansson, &b, JANSSON_RUNS, b.count);
    tree = json_loadb(b.text, b.text_bytes, 0, NULL);
    double jansson_write_ns = measure(write_jansson, &b, JANSSON_RUNS, b.count);
    json_decref(tree);
    double copy_ns = measure(copy, &b, RUNS, b.text_bytes);
    printf("{\"attnd\": [%.2f, %.2f], \"jansson\": [%.2f, %.2f], \"memcpy\": %.4f}\n", read_ns, write_ns, jansson_read_ns,
           jansson_write_ns, copy_ns);
    free(b.text);
    free(b.numbers);
    free(b.room);
    return EXIT_SUCCESS;
}
