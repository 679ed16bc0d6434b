/* document_memory.h: memory for jansson's trees, set aside before it begins.
 *
 * jansson 2.14 takes an allocation that fails in the middle of a text for an error in the text, and one that fails in the middle
 * of a token ends the process with an assertion. So what a tree may need comes from the arena first, and jansson is handed
 * pieces of it; nothing of it is used twice.
 *
 * Memory   a room lies in the arena; what jansson allocates while none is being filled comes from the C library, as before.
 * Threads  rooms belong to the thread that opened them, and close in the reverse order. */
#ifndef ATTND_API_JSON_DOCUMENT_MEMORY_H
#define ATTND_API_JSON_DOCUMENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/error.h"

/* What the tree of a text of that many bytes takes at the most. */
size_t document_memory_bytes(size_t text_bytes);

/* Has jansson allocate here. Once, before any other function. */
void document_memory_init(void);

/* Until document_memory_filled, this thread's jansson allocates from a new room for the tree of a text of `text_bytes`. */
bool document_memory_open(size_t text_bytes, struct arena *arena, struct error *err) __attribute__((warn_unused_result));
void document_memory_filled(void);

/* After the tree was freed: forgets the room opened last. */
void document_memory_close(void);

#endif
