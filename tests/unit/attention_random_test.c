/* Thousands of small cases, each with its own shape and its own mix of options and results, against the oracle.
 *
 *   ATTND_RANDOM_CASES  how many; CASE_COUNT or a part of it unless said otherwise
 *   ATTND_RANDOM_SEED   the first one's seed, 1 unless said otherwise: with ATTND_RANDOM_CASES=1, the one case that failed */
#include "core/size.h"
#include "tests/support/attention_case.h"
#include "tests/support/attention_check.h"
#include "tests/support/check.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/worker_pool.h"

#define CASE_COUNT 1000
#define TOKENS_MAX 70

static struct attention_dims draw_dims(struct draw *draw)
{
    struct attention_dims dims = {
        .dtype = draw_chance(draw, 0.7) ? DTYPE_F32 : DTYPE_F64,
        .B = draw_size(draw, 1, 3),
        .Hkv = draw_size(draw, 1, 3),
        .Tq = draw_size(draw, 1, TOKENS_MAX),
        .Tk = draw_size(draw, 1, TOKENS_MAX),
        .D = draw_size(draw, 1, draw_chance(draw, 0.5) ? 16 : 80),
        .Dv = draw_size(draw, 1, draw_chance(draw, 0.5) ? 16 : 80),
    };
    dims.H = dims.Hkv * draw_size(draw, 1, 3);
    if (draw_chance(draw, 0.3))
        dims.Tk = dims.Tq;
    if (draw_chance(draw, 0.3)) /* sizes that the kernels take as they are */
        dims.Tk = (dims.Tk + 31) / 32 * 32;
    if (draw_chance(draw, 0.3))
        dims.Dv = (dims.Dv + 31) / 32 * 32;
    if (draw_chance(draw, 0.1))
        dims.Tq = 1; /* decoding */
    if (dims.Tq * dims.Tk > 1000 && draw_chance(draw, 0.7)) {
        dims.B = size_min(dims.B, 2);
        dims.H = dims.Hkv;
        attention_dims_outgrow_double(&dims);
        if (draw_chance(draw, 0.3))
            dims.Dv = (dims.Dv + 31) / 32 * 32;
    }
    return dims;
}

/* Each option of its own chance, so that few and many meet. */
static unsigned draw_options(struct draw *draw)
{
    double chance = draw_unit(draw);
    unsigned options = 0;
    for (unsigned option = 1; option <= CASE_TERMS; option <<= 1) {
        if (draw_chance(draw, (option & CASE_RULES) ? chance / 3 : chance))
            options |= option;
    }
    return options;
}

static void random_cases(void **state)
{
    (void)state;
    size_t case_count = environment_size("ATTND_RANDOM_CASES", environment_cases(CASE_COUNT, 4, 10)),
           first_seed = environment_size("ATTND_RANDOM_SEED", 1);
    struct worker_pool workers;
    worker_pool_init(&workers, 2);
    for (size_t k = 0; k < case_count; k++) {
        struct draw draw = {first_seed + k};
        kernel_in_turn((size_t)draw_u64(&draw));
        struct attention_dims dims = draw_dims(&draw);
        unsigned options = draw_options(&draw);
        unsigned wanted = draw_chance(&draw, 0.5) ? RESULTS_ALL : (unsigned)draw_size(&draw, 1, RESULTS_ALL);
        struct attention_case c;
        attention_case_init(&c, &dims, options, first_seed + k);
        check_case(&c, wanted, draw_chance(&draw, 0.1) ? &workers.executor : NULL);
        attention_case_done(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_cases),
    };
    return cmocka_run_group_tests(tests, core_setup, NULL);
}
