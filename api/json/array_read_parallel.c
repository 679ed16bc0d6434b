/* array_read_parallel.c: the text is split after commas, and each part is read as if everything before it had been read.
 *
 * In a rectangular array without empty axes every comma separates two consecutive elements, at whatever depth. So the number of
 * commas before a split tells which element follows it, and the shape tells which brackets are in between. If every part ends
 * exactly where the next one begins, all of them together are what array_read would have read. Where one does not (an error, or
 * a comma in a string), array_read reads the whole and reports. */
#include "api/json/array_read_parallel.h"

#include <stdatomic.h>
#include <string.h>

#include "api/json/array_reader.h"
#include "api/json/skip.h"
#include "core/size.h"

#define PART_BYTES_MIN ((size_t)128 * 1024)
#define PARTS_MAX 512

struct parallel_read {
    const struct extract *extract;
    const struct json_array_text *array;
    const struct executor *executor;
    enum dtype dtype;
    void *data;
    size_t part_count;
    struct {
        const char *at;     /* after a comma; of the first part the array's '[' */
        size_t first;       /* element */
    } parts[PARTS_MAX + 1]; /* and the array's end */
    atomic_bool failed, stopped;
};

/* Splits after the first comma at or after each multiple of a length. */
static void split(struct parallel_read *read)
{
    const char *first = read->extract->text + read->array->offset_bytes, *end = first + read->array->text_bytes;
    size_t part_bytes = size_max(PART_BYTES_MIN, read->array->text_bytes / PARTS_MAX + 1);
    read->parts[0].at = first;
    read->part_count = 1;
    for (const char *at = first; (size_t)(end - at) > part_bytes;) {
        at += part_bytes;
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (comma == NULL)
            break;
        at = comma + 1;
        read->parts[read->part_count++].at = at;
    }
    read->parts[read->part_count].at = end;
}

static void count_part(void *argument, size_t part, size_t worker)
{
    struct parallel_read *read = argument;
    (void)worker;
    if (!executor_stopped(read->executor))
        read->parts[part + 1].first = array_count_commas(read->parts[part].at, read->parts[part + 1].at);
}

static void read_part(void *argument, size_t part, size_t worker)
{
    struct parallel_read *read = argument;
    struct error err;
    struct array_reader reader;
    (void)worker;
    if (atomic_load_explicit(&read->failed, memory_order_relaxed))
        return;
    if (executor_stopped(read->executor)) {
        atomic_store_explicit(&read->stopped, true, memory_order_relaxed);
        return;
    }
    error_init(&err);
    array_reader_init(&reader, read->extract, read->array, read->dtype, "", &err);
    size_t first = read->parts[part].first;
    const char *after = array_read_elements(&reader, first, read->parts[part + 1].first, read->parts[part].at,
                                            (char *)read->data + first * dtype_bytes(read->dtype));
    if (after != read->parts[part + 1].at)
        atomic_store_explicit(&read->failed, true, memory_order_relaxed);
}

/* From commas in each part to the element that each begins with. Returns false where the text cannot be such an array. */
static bool number_elements(struct parallel_read *read)
{
    read->parts[0].first = 0;
    for (size_t part = 1; part <= read->part_count; part++)
        read->parts[part].first += read->parts[part - 1].first;
    read->parts[read->part_count].first++; /* one more element than commas */
    return read->parts[read->part_count].first == shape_count(read->array->rank, read->array->shape);
}

static bool read_parts(struct parallel_read *read)
{
    executor_run(read->executor, read->part_count, count_part, read);
    if (!executor_stopped(read->executor) && number_elements(read))
        executor_run(read->executor, read->part_count, read_part, read);
    else
        atomic_store_explicit(&read->failed, true, memory_order_relaxed);
    if (executor_stopped(read->executor))
        atomic_store_explicit(&read->stopped, true, memory_order_relaxed);
    return !atomic_load_explicit(&read->failed, memory_order_relaxed);
}

bool array_read_parallel(const struct extract *extract, const struct json_array_text *array, enum dtype dtype,
                         const char *pointer, const struct executor *executor, void *ret_data, struct error *err)
{
    if (executor == NULL || array->text_bytes < ARRAY_READ_PARALLEL_BYTES_MIN)
        return array_read(extract, array, dtype, pointer, ret_data, err);
    struct parallel_read read = {.extract = extract, .array = array, .executor = executor, .dtype = dtype, .data = ret_data};
    split(&read);
    bool done = read_parts(&read);
    if (atomic_load_explicit(&read.stopped, memory_order_relaxed))
        return executor_set_stopped(err);
    return done || array_read(extract, array, dtype, pointer, ret_data, err);
}
