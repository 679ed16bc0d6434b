#include "api/json/document_memory.h"

#include <jansson.h>
#include <stdlib.h>

#include "core/size.h"

/* The dearest text is "{},{},": 3 bytes take an object of 72 bytes, its first 8 buckets of 16, and a place of 8 in an array that
 * doubled, 32 with the arrays that it outgrew: 240, or 80 a byte. Strings are cheap, but the buffer that collects a token
 * doubles as well. */
#define ROOM_BYTES_EACH 96
#define ROOM_BYTES_MORE 4096
#define ROOM_ALIGNMENT_BYTES 16

struct document_memory {
    struct document_memory *older;
    char *next, *end;
    bool filling;
};

static _Thread_local struct document_memory *newest;

/* Past the room's end, which should not happen, there is still the C library. */
static void *take(size_t bytes)
{
    size_t rounded = size_round_up(bytes, ROOM_ALIGNMENT_BYTES);
    if (newest == NULL || !newest->filling || rounded > (size_t)(newest->end - newest->next))
        return malloc(bytes);
    void *memory = newest->next;
    newest->next += rounded;
    return memory;
}

static void release(void *memory)
{
    for (const struct document_memory *room = newest; room != NULL; room = room->older)
        if ((const char *)memory >= (const char *)room && (const char *)memory < room->end)
            return;
    free(memory);
}

size_t document_memory_bytes(size_t text_bytes)
{
    return size_add(size_multiply(ROOM_BYTES_EACH, text_bytes), ROOM_BYTES_MORE);
}

void document_memory_init(void)
{
    json_set_alloc_funcs(take, release);
}

bool document_memory_open(size_t text_bytes, struct arena *arena, struct error *err)
{
    size_t bytes = document_memory_bytes(text_bytes);
    struct document_memory *room = arena_alloc(arena, bytes, err);
    if (room == NULL)
        return false;
    char *start = (char *)room;
    *room = (struct document_memory){
        .older = newest, .next = start + size_round_up(sizeof *room, ROOM_ALIGNMENT_BYTES), .end = start + bytes, .filling = true};
    newest = room;
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
