/* Views: strides, counts that overflow, NumPy's broadcasting, shapes as text. */
#include <string.h>

#include "core/tensor.h"
#include "tests/support/check.h"

#define SHAPE(...) (sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t)), ((const size_t[]){__VA_ARGS__})

static void dtypes(void **state)
{
    (void)state;
    assert_int_equal(dtype_bytes(DTYPE_F32), 4);
    assert_int_equal(dtype_bytes(DTYPE_F64), 8);
    assert_int_equal(dtype_bytes(DTYPE_BOOL), 1);
}

static void contiguous_is_row_major(void **state)
{
    (void)state;
    float data[24];
    struct tensor t = tensor_contiguous(data, DTYPE_F32, SHAPE(2, 3, 4));
    assert_ptr_equal(t.data, data);
    assert_int_equal(t.dtype, DTYPE_F32);
    assert_int_equal(t.rank, 3);
    assert_true(t.shape[0] == 2 && t.shape[1] == 3 && t.shape[2] == 4);
    assert_true(t.stride[0] == 12 && t.stride[1] == 4 && t.stride[2] == 1);
    assert_true(tensor_is_contiguous(&t));
    assert_true(tensor_count(&t) == 24);

    struct tensor scalar = tensor_contiguous(data, DTYPE_F32, 0, NULL);
    assert_int_equal(scalar.rank, 0);
    assert_true(tensor_count(&scalar) == 1);
    assert_true(tensor_is_contiguous(&scalar));
}

static void other_layouts_are_not_contiguous(void **state)
{
    (void)state;
    float data[24];
    struct tensor t = tensor_contiguous(data, DTYPE_F32, SHAPE(4, 6));
    struct tensor transposed = t;
    transposed.shape[0] = 6;
    transposed.shape[1] = 4;
    transposed.stride[0] = 1;
    transposed.stride[1] = 6;
    assert_false(tensor_is_contiguous(&transposed));
    struct tensor sliced = t;
    sliced.shape[1] = 5;
    assert_false(tensor_is_contiguous(&sliced));
    struct tensor repeated = t;
    repeated.stride[0] = 0;
    assert_false(tensor_is_contiguous(&repeated));
    struct tensor backwards = t;
    backwards.data = data + 5;
    backwards.stride[1] = -1;
    assert_false(tensor_is_contiguous(&backwards));
}

static void empty_views_are_contiguous(void **state)
{
    (void)state;
    float data[1];
    struct tensor t = tensor_contiguous(data, DTYPE_F32, SHAPE(2, 0, 3));
    assert_true(tensor_count(&t) == 0);
    assert_true(tensor_is_contiguous(&t));
    t.stride[0] = 30;
    t.stride[2] = 2;
    assert_true(tensor_is_contiguous(&t));
}

static void axes_of_one_may_have_any_stride(void **state)
{
    (void)state;
    float data[3];
    struct tensor t = tensor_contiguous(data, DTYPE_F32, SHAPE(1, 3));
    t.stride[0] = 17;
    assert_true(tensor_is_contiguous(&t));
}

static void counts_saturate(void **state)
{
    (void)state;
    size_t half = (size_t)1 << 32;
    assert_true(shape_count(0, NULL) == 1);
    assert_true(shape_count(SHAPE(7)) == 7);
    assert_true(shape_count(SHAPE(3, 0, 5)) == 0);
    assert_true(shape_count(SHAPE(half, half)) == SIZE_MAX);
    assert_true(shape_count(SHAPE(half, half, 1)) == SIZE_MAX);
    assert_true(shape_count(SHAPE(half, half, half, 2)) == SIZE_MAX);
    assert_true(shape_count(SHAPE(half, half - 1)) == half * (half - 1));
    assert_true(shape_count(SHAPE(0, half, half)) == 0);
    assert_true(shape_count(SHAPE(half, half, 0)) == 0);
    struct tensor t = {.rank = 2, .shape = {half, half}};
    assert_true(tensor_count(&t) == SIZE_MAX);
}

static void broadcast_repeats(void **state)
{
    (void)state;
    float data[6];
    struct tensor t = tensor_contiguous(data, DTYPE_F32, SHAPE(2, 1, 3)), ret;
    assert_true(tensor_broadcast(&t, SHAPE(5, 2, 4, 3), &ret));
    assert_ptr_equal(ret.data, data);
    assert_int_equal(ret.dtype, DTYPE_F32);
    assert_int_equal(ret.rank, 4);
    assert_true(ret.shape[0] == 5 && ret.shape[1] == 2 && ret.shape[2] == 4 && ret.shape[3] == 3);
    assert_true(ret.stride[0] == 0 && ret.stride[1] == 3 && ret.stride[2] == 0 && ret.stride[3] == 1);
}

