/* Every kernel table that this processor runs, against straight loops in double. */
#include "tests/support/check.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/kernels/kernels.h"
#include "tests/support/draw.h"

/* The tables that this processor runs, and the portable one, which is not chosen by name. */
static const struct kernels *table_at(size_t i)
{
    size_t count = 0;
    while (kernels_at(count) != NULL)
        count++;
    return i == count ? &kernels_portable : kernels_at(i);
}

#define ROWS 29
#define COLUMNS 150
#define C_STRIDE 600 /* whole panels fit */

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Distance from the exact value in units of float32's last place there. */
static double ulps(float got, double exact)
{
    float nearest = (float)exact;
    double place = (double)(nextafterf(fabsf(nearest), INFINITY) - fabsf(nearest));
    return fabs((double)got - exact) / place;
}

/* All negative floats in steps, each step's start moved so that every run of bits is met; EXP_STEP=1 takes all of them. What would be
 * subnormal, or just about, may be 0. */
static void exp_is_within_two_ulps(void **state)
{
    (void)state;
    const char *step_text = getenv("EXP_STEP");
    uint32_t step = step_text == NULL ? 251 : (uint32_t)strtoul(step_text, NULL, 10);
    for (size_t table = 0; table_at(table) != NULL; table++) {
        double worst = 0;
        for (uint64_t first = 0x80000000U; first < 0xff800000U; first += (uint64_t)16 * step) {
            float row[16], in[16];
            for (size_t i = 0; i < 16; i++) {
                uint64_t bits = first + i * step;
                in[i] = row[i] = float_of(bits > 0xff800000U ? 0xff800000U : (uint32_t)bits);
            }
            (void)table_at(table)->exp_row_f32(row, 16, 0);
            for (size_t i = 0; i < 16; i++)
                if (row[i] != 0 || exp((double)in[i]) > 1.000001 * (double)FLT_MIN)
                    worst = fmax(worst, ulps(row[i], exp((double)in[i])));
        }
        print_message("%s: exp within %.3f ulp\n", table_at(table)->name, worst);
        assert_true(worst <= 2);
    }
}

static void exp_of_doubles_is_within_two_ulps(void **state)
{
    (void)state;
    for (size_t table = 0; table_at(table) != NULL; table++) {
        struct draw draw = {table + 1};
        double worst = 0;
        for (size_t i = 0; i < 400000; i++) {
            double row[11];
            double x = i < 4 ? (double[]){0, -0.0, -745.1, -708.4}[i] : -exp(draw_unit(&draw) * 20 - 13);
            row[0] = row[10] = x;
            for (size_t j = 1; j < 10; j++)
                row[j] = -INFINITY;
            (void)table_at(table)->exp_row_f64(row, 11, 0);
            long double exact = expl((long double)x);
            double place = nextafter((double)exact, INFINITY) - (double)exact;
            assert_true(row[0] == row[10] && row[1] == 0);
            if (row[0] == 0 && exact < 1.000001L * (long double)DBL_MIN)
                continue;
            worst = fmax(worst, (double)(fabsl((long double)row[0] - exact) / (long double)place));
        }
        print_message("%s: exp of doubles within %.3f ulp\n", table_at(table)->name, worst);
        assert_true(worst <= 2);
    }
}

static void exp_takes_rows_of_any_length(void **state)
{
    (void)state;
    for (size_t table = 0; table_at(table) != NULL; table++) {
        for (size_t count = 0; count <= 40; count++) {
            float row[41];
            double sum = 0;
            for (size_t i = 0; i <= count; i++)
                row[i] = i == 1 ? -INFINITY : -(float)i / 3;
            float got = table_at(table)->exp_row_f32(row, count, 0.5F);
            for (size_t i = 0; i < count; i++) {
                double exact = i == 1 ? 0 : exp((double)(-(float)i / 3) - 0.5);
                assert_true(fabs((double)row[i] - exact) <= 2e-7);
                sum += exact;
            }
            assert_true(fabs((double)got - sum) <= 1e-6 * fmax(1, sum));
            assert_true(row[count] == (count == 1 ? -INFINITY : -(float)count / 3));
        }
    }
}

