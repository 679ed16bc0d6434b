/* check.h: cmocka with the headers it wants before it. */
#ifndef ATTND_TESTS_SUPPORT_CHECK_H
#define ATTND_TESTS_SUPPORT_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
