/* fuzz_check.h: what must hold whatever the bytes were; the fuzzer keeps the input of a run that aborts. */
#ifndef ATTND_TESTS_SUPPORT_FUZZ_CHECK_H
#define ATTND_TESTS_SUPPORT_FUZZ_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                                       \
    do {                                                                                                                       \
        if (!(condition)) {                                                                                                    \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                              \
            abort();                                                                                                           \
        }                                                                                                                      \
    } while (0)

#endif
