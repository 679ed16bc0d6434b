/* document_memory.h: memory for jansson's trees, reserved before parsing begins.
 *
 * jansson 2.14 reports an allocation that fails in the middle of a text as an error in the text, and one that fails in the
 * middle of a token ends the process with an assertion. So all that a tree may need comes from the arena first, and jansson
 * allocates from it; what it frees is not reused.
 *
 * Memory   the reserve is in the arena. What jansson allocates while none is being filled comes from the C library.
 * Threads  a reserve belongs to the thread that opened it; reserves close in the reverse order. */
#ifndef ATTND_API_JSON_DOCUMENT_MEMORY_H
#define ATTND_API_JSON_DOCUMENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/error.h"

/* What the tree of a text of that many bytes takes at most. */
size_t document_memory_bytes(size_t text_bytes);

/* Makes jansson allocate here. Once, before any other function. */
void document_memory_init(void);

/* Until document_memory_filled, this thread's jansson allocates from a new reserve for the tree of a text of `text_bytes`. */
bool document_memory_open(size_t text_bytes, struct arena *arena, struct error *err) __attribute__((warn_unused_result));
void document_memory_filled(void);

/* After the tree was freed: forgets the reserve opened last. */
void document_memory_close(void);

#endif
