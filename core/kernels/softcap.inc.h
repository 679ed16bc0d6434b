/* softcap.inc.h: cap * tanh(score / cap) of a row of scores. */

#define ODD_TANH 0.625F /* below it tanh goes by its own polynomial */

/* tanh: an odd polynomial up to ODD_TANH (interpolated at Chebyshev's nodes, relative error 2e-8), (1 - e)/(1 + e) with
 * e = exp(-2|x|) beyond. */
static inline lanes_f32 tanh_lanes(lanes_f32 x)
{
    lanes_i32 sign = (lanes_i32)x & INT32_MIN;
    lanes_f32 size = (lanes_f32)((lanes_i32)x & INT32_MAX);
    lanes_f32 square = x * x;
    lanes_f32 p = square * -0.006096714165908197F + 0.020997178999074752F;
    p = p * square - 0.05385090957851358F;
    p = p * square + 0.13332769736976327F;
    p = p * square - 0.33333328944134255F;
    lanes_f32 small = size + size * (square * p);
    lanes_f32 e = exp_lanes(size * -2.0F);
    lanes_f32 large = (1.0F - e) / (1.0F + e);
    lanes_i32 magnitude = (lanes_i32)select_f32(smaller_f32(x, ODD_TANH), small, large);
    return (lanes_f32)(magnitude | sign);
}

static inline lanes_f32 softcap_lanes(lanes_f32 x, float cap)
{
    return cap * tanh_lanes(x / cap) + (x - x); /* x - x: 0, or NaN where x is not finite */
}

static void softcap_row_f32(float *row, size_t count, float cap)
{
    size_t j = 0;
    for (; j + LANES_F32 <= count; j += LANES_F32) {
        lanes_f32 y = softcap_lanes(load_f32(row + j), cap);
        store_f32(row + j, &y);
    }
    if (j < count) {
        float rest[LANES_F32] = {0};
        memcpy(rest, row + j, (count - j) * sizeof *row);
        lanes_f32 y = softcap_lanes(load_f32(rest), cap);
        store_f32(rest, &y);
        memcpy(row + j, rest, (count - j) * sizeof *row);
    }
}

static void softcap_row_f64(double *row, size_t count, double cap)
{
    for (size_t j = 0; j < count; j++)
        row[j] = cap * tanh(row[j] / cap) + (row[j] - row[j]);
}
