/* json_room.h: memory for jansson's trees, set aside before it begins.
 *
 * jansson 2.14 takes an allocation that fails in the middle of a text for an error in the text, and one that fails in the middle
 * of a token ends the process with an assertion. So what a tree may need comes from the arena first, and jansson is handed
 * pieces of it; nothing of it is used twice.
 *
 * Memory   a room lies in the arena; what jansson allocates while none is being filled comes from the C library, as before.
 * Threads  rooms belong to the thread that opened them, and close in the reverse order. */
#ifndef ATTND_API_JSON_ROOM_H
#define ATTND_API_JSON_ROOM_H

#include <stdbool.h>
#include <stddef.h>

#include "core/arena.h"
#include "core/error.h"

/* What the tree of a text of that many bytes takes at the most. */
size_t json_room_bytes(size_t text_bytes);

/* Has jansson allocate here. Once, before any other function. */
void json_room_init(void);

/* Until json_room_filled, this thread's jansson allocates from a new room for the tree of a text of `text_bytes`. */
bool json_room_open(size_t text_bytes, struct arena *arena, struct error *err) __attribute__((warn_unused_result));
void json_room_filled(void);

/* After the tree was freed: forgets the room opened last. */
void json_room_close(void);

#endif
