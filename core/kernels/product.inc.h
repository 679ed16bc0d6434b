/* product.inc.h: rows times panels, the one product of attention's tiles. Included once a precision, with REAL, INTEGER (as
 * wide), LANES (numbers a vector), VECTORS (a panel's row is so many), ROWS (ROWS * VECTORS sums live in registers) and NAME(x)
 * defined. */

typedef REAL NAME(panel_lanes) __attribute__((vector_size(LANES * sizeof(REAL))));

typedef INTEGER NAME(panel_mask) __attribute__((vector_size(LANES * sizeof(INTEGER))));

#define PANEL (VECTORS * LANES) /* panel_columns */

static inline NAME(panel_lanes) NAME(panel_load)(const REAL *from)
{
    NAME(panel_lanes) lanes;
    memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

static inline void NAME(panel_store)(REAL *to, NAME(panel_lanes) lanes)
{
    memcpy(to, &lanes, sizeof lanes);
}

static inline NAME(panel_lanes) NAME(panel_max)(NAME(panel_lanes) a, NAME(panel_lanes) b)
{
    NAME(panel_mask) above = (NAME(panel_mask))(a > b);
    return (NAME(panel_lanes))((above & (NAME(panel_mask))a) | (~above & (NAME(panel_mask))b));
}

/* `rows` rows of one panel, and their maxima, lane by lane, brought into `maxima` (NULL: not wanted). `rows` is a constant at each
 * call, so that the sums stay in registers. */
static inline __attribute__((always_inline)) void NAME(rows_panel)(size_t rows, size_t depth, const REAL *a, const REAL *panel,
                                                                   size_t panel_row_stride, REAL alpha, bool add, REAL *c,
                                                                   size_t c_stride, NAME(panel_lanes) *maxima)
{
    NAME(panel_lanes) sums[ROWS][VECTORS];
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            sums[r][v] = (NAME(panel_lanes)){0};
    for (size_t k = 0; k < depth; k++) {
        NAME(panel_lanes) right[VECTORS];
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++)
            right[v] = NAME(panel_load)(panel + k * panel_row_stride + v * LANES);
#pragma GCC unroll 16
        for (size_t r = 0; r < rows; r++) {
            REAL x = a[r * KERNEL_ROW_STRIDE + k];
#pragma GCC unroll 4
            for (size_t v = 0; v < VECTORS; v++)
                sums[r][v] += x * right[v];
        }
    }
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        REAL *to = c + r * c_stride;
#pragma GCC unroll 4
        for (size_t v = 0; v < VECTORS; v++) {
            sums[r][v] *= alpha;
            if (add)
                sums[r][v] += NAME(panel_load)(to + v * LANES);
            NAME(panel_store)(to + v * LANES, sums[r][v]);
        }
    }
    if (maxima == NULL)
        return;
#pragma GCC unroll 16
    for (size_t r = 0; r < rows; r++) {
        NAME(panel_lanes) largest = sums[r][0];
#pragma GCC unroll 4
        for (size_t v = 1; v < VECTORS; v++)
            largest = NAME(panel_max)(largest, sums[r][v]);
        maxima[r] = NAME(panel_max)(largest, maxima[r]);
    }
}

static inline REAL NAME(lanes_max)(const NAME(panel_lanes) *lanes)
{
    REAL part[LANES];
    memcpy(part, lanes, sizeof part);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            part[i] = part[i] > part[i + width] ? part[i] : part[i + width];
    return part[0];
}

/* Rows in the largest steps that registers allow. */
static void NAME(product)(const struct NAME(kernel_product) *p)
{
    NAME(panel_lanes) maxima[2 * ROWS];
    for (size_t r = 0; r < p->rows && p->ret_max != NULL; r++)
        maxima[r] = (NAME(panel_lanes)){0} - (REAL)INFINITY;
    for (size_t column = 0; column < p->columns; column += PANEL) {
        const REAL *panel = p->panels + column / PANEL * p->panel_stride;
        size_t r = 0;
        while (r < p->rows) {
            const REAL *a = p->a + r * KERNEL_ROW_STRIDE;
            REAL *c = p->c + r * p->c_stride + column;
            NAME(panel_lanes) *row_maxima = p->ret_max == NULL ? NULL : maxima + r;
            size_t left = p->rows - r, step;
#define STEP(n)                                                                                                                \
    if (left >= (n)) {                                                                                                         \
        NAME(rows_panel)((n), p->depth, a, panel, p->panel_row_stride, p->alpha, p->add, c, p->c_stride, row_maxima);          \
        step = (n);                                                                                                            \
    } else
            STEP(ROWS) STEP(ROWS / 2) STEP(2)
            {
                NAME(rows_panel)(1, p->depth, a, panel, p->panel_row_stride, p->alpha, p->add, c, p->c_stride, row_maxima);
                step = 1;
            }
#undef STEP
            r += step;
        }
    }
    for (size_t r = 0; r < p->rows && p->ret_max != NULL; r++)
        p->ret_max[r] = NAME(lanes_max)(&maxima[r]);
}

