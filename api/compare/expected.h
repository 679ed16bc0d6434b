/* expected.h: what the client's code made of the request: tensors, a tolerance for each, and how far a slice is from them. */
#ifndef ATTND_API_COMPARE_EXPECTED_H
#define ATTND_API_COMPARE_EXPECTED_H

#include "api/compare/slice.h"

/* Results that can be compared: of RESULT_OUTPUT to RESULT_LSE. */
struct expected {
    bool given[RESULTS];
    struct tensor_input inputs[RESULTS];
    struct tensor tensors[RESULTS]; /* float64 */
    double absolute[RESULTS], relative[RESULTS];
    bool has_tolerance;   /* the client's own */
    bool masked_by_large; /* written by comparing: masked scores were -1e4 or less where ours are -Infinity */
};

/* Rows that were compared. A row is what lies on a result's last axis; of lse one number. */
struct difference {
    size_t rows, rows_equal;
    double max_error; /* Infinity where one of two is not finite and the other differs */
    size_t at;        /* of it, row-major */
    double expected, computed;
    double dot, expected_squares, computed_squares; /* of finite pairs */
};

/* Shapes are the results'. Sets the tolerances that are not the client's: those of torch.testing.assert_close for the element
 * type of a binary tensor; 1e-5 and 1e-4 for a text's numbers.
 * Fails   invalid, with a pointer to the tensor. */
bool expected_resolve(struct expected *expected, const struct plan *plan, struct error *err)
    __attribute__((warn_unused_result));

size_t expected_cost(const struct expected *expected);
bool expected_read(struct expected *expected, const struct extract *extract, struct arena *arena,
                   const struct executor *executor, struct error *err) __attribute__((warn_unused_result));

/* True where the variant's results have the shapes of those that are expected. */
bool expected_fits(const struct expected *expected, const struct plan *plan);

/* Rows of a slice's result: where each lies in the slice's buffer and in the expected tensor. */
struct expected_rows {
    size_t count, width;                           /* numbers a row */
    size_t heads;                                  /* of each item; 1 where rows are of all heads together */
    size_t tokens;                                 /* of the slice */
    size_t stride_item, stride_head, stride_token; /* in the expected tensor, in numbers */
};
struct expected_rows expected_rows(enum request_result which, const struct slice *slice);
size_t expected_row_place(const struct expected_rows *rows, const struct slice *slice, size_t row);

/* Adds the slice's rows of one result. */
void expected_compare(struct expected *expected, enum request_result which, const struct slice *slice,
                      struct difference *difference);

/* The same, and the largest error of each token, which stays -1 where its rows are equal. Returns whether all are. */
bool expected_compare_tokens(struct expected *expected, enum request_result which, const struct slice *slice,
                             struct difference *difference, double *token_errors);

/* True where every row of the slice agrees. Stops at the first that does not. */
bool expected_agrees(const struct expected *expected, const struct slice *slice);

/* Whether two numbers are equal to the tolerance of `which`, and how far apart they are: two NaN are equal; Infinity where one is
 * not finite. A masked score may be a large negative number instead of -Infinity. */
bool expected_equal(const struct expected *expected, enum request_result which, double wanted, double computed);
double expected_error(enum request_result which, double wanted, double computed);

#endif
