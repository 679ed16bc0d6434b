/* convert.inc.h: numbers between what the views hold and what is computed in, four at a time where they are contiguous. */

typedef ELEMENT NAME(elements) __attribute__((vector_size(4 * sizeof(ELEMENT))));
typedef REAL NAME(reals) __attribute__((vector_size(4 * sizeof(REAL))));
typedef REAL NAME(half_reals) __attribute__((vector_size(2 * sizeof(REAL))));

/* Returns false where a number is not finite. */
static bool NAME(to_reals)(REAL *to, const ELEMENT *from, ptrdiff_t stride, size_t count)
{
    NAME(elements) nonfinite = {0}; /* 0 while all is finite, NaN after; of elements: one register where they are float32 */
    size_t i = 0;
    for (; i + 4 <= count && stride == 1; i += 4) {
        NAME(elements) elements;
        memcpy(&elements, from + i, sizeof elements);
        nonfinite += elements * (ELEMENT)0;
        NAME(reals) reals = __builtin_convertvector(elements, NAME(reals));
        NAME(half_reals) low = __builtin_shufflevector(reals, reals, 0, 1), high = __builtin_shufflevector(reals, reals, 2, 3);
        memcpy(to + i, &low, sizeof low); /* by halves: GCC takes a vector of two registers through memory */
        memcpy(to + i + 2, &high, sizeof high);
    }
    REAL rest = (REAL)(nonfinite[0] + nonfinite[1] + nonfinite[2] + nonfinite[3]);
    for (; i < count; i++) {
        to[i] = (REAL)from[(ptrdiff_t)i * stride];
        rest += to[i] - to[i];
    }
    return rest == 0;
}

/* to[i] += from[i] */
static void NAME(add_elements)(REAL *to, const ELEMENT *from, ptrdiff_t stride, size_t count)
{
    size_t i = 0;
    for (; i + 4 <= count && stride == 1; i += 4) {
        NAME(elements) elements;
        NAME(reals) sums;
        memcpy(&elements, from + i, sizeof elements);
        memcpy(&sums, to + i, sizeof sums);
        sums += __builtin_convertvector(elements, NAME(reals));
        memcpy(to + i, &sums, sizeof sums);
    }
    for (; i < count; i++)
        to[i] += (REAL)from[(ptrdiff_t)i * stride];
}

static void NAME(add_constant)(REAL *to, REAL addend, size_t count)
{
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
        NAME(reals) sums;
        memcpy(&sums, to + i, sizeof sums);
        sums += addend;
        memcpy(to + i, &sums, sizeof sums);
    }
    for (; i < count; i++)
        to[i] += addend;
}

/* A number of output, weights or scores, rounded as attention_results says. */
static ELEMENT NAME(element)(const struct attention_plan *plan, double x)
{
    return sizeof(ELEMENT) == sizeof(float) ? (ELEMENT)attention_to_f32(plan, x) : (ELEMENT)x;
}

static void NAME(to_elements)(const struct attention_plan *plan, ELEMENT *to, ptrdiff_t stride, const REAL *from, size_t count)
{
    bool at_once = stride == 1 && !plan->results->rounded_again;
    size_t i = 0;
    for (; i + 4 <= count && at_once; i += 4) {
        NAME(reals) reals;
        memcpy(&reals, from + i, sizeof reals);
        NAME(elements) elements = __builtin_convertvector(reals, NAME(elements));
        memcpy(to + i, &elements, sizeof elements);
    }
    for (; i < count; i++)
        to[(ptrdiff_t)i * stride] = NAME(element)(plan, (double)from[i]);
}