/* The row that is known to have no masked key: the same numbers, and a sum that tells what is not finite, however small. */
static void exp_tells_what_is_not_finite(void **state)
{
    (void)state;
    static const float nonfinite[] = {INFINITY, -INFINITY, NAN};
    for (size_t table = 0; table_at(table) != NULL; table++) {
        const struct kernels *kernels = table_at(table);
        for (size_t at = 0; at < 32; at++) {
            float row[32], same[32];
            double wide[32], same_wide[32];
            for (size_t i = 0; i < 32; i++) {
                row[i] = same[i] = -(float)(i * i) / 4;
                wide[i] = same_wide[i] = (double)row[i];
            }
            assert_true(kernels->exp_finite_row_f32(row, 32, 0.25F) == kernels->exp_row_f32(same, 32, 0.25F));
            assert_true(kernels->exp_finite_row_f64(wide, 32, 0.25) == kernels->exp_row_f64(same_wide, 32, 0.25));
            assert_memory_equal(row, same, sizeof row);
            assert_memory_equal(wide, same_wide, sizeof wide);
            row[at] = nonfinite[at % 3];
            wide[at] = (double)nonfinite[at % 3];
            assert_true(isnan(kernels->exp_finite_row_f32(row, 32, 0.25F)));
            assert_true(isnan(kernels->exp_finite_row_f64(wide, 32, 0.25)));
        }
    }
}

static void softcap_follows_tanh(void **state)
{
    (void)state;
    static const float caps[] = {0.5F, 1, 30, 1e10F};
    for (size_t table = 0; table_at(table) != NULL; table++) {
        double worst = 0;
        for (size_t c = 0; c < sizeof caps / sizeof caps[0]; c++) {
            for (int i = -4000; i <= 4000; i += 17) {
                float row[17], in[17];
                for (int j = 0; j < 17; j++)
                    in[j] = row[j] = caps[c] * (float)(i + j) / 500;
                table_at(table)->softcap_row_f32(row, 17, caps[c]);
                for (size_t j = 0; j < 17; j++)
                    worst = fmax(worst, ulps(row[j], (double)caps[c] * tanh((double)in[j] / (double)caps[c])));
            }
        }
        print_message("%s: softcap within %.3f ulp\n", table_at(table)->name, worst);
        assert_true(worst <= 4);
        float nonfinite[3] = {INFINITY, -INFINITY, NAN};
        table_at(table)->softcap_row_f32(nonfinite, 3, 2);
        assert_true(isnan(nonfinite[0]) && isnan(nonfinite[1]) && isnan(nonfinite[2]));
    }
}

/* At every place in a line, on rows of any length, onto itself and past the caches. */
static void scale_writes_its_row_alone(void **state)
{
    (void)state;
    for (size_t table = 0; table_at(table) != NULL; table++) {
        const struct kernels *kernels = table_at(table);
        for (size_t count = 0; count <= 70; count++) {
            for (size_t at = 0; at < 16; at++) {
                float from[70], to[100] = {0}, streamed[100] = {0};
                double wide_from[70], wide_streaming[100] = {0};
                for (size_t i = 0; i < count; i++)
                    wide_from[i] = (double)(to[at + i] = from[i] = (float)(i + 1));
                kernels->scale_row_f32(to + at, to + at, count, 0.75F);
                kernels->scale_streaming_f32(streamed + at, from, count, 0.75F);
                kernels->scale_streaming_f64(wide_streaming + at, wide_from, count, 0.75);
                kernels->streaming_done();
                for (size_t i = 0; i < 100; i++) {
                    float expected = i >= at && i < at + count ? (float)(i - at + 1) * 0.75F : 0;
                    assert_true(to[i] == expected && streamed[i] == expected && wide_streaming[i] == (double)expected);
                }
            }
        }
    }
}

#define MASK_COLUMNS 64 /* a multiple of each table's row_step */

