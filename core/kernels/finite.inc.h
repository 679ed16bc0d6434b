/* finite.inc.h: the largest element of a row, and whether all of its elements are finite. */

static bool max_row_f32(const float *row, size_t count, float *ret_max)
{
    lanes_f32 max = (lanes_f32){0} - INFINITY;
    lanes_f32 nonfinite = {0}; /* 0 while all is finite, NaN after */
    size_t j = 0;
    for (; j + LANES_F32 <= count; j += LANES_F32) {
        lanes_f32 x = load_f32(row + j);
        max = select_f32(x > max, x, max);
        nonfinite += x * 0.0F;
    }
    float top = -INFINITY;
    float rest_nonfinite = sum_lanes(&nonfinite);
    for (size_t i = 0; i < LANES_F32; i++)
        top = max[i] > top ? max[i] : top;
    for (; j < count; j++) {
        top = row[j] > top ? row[j] : top;
        rest_nonfinite += row[j] - row[j];
    }
    *ret_max = top;
    return rest_nonfinite == 0;
}

static bool max_row_f64(const double *row, size_t count, double *ret_max)
{
    double top = -INFINITY;
    double nonfinite = 0;
    for (size_t j = 0; j < count; j++) {
        top = row[j] > top ? row[j] : top;
        nonfinite += row[j] - row[j];
    }
    *ret_max = top;
    return nonfinite == 0;
}

static bool finite_row_f32(const float *row, size_t count)
{
    lanes_f32 nonfinite = {0};
    size_t j = 0;
    for (; j + LANES_F32 <= count; j += LANES_F32) {
        nonfinite += load_f32(row + j) * 0.0F;
    }
    float rest = sum_lanes(&nonfinite);
    for (; j < count; j++)
        rest += row[j] - row[j];
    return rest == 0;
}

static bool finite_row_f64(const double *row, size_t count)
{
    double nonfinite = 0;
    for (size_t j = 0; j < count; j++)
        nonfinite += row[j] - row[j];
    return nonfinite == 0;
}
