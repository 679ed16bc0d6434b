/* attention_check.h: runs core's attention over a case and holds the results against the oracle or against each other.
 *
 * Every check ends the running test with the case's seed and words where something is off. */
#ifndef ATTND_TESTS_SUPPORT_ATTENTION_CHECK_H
#define ATTND_TESTS_SUPPORT_ATTENTION_CHECK_H

#include "core/executor.h"
#include "tests/support/attention_case.h"
#include "tests/support/oracle.h"

/* Computes, with an arena capped at attention_scratch_cost; fails the test where core fails, takes more, or writes where
 * no result is. `executor` may be NULL. */
void check_compute(const struct attention_case *c, struct case_results *r, const struct executor *executor);

/* Every result asked for is within rounding of the oracle's, and so is the count of masked rows. */
void check_against_oracle(const struct attention_case *c, struct case_results *r, const struct oracle_results *expected);

/* The two above with results of drawn layouts; `expected` is the oracle's, for several checks of one case. */
void check_case_expected(const struct attention_case *c, unsigned wanted, const struct executor *executor,
                         const struct oracle_results *expected);

/* The same, with the oracle asked for it. */
void check_case(const struct attention_case *c, unsigned wanted, const struct executor *executor);

/* Two arrays hold the same bits; any NaN counts as any other. `what` says which property it is that fails. */
void check_same_bits(const struct attention_case *c, const char *what, const double *a, const double *b, size_t count);

/* The results present in both are bit-equal. */
void check_same_results(const struct attention_case *c, const char *what, struct case_results *a, struct case_results *b);

/* The largest |x| in an array; 0 if empty. NaN and infinity do not count. */
double largest_magnitude(const double *values, size_t count);

#endif
