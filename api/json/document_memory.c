#include "api/json/document_memory.h"

#include <jansson.h>
#include <stdlib.h>

#include "core/size.h"

/* The text that costs most to parse is "{},{},": 3 bytes need an object of 72 bytes, its first 8 buckets of 16, and a place of
 * 8 in an array that doubled, 32 with the arrays that it outgrew: 240, or 80 a byte. Strings cost little, but the buffer that
 * collects a token doubles as well. */
#define BYTES_PER_TEXT_BYTE 96
#define BYTES_BESIDE 4096
#define ALIGNMENT_BYTES 16

struct document_memory {
    struct document_memory *older;
    char *next, *end;
    bool filling;
};

static _Thread_local struct document_memory *newest;

/* Past the reserve's end, which should not happen, there is still the C library. */
static void *allocate(size_t bytes)
{
    size_t rounded = size_round_up(bytes, ALIGNMENT_BYTES);
    if (newest == NULL || !newest->filling || rounded > (size_t)(newest->end - newest->next))
        return malloc(bytes);
    void *memory = newest->next;
    newest->next += rounded;
    return memory;
}

static void release(void *memory)
{
    for (const struct document_memory *reserve = newest; reserve != NULL; reserve = reserve->older)
        if ((const char *)memory >= (const char *)reserve && (const char *)memory < reserve->end)
            return;
    free(memory);
}

size_t document_memory_bytes(size_t text_bytes)
{
    return size_add(size_multiply(BYTES_PER_TEXT_BYTE, text_bytes), BYTES_BESIDE);
}

void document_memory_init(void)
{
    json_set_alloc_funcs(allocate, release);
}

bool document_memory_open(size_t text_bytes, struct arena *arena, struct error *err)
{
    size_t bytes = document_memory_bytes(text_bytes);
    struct document_memory *reserve = arena_alloc(arena, bytes, err);
    if (reserve == NULL)
        return false;
    char *start = (char *)reserve;
    *reserve = (struct document_memory){.older = newest,
                                        .next = start + size_round_up(sizeof *reserve, ALIGNMENT_BYTES),
                                        .end = start + bytes,
                                        .filling = true};
    newest = reserve;
    return true;
}

void document_memory_filled(void)
{
    newest->filling = false;
}

void document_memory_close(void)
{
    newest = newest->older;
}