static void broadcast_keeps_what_fits(void **state)
{
    (void)state;
    float data[6];
    struct tensor t = tensor_contiguous(data, DTYPE_F32, SHAPE(2, 3)), ret;
    t.data = data + 5;
    t.stride[0] = -3;
    t.stride[1] = -1;
    assert_true(tensor_broadcast(&t, SHAPE(2, 3), &ret));
    assert_ptr_equal(ret.data, data + 5);
    assert_true(ret.rank == 2 && ret.stride[0] == -3 && ret.stride[1] == -1);

    struct tensor scalar = tensor_contiguous(data, DTYPE_F32, 0, NULL);
    assert_true(tensor_broadcast(&scalar, SHAPE(2, 2), &ret));
    assert_true(ret.rank == 2 && ret.stride[0] == 0 && ret.stride[1] == 0);
    assert_true(tensor_broadcast(&scalar, 0, NULL, &ret));
    assert_int_equal(ret.rank, 0);
}

static void broadcast_to_itself(void **state)
{
    (void)state;
    float data[3];
    struct tensor t = tensor_contiguous(data, DTYPE_F32, SHAPE(3));
    assert_true(tensor_broadcast(&t, SHAPE(2, 3), &t));
    assert_true(t.rank == 2 && t.shape[0] == 2 && t.shape[1] == 3 && t.stride[0] == 0 && t.stride[1] == 1);
}

static bool fits(size_t from_rank, const size_t *from, size_t to_rank, const size_t *to)
{
    char data[64];
    struct tensor t = tensor_contiguous(data, DTYPE_BOOL, from_rank, from), ret, before;
    memset(&ret, 0x5a, sizeof ret);
    before = ret;
    bool fit = tensor_broadcast(&t, to_rank, to, &ret);
    if (!fit)
        assert_memory_equal(&ret, &before, sizeof ret);
    return fit;
}

static void broadcast_follows_numpy(void **state)
{
    (void)state;
    assert_true(fits(SHAPE(1), SHAPE(4)));
    assert_true(fits(SHAPE(1), SHAPE(0)));
    assert_true(fits(SHAPE(0), SHAPE(0)));
    assert_true(fits(SHAPE(1, 1), SHAPE(7, 0)));
    assert_true(fits(SHAPE(3), SHAPE(0, 3)));
    assert_false(fits(SHAPE(3), SHAPE(2)));
    assert_false(fits(SHAPE(3), SHAPE(1)));
    assert_false(fits(SHAPE(0), SHAPE(1)));
    assert_false(fits(SHAPE(0), SHAPE(3)));
    assert_false(fits(SHAPE(3), SHAPE(0)));
    assert_false(fits(SHAPE(2, 3), SHAPE(3, 2)));
    assert_false(fits(SHAPE(2), SHAPE(2, 3)));
    assert_false(fits(SHAPE(2, 3), SHAPE(3)));
    assert_false(fits(SHAPE(1, 3), SHAPE(3)));
    assert_false(fits(SHAPE(1), 0, NULL));
}

static void shapes_as_text(void **state)
{
    (void)state;
    char text[SHAPE_TEXT_BYTES_MAX];
    assert_ptr_equal(shape_text(SHAPE(2, 3, 4), text, sizeof text), text);
    assert_string_equal(text, "[2, 3, 4]");
    assert_string_equal(shape_text(SHAPE(17), text, sizeof text), "[17]");
    assert_string_equal(shape_text(0, NULL, text, sizeof text), "[]");
    size_t big = SIZE_MAX;
    shape_text(SHAPE(big, big, big, big, big, big, big, big), text, sizeof text);
    assert_int_equal(strlen(text), 8 * 20 + 7 * 2 + 2);
}

static void shape_text_is_cut(void **state)
{
    (void)state;
    const char *whole = "[2, 30, 4]";
    for (size_t text_bytes = 1; text_bytes <= 12; text_bytes++) {
        char text[16];
        memset(text, '#', sizeof text);
        shape_text(SHAPE(2, 30, 4), text, text_bytes);
        assert_true(strlen(text) == (text_bytes - 1 < strlen(whole) ? text_bytes - 1 : strlen(whole)));
        assert_memory_equal(text, whole, strlen(text));
        for (size_t k = text_bytes; k < sizeof text; k++)
            assert_int_equal(text[k], '#');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dtypes),
        cmocka_unit_test(contiguous_is_row_major),
        cmocka_unit_test(other_layouts_are_not_contiguous),
        cmocka_unit_test(empty_views_are_contiguous),
        cmocka_unit_test(axes_of_one_may_have_any_stride),
        cmocka_unit_test(counts_saturate),
        cmocka_unit_test(broadcast_repeats),
        cmocka_unit_test(broadcast_keeps_what_fits),
        cmocka_unit_test(broadcast_to_itself),
        cmocka_unit_test(broadcast_follows_numpy),
        cmocka_unit_test(shapes_as_text),
        cmocka_unit_test(shape_text_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
