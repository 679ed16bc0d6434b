/* kernels.h: the inner loops of attention, compiled for several processors from one source (table.c), chosen at run time.
 *
 * Products   c (+)= alpha * a.b with the right operand packed into panels. On avx512, avx2 and neon each element is one chain of
 *            fused multiply-adds over the depth, so its bits don't depend on which rows and columns are computed along with
 *            it. generic hands the product to OpenBLAS, which has kernels for every processor, and none for such a promise:
 *            there portable, the same chains in what every processor has, stands in where it is asked for.
 * Rows       work in place on one row of scores. A sum has row_step partial sums, and a column alone decides which of them takes
 *            an element: so a row's bits don't depend on the rows beside it.
 * Kernels check nothing. Threads: reentrant, but for kernels_choose. */
#ifndef ATTND_CORE_KERNELS_KERNELS_H
#define ATTND_CORE_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>

#define KERNEL_DEPTH_MAX 512 /* of one product, and columns of a tile of scores */
#define KERNEL_ROW_STRIDE                                                                                                      \
    (KERNEL_DEPTH_MAX + 16) /* of left operands: a constant, and no power of two, to spare the cache's sets */

/* A product. The right operand lies in panels of `panel_columns` columns: panel p holds columns p*panel_columns and on, as
 * `depth` rows of panel_columns contiguous numbers, missing columns as 0; rows of a wider matrix can be panels in place.
 * Whole panels of c are written.
 *
 * ret_max, where the table's product_is_chain: the largest element of each row of c, the last panel's missing columns
 * included; anything where one is NaN. rows <= rows_f32 then. */
struct kernel_product_f32 {
    size_t rows, columns, depth; /* depth <= KERNEL_DEPTH_MAX */
    const float *a;              /* [rows], KERNEL_ROW_STRIDE apart */
    const float *panels;
    size_t panel_columns;
    size_t panel_stride, panel_row_stride; /* from panel to panel, and from row to row, in elements */
    float alpha;
    bool add;
    float *c; /* [rows], c_stride apart */
    size_t c_stride;
    float *ret_max; /* NULL, or [rows]: see above */
};

struct kernel_product_f64 {
    size_t rows, columns, depth;
    const double *a;
    const double *panels;
    size_t panel_columns;
    size_t panel_stride, panel_row_stride;
    double alpha;
    bool add;
    double *c;
    size_t c_stride;
    double *ret_max;
};

/* c[r][j] = alpha * a[r].b[j] for keys in place, unpacked: rows of `depth` contiguous numbers. depth is a multiple of the
 * columns of a panel, and at most KERNEL_DEPTH_MAX. */
struct kernel_dots_f32 {
    size_t rows, keys, depth;
    const float *a; /* [rows], KERNEL_ROW_STRIDE apart */
    const float *b; /* [keys], b_stride apart */
    ptrdiff_t b_stride;
    float alpha;
    float *c; /* [rows], KERNEL_ROW_STRIDE apart */
};

struct kernel_dots_f64 {
    size_t rows, keys, depth;
    const double *a;
    const double *b;
    ptrdiff_t b_stride;
    double alpha;
    double *c;
};

/* Which columns of a row of scores are visible: those of [begin, end), of them those kept, or those whose addend is not
 * -infinity. */
struct kernel_mask_f32 {
    size_t begin, end;
    const unsigned char *keep; /* [end]; NULL: all */
    const float *add;          /* [end]; NULL: nothing; not both */
};

struct kernel_mask_f64 {
    size_t begin, end;
    const unsigned char *keep;
    const double *add;
};

struct kernels {
    const char *name; /* "avx512", "avx2", "neon", "generic" */

    /* Columns of a panel, a divisor of KERNEL_DEPTH_MAX; 0: one panel as wide as the operand. Rows that one product does best
     * with; 0: as many as there are. */
    size_t panel_columns_f32, panel_columns_f64;
    size_t rows_f32, rows_f64;

    size_t row_step_f32,
        row_step_f64; /* a row of scores is read so many at a time; a divisor of panel_columns where that is not 0 */

    void (*product_f32)(const struct kernel_product_f32 *product);
    void (*product_f64)(const struct kernel_product_f64 *product);

    bool product_is_chain; /* as above; it then tells the rows' maxima, too */

    /* NULL: none; keys are to be packed. */
    void (*dots_f32)(const struct kernel_dots_f32 *dots);
    void (*dots_f64)(const struct kernel_dots_f64 *dots);

