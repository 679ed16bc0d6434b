/* columns.inc.h: rows of exponentials, each times its own factor, brought together column by column, in double. A column's
 * numbers come in the rows' order, so its bits don't depend on how rows are divided between calls. */

#define COLUMN_LANES (VECTOR_BYTES / sizeof(double))
#define COLUMN_VECTORS 4

typedef float column_floats __attribute__((vector_size(VECTOR_BYTES / 2)));

static inline lanes_f64 load_wide_f32(const float *from)
{
    column_floats floats;
    memcpy(&floats, from, sizeof floats);
    return __builtin_convertvector(floats, lanes_f64);
}

static inline lanes_f64 load_wide_f64(const double *from)
{
    return load_f64(from);
}

static inline __attribute__((always_inline)) lanes_f64 column_vector(lanes_f64 column, lanes_f64 x, double factor, bool largest)
{
    return largest ? larger_f64(x * factor, column) : column + x * factor;
}

static inline __attribute__((always_inline)) double column_number(double column, double x, double factor, bool largest)
{
    double product = x * factor;
    return !largest ? column + x * factor : product > column ? product : column;
}

#define COLUMNS(precision, type)                                                                                               \
    static inline __attribute__((always_inline)) void columns_##precision(double *columns, const type *rows, size_t row_count, \
                                                                          const double *factors, size_t count, bool largest)   \
    {                                                                                                                          \
        size_t j = 0;                                                                                                          \
        for (; j + COLUMN_VECTORS * COLUMN_LANES <= count; j += COLUMN_VECTORS * COLUMN_LANES) {                               \
            lanes_f64 sums[COLUMN_VECTORS];                                                                                    \
            for (size_t v = 0; v < COLUMN_VECTORS; v++)                                                                        \
                sums[v] = load_f64(columns + j + v * COLUMN_LANES);                                                            \
            for (size_t r = 0; r < row_count; r++)                                                                             \
                for (size_t v = 0; v < COLUMN_VECTORS; v++)                                                                    \
                    sums[v] =                                                                                                  \
                        column_vector(sums[v], load_wide_##precision(rows + r * KERNEL_ROW_STRIDE + j + v * COLUMN_LANES),     \
                                      factors[r], largest);                                                                    \
            for (size_t v = 0; v < COLUMN_VECTORS; v++)                                                                        \
                store_f64(columns + j + v * COLUMN_LANES, sums[v]);                                                            \
        }                                                                                                                      \
        for (; j < count; j++)                                                                                                 \
            for (size_t r = 0; r < row_count; r++)                                                                             \
                columns[j] = column_number(columns[j], (double)rows[r * KERNEL_ROW_STRIDE + j], factors[r], largest);          \
    }                                                                                                                          \
                                                                                                                               \
    static void add_columns_##precision(double *columns, const type *rows, size_t row_count, const double *factors,            \
                                        size_t count)                                                                          \
    {                                                                                                                          \
        columns_##precision(columns, rows, row_count, factors, count, false);                                                  \
    }                                                                                                                          \
                                                                                                                               \
    static void max_columns_##precision(double *columns, const type *rows, size_t row_count, const double *factors,            \
                                        size_t count)                                                                          \
    {                                                                                                                          \
        columns_##precision(columns, rows, row_count, factors, count, true);                                                   \
    }

COLUMNS(f32, float)
COLUMNS(f64, double)
