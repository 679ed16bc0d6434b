/* array_read_parallel.c: the text is cut behind commas, and each part is read as if all before it had been.
 *
 * In a rectangular array with no empty axis each comma stands between two elements that follow each other, at whatever depth. So
 * the commas before a cut tell which element follows it, and the shape tells which brackets stand between. A part that was read
 * ends just where the next one was taken to begin, so all of them together are the array just as array_read would have read it.
 * Where a part is not what it was taken to be (a fault, or a comma in a string), array_read has the last word. */
#include "api/json/array_read_parallel.h"

#include <stdatomic.h>
#include <string.h>

#include "api/json/array_reader.h"
#include "api/json/skip.h"
#include "core/size.h"

#define PART_BYTES_MIN ((size_t)128 * 1024)
#define PARTS_MAX 512

struct spread {
    const struct extract *extract;
    const struct json_array_text *array;
    const struct executor *executor;
    enum dtype dtype;
    void *data;
    size_t chunk_count;
    struct {
        const char *at;     /* behind a comma; of the first part the array's '[' */
        size_t first;       /* element */
    } parts[PARTS_MAX + 1]; /* and the array's end */
    atomic_bool failed, stopped;
};

/* Cuts behind the first comma at or after each multiple of a length. */
static void cut(struct spread *spread)
{
    const char *first = spread->extract->text + spread->array->offset_bytes, *end = first + spread->array->text_bytes;
    size_t part_bytes = size_max(PART_BYTES_MIN, spread->array->text_bytes / PARTS_MAX + 1);
    spread->parts[0].at = first;
    spread->chunk_count = 1;
    for (const char *at = first; (size_t)(end - at) > part_bytes;) {
        at += part_bytes;
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (comma == NULL)
            break;
        at = comma + 1;
        spread->parts[spread->chunk_count++].at = at;
    }
    spread->parts[spread->chunk_count].at = end;
}

static void count_part(void *argument, size_t part, size_t worker)
{
    struct spread *spread = argument;
    (void)worker;
    if (!executor_stopped(spread->executor))
        spread->parts[part + 1].first = array_count_commas(spread->parts[part].at, spread->parts[part + 1].at);
}

static void read_part(void *argument, size_t part, size_t worker)
{
    struct spread *spread = argument;
    struct error err;
    struct array_reader reading;
    (void)worker;
    if (atomic_load_explicit(&spread->failed, memory_order_relaxed))
        return;
    if (executor_stopped(spread->executor)) {
        atomic_store_explicit(&spread->stopped, true, memory_order_relaxed);
        return;
    }
    error_init(&err);
    array_reader_init(&reading, spread->extract, spread->array, spread->dtype, "", &err);
    size_t first = spread->parts[part].first;
    const char *after = array_read_elements(&reading, first, spread->parts[part + 1].first, spread->parts[part].at,
                                            (char *)spread->data + first * dtype_bytes(spread->dtype));
    if (after != spread->parts[part + 1].at)
        atomic_store_explicit(&spread->failed, true, memory_order_relaxed);
}

/* Counts to places in the array. Returns false where the text cannot be such an array. */
static bool number(struct spread *spread)
{
    spread->parts[0].first = 0;
    for (size_t part = 1; part <= spread->chunk_count; part++)
        spread->parts[part].first += spread->parts[part - 1].first;
    spread->parts[spread->chunk_count].first++; /* one more element than commas */
    return spread->parts[spread->chunk_count].first == shape_count(spread->array->rank, spread->array->shape);
}

static bool read_all(struct spread *spread)
{
    executor_run(spread->executor, spread->chunk_count, count_part, spread);
    if (!executor_stopped(spread->executor) && number(spread))
        executor_run(spread->executor, spread->chunk_count, read_part, spread);
    else
        atomic_store_explicit(&spread->failed, true, memory_order_relaxed);
    if (executor_stopped(spread->executor))
        atomic_store_explicit(&spread->stopped, true, memory_order_relaxed);
    return !atomic_load_explicit(&spread->failed, memory_order_relaxed);
}

bool array_read_parallel(const struct extract *extract, const struct json_array_text *array, enum dtype dtype,
                         const char *pointer, const struct executor *executor, void *ret_data, struct error *err)
{
    if (executor == NULL || array->text_bytes < ARRAY_READ_PARALLEL_BYTES_MIN)
        return array_read(extract, array, dtype, pointer, ret_data, err);
    struct spread spread = {.extract = extract, .array = array, .executor = executor, .dtype = dtype, .data = ret_data};
    cut(&spread);
    bool done = read_all(&spread);
    if (atomic_load_explicit(&spread.stopped, memory_order_relaxed))
        return executor_set_stopped(err);
    return done || array_read(extract, array, dtype, pointer, ret_data, err);
}