/* Which elements of two vectors, one behind the other, make the lower and the upper half of both interleaved. */
static inline NAME(panel_mask) NAME(interleaved)(bool upper)
{
    NAME(panel_mask) mask;
    for (int i = 0; i < (int)LANES; i++)
        mask[i] = (i / 2 + (upper ? (int)LANES / 2 : 0)) + (i % 2 != 0 ? (int)LANES : 0);
    return mask;
}

/* The lanes of a and behind them those of b, as the mask picks them. */
static inline __attribute__((always_inline)) NAME(panel_lanes)
    NAME(picked)(NAME(panel_lanes) a, NAME(panel_lanes) b, NAME(panel_mask) mask)
{
#ifdef __clang__ /* which has no shuffle by a variable; the fuzzers are built with it */
    NAME(panel_lanes) lanes;
    for (size_t i = 0; i < LANES; i++)
        lanes[i] = (size_t)mask[i] < LANES ? a[mask[i]] : b[(size_t)mask[i] - LANES];
    return lanes;
#else
    return __builtin_shuffle(a, b, mask);
#endif
}

/* LANES keys at LANES dimensions, transposed: interleaving row i with row i + LANES/2, log2(LANES) times. */
static inline __attribute__((always_inline)) void NAME(pack_square)(const REAL *keys, ptrdiff_t stride, REAL *panel)
{
    const NAME(panel_mask) low = NAME(interleaved)(false), high = NAME(interleaved)(true);
    NAME(panel_lanes) rows[LANES], next[LANES];
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        rows[i] = NAME(panel_load)(keys + (ptrdiff_t)i * stride);
#pragma GCC unroll 4
    for (size_t round = LANES; round > 1; round /= 2) {
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES / 2; i++) {
            next[2 * i] = NAME(picked)(rows[i], rows[i + LANES / 2], low);
            next[2 * i + 1] = NAME(picked)(rows[i], rows[i + LANES / 2], high);
        }
#pragma GCC unroll 16
        for (size_t i = 0; i < LANES; i++)
            rows[i] = next[i];
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < LANES; i++)
        NAME(panel_store)(panel + i * PANEL, rows[i]);
}

static void NAME(pack)(const REAL *keys, ptrdiff_t stride, size_t count, size_t depth, REAL *panel)
{
    size_t whole_keys = count / LANES * LANES, whole_depth = depth / LANES * LANES;
    for (size_t j = 0; j < whole_keys; j += LANES)
        for (size_t d = 0; d < whole_depth; d += LANES)
            NAME(pack_square)(keys + (ptrdiff_t)j * stride + d, stride, panel + d * PANEL + j);
    for (size_t d = 0; d < depth; d++)
        for (size_t j = d < whole_depth ? whole_keys : 0; j < PANEL; j++)
            panel[d * PANEL + j] = j < count ? keys[(ptrdiff_t)j * stride + (ptrdiff_t)d] : 0;
}

static inline REAL NAME(lanes_sum)(NAME(panel_lanes) lanes)
{
    REAL part[LANES];
    memcpy(part, &lanes, sizeof part);
    for (size_t width = LANES / 2; width > 0; width /= 2)
        for (size_t i = 0; i < width; i++)
            part[i] += part[i + width];
    return part[0];
}

/* Each key is loaded once, and meets all rows. */
static void NAME(dots)(const struct NAME(kernel_dots) *p)
{
    for (size_t j = 0; j < p->keys; j++) {
        const REAL *key = p->b + (ptrdiff_t)j * p->b_stride;
        for (size_t r = 0; r < p->rows; r++) {
            const REAL *row = p->a + r * KERNEL_ROW_STRIDE;
            NAME(panel_lanes) sums[VECTORS] = {0};
            for (size_t d = 0; d < p->depth; d += PANEL)
#pragma GCC unroll 4
                for (size_t v = 0; v < VECTORS; v++)
                    sums[v] += NAME(panel_load)(row + d + v * LANES) * NAME(panel_load)(key + d + v * LANES);
            NAME(panel_lanes) sum = sums[0];
#pragma GCC unroll 4
            for (size_t v = 1; v < VECTORS; v++)
                sum += sums[v];
            p->c[r * KERNEL_ROW_STRIDE + j] = p->alpha * NAME(lanes_sum)(sum);
        }
    }
}

#undef PANEL
