/* softcap.inc.h: cap * tanh(score / cap) of a row of scores. */

#define TANH_POLYNOMIAL_MAX 0.625F

/* tanh: an odd polynomial up to TANH_POLYNOMIAL_MAX (interpolated at Chebyshev's nodes, relative error 2e-8), (1 - e)/(1 +
 * e) with e = exp(-2|x|) beyond. */
static inline lanes_f32 tanh_lanes(lanes_f32 x)
{
    mask_f32 sign = (mask_f32)x & INT32_MIN;
    lanes_f32 size = (lanes_f32)((mask_f32)x & INT32_MAX);
    lanes_f32 square = x * x;
    lanes_f32 p = square * -0.006096714165908197F + 0.020997178999074752F;
    p = p * square - 0.05385090957851358F;
    p = p * square + 0.13332769736976327F;
    p = p * square - 0.33333328944134255F;
    lanes_f32 small = size + size * (square * p);
    lanes_f32 e = exp_f32(size * -2.0F);
    lanes_f32 large = (1.0F - e) / (1.0F + e);
    mask_f32 magnitude = (mask_f32)select_f32((mask_f32)(size < TANH_POLYNOMIAL_MAX), small, large);
    return (lanes_f32)(magnitude | sign);
}

static inline lanes_f32 softcap_lanes(lanes_f32 x, float cap)
{
    return cap * tanh_lanes(x / cap) + (x - x); /* x - x: 0, or NaN where x is not finite */
}

static void softcap_row_f32(float *row, size_t count, float cap)
{
    const size_t lanes = VECTOR_BYTES / sizeof *row;
    size_t j = 0;
    for (; j + lanes <= count; j += lanes)
        store_f32(row + j, softcap_lanes(load_f32(row + j), cap));
    if (j < count) {
        float rest[VECTOR_BYTES / sizeof *row];
        store_f32(rest, softcap_lanes(load_part_f32(row + j, count - j), cap));
        memcpy(row + j, rest, (count - j) * sizeof *row);
    }
}

static void softcap_row_f64(double *row, size_t count, double cap)
{
    for (size_t j = 0; j < count; j++)
        row[j] = cap * tanh(row[j] / cap) + (row[j] - row[j]);
}