/* A row of scores under a mask, in both precisions, against one element at a time. */
static void mask_row_against_loop(const struct kernels *kernels, struct draw *draw)
{
    static const float nonfinite[] = {INFINITY, -INFINITY, NAN};
    float row[MASK_COLUMNS], add[MASK_COLUMNS], max, exact_max = -INFINITY;
    double wide[MASK_COLUMNS], wide_add[MASK_COLUMNS], wide_max;
    unsigned char keep[MASK_COLUMNS];
    size_t end = draw_size(draw, 0, MASK_COLUMNS), begin = draw_size(draw, 0, end), kind = draw_size(draw, 0, 2);
    float expected[MASK_COLUMNS];
    bool finite = true;
    for (size_t j = 0; j < MASK_COLUMNS; j++) {
        row[j] = draw_chance(draw, 0.02) ? nonfinite[j % 3] : -(float)draw_size(draw, 0, 1000);
        add[j] = draw_chance(draw, 0.3) ? -INFINITY : (float)draw_size(draw, 0, 7);
        keep[j] = draw_chance(draw, 0.3) ? 0 : 2;
        bool visible = j >= begin && j < end && (kind != 1 || keep[j] != 0) && (kind != 2 || add[j] != -INFINITY);
        expected[j] = !visible ? -INFINITY : kind == 2 ? row[j] + add[j] : row[j];
        finite &= !visible || isfinite(expected[j]);
        exact_max = expected[j] > exact_max ? expected[j] : exact_max;
        wide[j] = (double)row[j];
        wide_add[j] = (double)add[j];
    }
    const struct kernel_mask_f32 mask = {begin, end, kind == 1 ? keep : NULL, kind == 2 ? add : NULL};
    const struct kernel_mask_f64 wide_mask = {begin, end, kind == 1 ? keep : NULL, kind == 2 ? wide_add : NULL};
    assert_true(kernels->mask_row_f32(row, MASK_COLUMNS, &mask, &max) == finite);
    assert_true(kernels->mask_row_f64(wide, MASK_COLUMNS, &wide_mask, &wide_max) == finite);
    assert_true(!finite || (max == exact_max && wide_max == (double)exact_max));
    for (size_t j = 0; j < MASK_COLUMNS && finite; j++)
        assert_true(row[j] == expected[j] && wide[j] == (double)expected[j]);
}

static void masks_agree_with_loops(void **state)
{
    (void)state;
    for (size_t table = 0; table_at(table) != NULL; table++) {
        struct draw draw = {table + 1};
        assert_true(MASK_COLUMNS % table_at(table)->row_step_f32 == 0);
        assert_true(MASK_COLUMNS % table_at(table)->row_step_f64 == 0);
        for (size_t i = 0; i < 20000; i++)
            mask_row_against_loop(table_at(table), &draw);
    }
}

static void finite_row_finds_each_element(void **state)
{
    (void)state;
    static const float nonfinite[] = {INFINITY, -INFINITY, NAN};
    for (size_t table = 0; table_at(table) != NULL; table++) {
        const struct kernels *kernels = table_at(table);
        for (size_t count = 0; count <= 70; count++) {
            float row[70];
            double wide[70];
            for (size_t i = 0; i < count; i++)
                wide[i] = (double)(row[i] = -(float)((i + 3) % count));
            assert_true(kernels->finite_row_f32(row, count) && kernels->finite_row_f64(wide, count));
            for (size_t i = 0; i < count; i++) {
                float before = row[i];
                wide[i] = (double)(row[i] = nonfinite[i % 3]);
                assert_false(kernels->finite_row_f32(row, count));
                assert_false(kernels->finite_row_f64(wide, count));
                wide[i] = (double)(row[i] = before);
            }
        }
    }
}

/* One product of each precision against a straight loop, with a left operand whose rows are no multiple of the kernel's, and a right one whose last panel
 * is not full. */
