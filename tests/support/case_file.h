/* case_file.h: the requests of tests/cases and tests/conformance/cases.json, all in one list. tests/cases/README.md has their
 * form. */
#ifndef ATTND_TESTS_SUPPORT_CASE_FILE_H
#define ATTND_TESTS_SUPPORT_CASE_FILE_H

#include <jansson.h>

/* Every case of every file, relative to the working directory; prints how many each file has. New array. Ends the program
 * with a message where a file is not what it should be. */
json_t *cases_load(void);

/* A case's body as it is sent; new, NUL-terminated, to be freed. */
char *case_body(const json_t *test);

/* A case's text member; NULL where it has none. */
const char *case_text(const json_t *test, const char *name);

#endif
