/* mask.inc.h: a boolean or an additive mask applied to a row of scores. Included once a precision, with REAL and NAME(x) defined. */

static bool NAME(keep_row)(REAL *row, size_t count, const unsigned char *keep)
{
    int32_t nonfinite = 0;
    for (size_t j = 0; j < count; j++) {
        REAL score = row[j];
        nonfinite |= (keep[j] != 0) & !(score - score == 0);
        row[j] = keep[j] != 0 ? score : -(REAL)INFINITY;
    }
    return nonfinite == 0;
}

static bool NAME(add_row)(REAL *row, size_t count, const REAL *add)
{
    int32_t nonfinite = 0;
    for (size_t j = 0; j < count; j++) {
        REAL score = row[j] + add[j];
        bool masked = add[j] == -(REAL)INFINITY;
        nonfinite |= !masked & !(score - score == 0);
        row[j] = masked ? -(REAL)INFINITY : score;
    }
    return nonfinite == 0;
}