static void product_of(const struct kernels *kernels, size_t rows, size_t columns, size_t depth, bool add)
{
    size_t panel = kernels->panel_columns_f32 != 0 ? kernels->panel_columns_f32 : columns;
    size_t count = (columns + panel - 1) / panel;
    float *a = calloc(rows * KERNEL_ROW_STRIDE, sizeof *a), *panels = calloc(count * depth * panel + 1, sizeof *panels);
    float *c = calloc(rows * C_STRIDE, sizeof *c);
    assert_non_null(a);
    assert_non_null(panels);
    assert_non_null(c);
    struct draw draw = {rows * 1000003 + columns * 1009 + depth};
    for (size_t i = 0; i < rows * KERNEL_ROW_STRIDE; i++)
        a[i] = (float)draw_normal(&draw);
    for (size_t k = 0; k < depth; k++)
        for (size_t j = 0; j < columns; j++)
            panels[j / panel * depth * panel + k * panel + j % panel] = (float)draw_normal(&draw);
    for (size_t i = 0; i < rows * C_STRIDE; i++)
        c[i] = 1;
    bool tells_max = kernels->product_is_chain && rows <= kernels->rows_f32;
    float max[ROWS] = {0};
    const struct kernel_product_f32 product = {
        .rows = rows,
        .columns = columns,
        .depth = depth,
        .a = a,
        .panels = panels,
        .panel_columns = panel,
        .panel_stride = depth * panel,
        .panel_row_stride = panel,
        .alpha = 0.5F,
        .add = add,
        .c = c,
        .c_stride = C_STRIDE,
        .ret_max = tells_max ? max : NULL,
    };
    kernels->product_f32(&product);
    for (size_t r = 0; r < rows; r++) {
        float exact_max = -INFINITY;
        for (size_t j = 0; j < count * panel; j++)
            exact_max = fmaxf(exact_max, c[r * C_STRIDE + j]);
        assert_true(!tells_max || max[r] == exact_max);
        for (size_t j = 0; j < columns; j++) {
            double exact = 0;
            for (size_t k = 0; k < depth; k++)
                exact +=
                    (double)a[r * KERNEL_ROW_STRIDE + k] * (double)panels[j / panel * depth * panel + k * panel + j % panel];
            exact = 0.5 * exact + (add ? 1 : 0);
            assert_true(fabs((double)c[r * C_STRIDE + j] - exact) <= 1e-6 * (double)(depth + 1));
        }
    }
    free(a);
    free(panels);
    free(c);
}

static void products_agree_with_loops(void **state)
{
    (void)state;
    static const size_t depths[] = {0, 1, 7, 64, 512};
    for (size_t table = 0; table_at(table) != NULL; table++)
        for (size_t rows = 1; rows <= ROWS; rows += 1)
            for (size_t d = 0; d < sizeof depths / sizeof depths[0]; d++)
                product_of(table_at(table), rows, rows % 2 == 0 ? COLUMNS : rows, depths[d], rows % 3 == 0);
}

/* An element's bits don't depend on what is computed beside it: what attention's bit-equality rests on. */
static void products_of_ours_are_chains(void **state)
{
    (void)state;
    for (size_t table = 0; table_at(table) != NULL; table++) {
        const struct kernels *kernels = table_at(table);
        size_t panel = kernels->panel_columns_f32;
        if (panel == 0) /* OpenBLAS's: tiles of one shape see to it there */
            continue;
        static float a[24 * KERNEL_ROW_STRIDE], panels[2 * 64 * 64], all[24 * C_STRIDE], one[C_STRIDE];
        struct draw draw = {table + 1};
        for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)
            a[i] = (float)draw_normal(&draw);
        for (size_t i = 0; i < sizeof panels / sizeof panels[0]; i++)
            panels[i] = (float)draw_normal(&draw);
        struct kernel_product_f32 product = {
            .rows = 24,
            .columns = 2 * panel,
            .depth = 64,
            .a = a,
            .panels = panels,
            .panel_columns = panel,
            .panel_stride = 64 * panel,
            .panel_row_stride = panel,
            .alpha = 0.3F,
            .c = all,
            .c_stride = C_STRIDE,
        };
        kernels->product_f32(&product);
        product.rows = 1;
        product.columns = panel;
        product.c = one;
        for (size_t r = 0; r < 24; r++) {
            product.a = a + r * KERNEL_ROW_STRIDE;
            kernels->product_f32(&product);
            assert_memory_equal(one, all + r * C_STRIDE, panel * sizeof *one);
        }
    }
}

/* Entropy's variant leaves exp_row's numbers and sum, and a masked score adds nothing to its terms. */
static void entropy_goes_with_exp(void **state)
{
    (void)state;
    for (size_t table = 0; table_at(table) != NULL; table++) {
        const struct kernels *kernels = table_at(table);
        for (size_t masked = 0; masked < 3; masked++) {
            float row[64], same[64], terms;
            double wide[64], same_wide[64], wide_terms, exact = 0;
            for (size_t i = 0; i < 64; i++) {
                row[i] = same[i] = masked > 0 && i % (masked + 1) == 0 ? -INFINITY : -(float)i / 8;
                wide[i] = same_wide[i] = (double)row[i];
                exact += isinf(row[i]) ? 0 : exp(wide[i] - 0.25) * (wide[i] - 0.25);
            }
            bool finite = masked == 0;
            assert_true(kernels->exp_entropy_row_f32(row, 64, 0.25F, finite, &terms) == kernels->exp_row_f32(same, 64, 0.25F));
            assert_true(kernels->exp_entropy_row_f64(wide, 64, 0.25, finite, &wide_terms) ==
                        kernels->exp_row_f64(same_wide, 64, 0.25));
            assert_memory_equal(row, same, sizeof row);
            assert_memory_equal(wide, same_wide, sizeof wide);
            assert_true(fabs((double)terms - exact) <= 1e-5 && fabs(wide_terms - exact) <= 1e-13);
        }
    }
}

