/* request_check.h: holds a reply of POST /attention against request_oracle.h: which results it has, their shapes and numbers,
 * the conventions that it says were applied, and its warnings. */
#ifndef ATTND_TESTS_SUPPORT_REQUEST_CHECK_H
#define ATTND_TESTS_SUPPORT_REQUEST_CHECK_H

#include <jansson.h>

/* Fails the running test, with `name` in front, where something differs. Borrows both. */
void request_check(const char *name, json_t *request, json_t *reply);

#endif
