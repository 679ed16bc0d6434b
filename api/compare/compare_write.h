/* compare_write.h: the reply of POST /attention/compare. */
#ifndef ATTND_API_COMPARE_COMPARE_WRITE_H
#define ATTND_API_COMPARE_COMPARE_WRITE_H

#include "api/compare/compare_read.h"

/* What the reply takes at most. */
#define COMPARE_REPLY_BYTES_MAX ((size_t)SEARCH_EXPLANATIONS_MAX * 12288 + 65536)

/* Writes to `buffer`, of COMPARE_REPLY_BYTES_MAX bytes, a line that ends in a NUL, which is not counted; returns how many. */
size_t compare_write(const struct comparison *comparison, const struct search *search, char *buffer);

#endif