/* Columns of any count, and the same bits when rows come in two calls. */
static void columns_agree_with_loops(void **state)
{
    (void)state;
    static float rows[ROWS * KERNEL_ROW_STRIDE];
    static double wide[ROWS * KERNEL_ROW_STRIDE];
    struct draw draw = {5};
    double factors[ROWS];
    for (size_t i = 0; i < ROWS * KERNEL_ROW_STRIDE; i++)
        wide[i] = (double)(rows[i] = (float)draw_unit(&draw));
    for (size_t r = 0; r < ROWS; r++)
        factors[r] = draw_unit(&draw);
    for (size_t table = 0; table_at(table) != NULL; table++) {
        const struct kernels *kernels = table_at(table);
        for (size_t count = 0; count <= COLUMNS; count += 1 + count / 3) {
            double sums[COLUMNS + 1] = {0}, parts[COLUMNS + 1] = {0}, largest[COLUMNS + 1] = {0}, same[COLUMNS + 1] = {0};
            kernels->add_columns_f32(sums, rows, ROWS, factors, count);
            kernels->add_columns_f64(parts, wide, 7, factors, count);
            kernels->add_columns_f64(parts, wide + (size_t)7 * KERNEL_ROW_STRIDE, ROWS - 7, factors + 7, count);
            kernels->max_columns_f32(largest, rows, ROWS, factors, count);
            kernels->max_columns_f64(same, wide, ROWS, factors, count);
            assert_memory_equal(sums, parts, sizeof sums);
            assert_memory_equal(largest, same, sizeof same);
            for (size_t j = 0; j <= count; j++) {
                double sum = 0, max = 0;
                for (size_t r = 0; r < ROWS && j < count; r++) {
                    sum += factors[r] * wide[r * KERNEL_ROW_STRIDE + j];
                    max = fmax(max, factors[r] * wide[r * KERNEL_ROW_STRIDE + j]);
                }
                assert_true(fabs(sums[j] - sum) <= 1e-13 && largest[j] == max);
            }
        }
    }
}

static void find_above_finds_each_element(void **state)
{
    (void)state;
    float row[70] = {0};
    double wide[70] = {0};
    for (size_t table = 0; table_at(table) != NULL; table++) {
        for (size_t at = 0; at < 70; at++) {
            row[at] = 2, wide[at] = 2;
            for (size_t first = 0; first < 70; first += 3) {
                size_t want = first <= at ? at : 70;
                assert_int_equal(table_at(table)->find_above_f32(row, first, 70, 1), want);
                assert_int_equal(table_at(table)->find_above_f64(wide, first, 70, 1), want);
                assert_int_equal(table_at(table)->find_above_f32(row, first, 70, 2), 70);
            }
            row[at] = 0, wide[at] = 0;
        }
    }
}

static void tables_are_chosen_by_name(void **state)
{
    (void)state;
    const struct kernels *fastest = kernels_in_use();
    assert_ptr_equal(fastest, kernels_at(0));
    assert_false(kernels_choose("no such"));
    assert_true(kernels_choose("generic"));
    assert_string_equal(kernels_in_use()->name, "generic");
    assert_true(kernels_choose(fastest->name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exp_is_within_two_ulps),        cmocka_unit_test(exp_of_doubles_is_within_two_ulps),
        cmocka_unit_test(exp_takes_rows_of_any_length),  cmocka_unit_test(exp_tells_what_is_not_finite),
        cmocka_unit_test(softcap_follows_tanh),          cmocka_unit_test(scale_writes_its_row_alone),
        cmocka_unit_test(masks_agree_with_loops),        cmocka_unit_test(finite_row_finds_each_element),
        cmocka_unit_test(products_agree_with_loops),     cmocka_unit_test(products_of_ours_are_chains),
        cmocka_unit_test(entropy_goes_with_exp),         cmocka_unit_test(columns_agree_with_loops),
        cmocka_unit_test(find_above_finds_each_element), cmocka_unit_test(tables_are_chosen_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