    /* Packs `count` keys, rows of `depth` contiguous numbers `stride` apart, as columns of a panel (panel_columns wide, the
     * missing ones 0). NULL: none of its own. */
    void (*pack_f32)(const float *keys, ptrdiff_t stride, size_t count, size_t depth, float *panel);
    void (*pack_f64)(const double *keys, ptrdiff_t stride, size_t count, size_t depth, double *panel);

    /* row[j] = exp(row[j] - max), with error <= 2 ulp; returns the sum of the new row. `max` is finite, elements
     * are at most max, or -infinity. */
    float (*exp_row_f32)(float *row, size_t count, float max);
    double (*exp_row_f64)(double *row, size_t count, double max);

    /* The same numbers for a row in which no key is masked, whose count is a multiple of row_step, and whatever its
     * elements are: the sum is NaN where one is not finite. */
    float (*exp_finite_row_f32)(float *row, size_t count, float max);
    double (*exp_finite_row_f64)(double *row, size_t count, double max);

    /* As exp_row, or where `finite` as exp_finite_row, with the same bits; *ret_terms: the sum of exp(x) * x over x = row[j] -
     * max, what is masked counting 0. */
    float (*exp_entropy_row_f32)(float *row, size_t count, float max, bool finite, float *ret_terms);
    double (*exp_entropy_row_f64)(double *row, size_t count, double max, bool finite, double *ret_terms);

    /* columns[j] += factors[r] * rows[r][j], or the largest of both, for r = 0, 1, .. in order. Rows are KERNEL_ROW_STRIDE
     * apart. A NaN among the columns stays one. */
    void (*add_columns_f32)(double *columns, const float *rows, size_t row_count, const double *factors, size_t count);
    void (*add_columns_f64)(double *columns, const double *rows, size_t row_count, const double *factors, size_t count);
    void (*max_columns_f32)(double *columns, const float *rows, size_t row_count, const double *factors, size_t count);
    void (*max_columns_f64)(double *columns, const double *rows, size_t row_count, const double *factors, size_t count);

    /* Adds mask->add and sets what is not visible to -infinity. *ret_max: the largest, -infinity where nothing is visible;
     * true where all that is visible is finite. count is a multiple of row_step, and may be more than mask->end. */
    bool (*mask_row_f32)(float *row, size_t count, const struct kernel_mask_f32 *mask, float *ret_max);
    bool (*mask_row_f64)(double *row, size_t count, const struct kernel_mask_f64 *mask, double *ret_max);

    /* row[j] = cap * tanh(row[j] / cap); what is not finite becomes NaN. */
    void (*softcap_row_f32)(float *row, size_t count, float cap);
    void (*softcap_row_f64)(double *row, size_t count, double cap);

    /* row[j] -= slope * |distance - j| */
    void (*alibi_row_f32)(float *row, size_t count, double distance, double slope);
    void (*alibi_row_f64)(double *row, size_t count, double distance, double slope);

    /* to[j] = from[j] * factor, or 0 for -0; `to` may be `from`. True where all that is written is finite. streaming: past the caches,
     * for what is not soon read again; streaming_done puts all such stores of the thread before those that follow. */
    bool (*scale_row_f32)(float *to, const float *from, size_t count, float factor);
    bool (*scale_row_f64)(double *to, const double *from, size_t count, double factor);
    void (*scale_streaming_f32)(float *to, const float *from, size_t count, float factor);
    void (*scale_streaming_f64)(double *to, const double *from, size_t count, double factor);
    void (*streaming_done)(void);

    /* The first element from `first` on that is larger than `bound`; count where there is none. */
    size_t (*find_above_f32)(const float *row, size_t first, size_t count, float bound);
    size_t (*find_above_f64)(const double *row, size_t first, size_t count, double bound);

    /* True where all elements are finite. */
    bool (*finite_row_f32)(const float *row, size_t count);
    bool (*finite_row_f64)(const double *row, size_t count);
};

/* The table in use: the fastest that this processor runs, unless another was chosen. Static. */
const struct kernels *kernels_in_use(void);

/* The same, or where its products are OpenBLAS's the portable one: with it an element of a product, and a row that is summed up, has the
 * same bits whatever is computed along with it. Static. */
const struct kernels *kernels_row_invariant(void);
extern const struct kernels kernels_portable;

/* Uses the table of that name from now on; false where this processor or this build has none. Call before any computation,
 * from one thread. */
bool kernels_choose(const char *name) __attribute__((warn_unused_result));

/* The i-th table that this processor runs, fastest first; NULL past the last. */
const struct kernels *kernels_at(size_t i);

#endif
