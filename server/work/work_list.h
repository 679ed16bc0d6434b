/* work_list.h: a doubly linked list of work items. An item is in one list at most.
 *
 * Threads  whoever owns the list guards it. */
#ifndef ATTND_SERVER_WORK_WORK_LIST_H
#define ATTND_SERVER_WORK_WORK_LIST_H

#include <stddef.h>

#include "server/work/work_item.h"

struct work_list {
    struct work_item *first, *last;
    size_t count;
};

/* Inserts `item` before `next`, which is in the list; NULL: at the end. */
static inline void work_list_insert(struct work_list *list, struct work_item *item, struct work_item *next)
{
    item->next = next;
    item->previous = next != NULL ? next->previous : list->last;
    *(item->previous != NULL ? &item->previous->next : &list->first) = item;
    *(next != NULL ? &next->previous : &list->last) = item;
    list->count++;
}

static inline void work_list_remove(struct work_list *list, struct work_item *item)
{
    *(item->previous != NULL ? &item->previous->next : &list->first) = item->next;
    *(item->next != NULL ? &item->next->previous : &list->last) = item->previous;
    item->previous = NULL;
    item->next = NULL;
    list->count--;
}

#endif
