/* analyser.h: what clang-tidy cannot see, since it reads one file at a time. scripts/lint includes it before each file.
 *
 * Functions that report an error always return false; without that knowledge every caller seems to go on with results
 * that were never written. */
#ifndef ATTND_TESTS_TOOLS_ANALYSER_H
#define ATTND_TESTS_TOOLS_ANALYSER_H

#include "api/json/document.h"
#include "core/error.h"

#define error_set(...) ((void)error_set(__VA_ARGS__), 0)
#define error_set_at(...) ((void)error_set_at(__VA_ARGS__), 0)
#define error_set_limit(...) ((void)error_set_limit(__VA_ARGS__), 0)
#define document_refuse(...) ((void)document_refuse(__VA_ARGS__), 0)

#endif
