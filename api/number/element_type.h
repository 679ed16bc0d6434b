/* element_type.h: the formats that a tensor's numbers have in requests and replies; inside they are float32 and float64 (enum
 * dtype).
 *
 * Rounding to a narrower format is to nearest, ties to even (IEEE 754), straight from the wide value. Threads: reentrant. */
#ifndef ATTND_API_NUMBER_ELEMENT_TYPE_H
#define ATTND_API_NUMBER_ELEMENT_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tensor.h"

enum element_type {
    ELEMENT_F64, /* 0: where nothing else is said, nothing is rounded away */
    ELEMENT_F32,
    ELEMENT_F16,  /* IEEE 754 binary16 */
    ELEMENT_BF16, /* the upper half of a float32 */
    ELEMENT_BOOL, /* one byte */
    ELEMENT_I64,
    ELEMENT_I32,
    ELEMENT_TYPES,
};

/* Who names them. */
enum element_naming {
    ELEMENT_NAMES_PLAIN,       /* "float16", as NumPy */
    ELEMENT_NAMES_SAFETENSORS, /* "F16" */
    ELEMENT_NAMES_KSERVE,      /* "FP16" */
    ELEMENT_NAMINGS,
};

/* The names by element type, NULL-terminated. Static. */
extern const char *const element_names[ELEMENT_NAMINGS][ELEMENT_TYPES + 1];

/* Bytes an element. */
size_t element_bytes(enum element_type element_type);

/* True for all but booleans and integers; for integers. */
bool element_is_float(enum element_type element_type);
bool element_is_integer(enum element_type element_type);

/* The element type of a tensor's own numbers, and its plain name. */
enum element_type element_of_dtype(enum dtype dtype);
const char *element_dtype_name(enum dtype dtype);

uint16_t element_f16_from(double x);
double element_f16_to(uint16_t bits);
uint16_t element_bf16_from(double x);
double element_bf16_to(uint16_t bits);

/* Reads a contiguous tensor's numbers from bytes, little endian, at any alignment. A bool is 1 where its byte is not 0. `ret`
 * is bool where the element type is, else float32 or float64; integers are exact up to 2^53 in float64. Returns the index of
 * the first finite number that overflows the tensor's dtype, the tensor's count where none does. */
size_t element_read(enum element_type element_type, const void *bytes, const struct tensor *ret)
    __attribute__((warn_unused_result));

/* The number at `index` of such bytes. */
double element_number(enum element_type element_type, const void *bytes, size_t index);

/* The same of an integer type. */
int64_t element_integer(enum element_type element_type, const void *bytes, size_t index);

/* The index of the first finite number of a contiguous float32 or float64 tensor that overflows the element type; the tensor's
 * count where none does. */
size_t element_overflow(enum element_type element_type, const struct tensor *t);

/* Converts a contiguous float32 or float64 tensor's numbers to the element type (no wider than they are), packed from the
 * tensor's start on; returns the number of bytes. */
size_t element_pack(enum element_type element_type, const struct tensor *t);

/* Rounds every number of a contiguous float32 or float64 tensor to what the element type can hold, past its range to infinity;
 * no-op for ELEMENT_F64. */
void element_round(enum element_type element_type, const struct tensor *t);

#endif
