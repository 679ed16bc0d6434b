/* convention_positions.c: RoPE and ALiBi. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/compare/convention.h"
#include "api/number/write.h"
#include "core/alibi.h"

#define SLOPES_SAID_MAX 64 /* more heads make no patch */

bool convention_rope_style(struct variant *variant, size_t choice)
{
    struct request *request = &variant->request;
    (void)choice;
    if (!request->rope.given || variant->source->plan->rope.dims <= 2)
        return false;
    request->rope.style = request->rope.style == ROPE_HALF ? ROPE_INTERLEAVED : ROPE_HALF;
    variant->changes_inputs = true;
    variant_say(variant, "Yours rotates %s; the request says %s.",
                request->rope.style == ROPE_HALF ? "halves (dimensions i and i + dims/2)"
                                                 : "neighbours (dimensions 2i and 2i+1)",
                request->rope.style == ROPE_HALF ? "\"interleaved\"" : "\"half\"");
    variant_patch_add(variant, "/rope/style", "\"%s\"", rope_style_names[request->rope.style]);
    return true;
}

bool convention_rope_base(struct variant *variant, size_t choice)
{
    static const double bases[] = {10000, 500000, 1000000};
    struct rope_request *rope = &variant->request.rope;
    const struct plan_rope *asked = &variant->source->plan->rope;
    bool computed = !asked->tables && rope->tensors[ROPE_FREQUENCIES].kind == TENSOR_INPUT_ABSENT;
    if (!rope->given || !computed || asked->base == bases[choice] || asked->dims <= 2)
        return false;
    variant_say(variant, "The base of your RoPE is %.0f; the request says %.17g.", bases[choice], asked->base);
    variant_patch_add(variant, rope->theta > 0 ? "/rope/scaling/rope_theta" : "/rope/base", "%.0f", bases[choice]);
    *(rope->theta > 0 ? &rope->theta : &rope->base) = bases[choice];
    rope->has_base &= rope->theta == 0;
    variant->changes_inputs = true;
    return true;
}

/* Queries and keys turn by other positions than the request can say. */
static void deviate(struct variant *variant)
{
    variant->deviation.rope_own = true;
    variant->changes_inputs = true;
    variant->unsayable = true;
}

bool convention_rope_offset(struct variant *variant, size_t choice)
{
    const struct plan *plan = variant->source->plan;
    const int64_t query = -plan->query_offset, key = -(int64_t)plan->Tpast;
    const struct {
        int64_t query, key;
        const char *sentence;
    } shifts[] = {
        {1, 0, "Yours rotates each query by a position one too high, and keys by their own."},
        {-1, 0, "Yours rotates each query by a position one too low, and keys by their own."},
        {query, key, "Yours counts RoPE's positions from 0 for the new tokens, as if there were no cache before them."},
        {query, 0, "Yours rotates queries from position 0 on; the request has the first one farther on."},
        {0, key, "Yours rotates the new keys from position 0 on, as if there were no cache before them."},
        {1, 1, "Yours rotates the new tokens by positions one too high, as if the cache were one longer."},
        {-1, -1, "Yours rotates the new tokens by positions one too low, as if the cache were one shorter."},
    };
    bool given = variant->request.integers[INTEGERS_QUERY_POSITIONS].given ||
                 variant->request.integers[INTEGERS_KEY_POSITIONS].given ||
                 variant->request.integers[INTEGERS_QUERY_OFFSET].is_list || plan->rope.axes > 1;
    if (!variant->request.rope.given || plan->rope.dims == 0 || plan->rope.tables || (choice >= 2 && given) ||
        (shifts[choice].query == 0 && shifts[choice].key == 0))
        return false;
    if ((choice == 2 && (query == 0 || key == 0)) || (choice >= 2 && query == key && plan->Tpast == 0) ||
        (choice >= 5 && plan->Tpast == 0))
        return false;
    deviate(variant);
    variant->deviation.rope_query_shift = shifts[choice].query;
    variant->deviation.rope_key_shift = shifts[choice].key;
    variant_say(variant, "%s", shifts[choice].sentence);
    return true;
}

bool convention_rope_missing(struct variant *variant, size_t choice)
{
    if (!variant->request.rope.given || variant->source->plan->rope.dims == 0)
        return false;
    if (choice == 0) {
        variant->request.rope = (struct rope_request){0};
        variant->changes_inputs = true;
        variant_say(variant, "Yours has no RoPE.");
        variant_patch_remove(variant, "/rope");
        return true;
    }
    deviate(variant);
    variant->deviation.rope_query_missing = choice == 1;
    variant->deviation.rope_key_missing = choice == 2;
    variant_say(variant, "Yours rotates the %s alone: RoPE is missing on the %s.", choice == 1 ? "keys" : "queries",
                choice == 1 ? "queries" : "keys");
    return true;
}

/* RoPE with the base and dimensions that the request's scaling may have set, and frequencies as they come of these. */
static void unscale(struct rope_request *rope, const struct plan_rope *asked)
{
    const double base = rope->theta > 0 ? rope->theta : rope->base > 0 ? rope->base : asked->base;
    rope->has_scaling = rope->has_share = rope->has_length = false;
    rope->scaling = (struct rope_scaling){0};
    rope->base = base;
    rope->theta = rope->share = rope->max_length = 0;
    rope->dims = (int64_t)asked->dims;
    rope->has_base = rope->has_dims = true;
    rope->tensors[ROPE_SHORT_FACTOR] = rope->tensors[ROPE_LONG_FACTOR] = (struct tensor_input){0};
}

bool convention_rope_scaling(struct variant *variant, size_t choice)
{
    const struct plan_rope *asked = &variant->source->plan->rope;
    struct rope_request *rope = &variant->request.rope;
    const double factor = asked->scaling.factor;
    const bool linear = choice == 1, had_length = rope->has_length;
    if (!rope->given || !rope->has_scaling || rope->has_section || asked->dims == 0 || asked->scaling.type == ROPE_DEFAULT)
        return false;
    if (linear &&
        (asked->scaling.type == ROPE_LINEAR || asked->scaling.type == ROPE_PROPORTIONAL || !(factor > 0) || factor == 1))
        return false;
    unscale(rope, asked);
    variant->changes_inputs = true;
    if (linear) {
        rope->has_scaling = true;
        rope->scaling = (struct rope_scaling){.type = ROPE_LINEAR, .factor = factor};
        variant_say(variant, "Yours scales RoPE linearly: positions are divided by %.17g.", factor);
        variant_patch_add(variant, "/rope/scaling", "{\"rope_type\":\"linear\",\"factor\":%.17g}", factor);
    } else {
        variant_say(variant, "Yours does not scale RoPE: its frequencies follow from the base %.17g alone.", rope->base);
        variant_patch_remove(variant, "/rope/scaling");
    }
    if (had_length)
        variant_patch_remove(variant, "/rope/length");
    variant_patch_add(variant, "/rope/base", "%.17g", rope->base);
    variant_patch_add(variant, "/rope/dims", "%zu", asked->dims);
    return true;
}

bool convention_alibi_missing(struct variant *variant, size_t choice)
{
    (void)choice;
    if (!variant->request.alibi)
        return false;
    variant->request.alibi = false;
    variant->request.alibi_slopes = (struct tensor_input){0};
    variant_say(variant, "Yours has no ALiBi.");
    variant_patch_remove(variant, "/alibi");
    return true;
}

/* Sets slopes; false where they are those that the request has. */
static bool set_slopes(struct variant *variant, const double *slopes)
{
    const size_t H = variant->source->plan->H;
    const double *asked = variant->base->evaluation.alibi_slopes;
    struct tensor t = tensor_contiguous(variant_alloc(variant, H * sizeof(double)), DTYPE_F64, 1, &H);
    char list[SLOPES_SAID_MAX * (NUMBER_F64_BYTES_MAX + 1) + 1] = "", *at = list;
    bool same = true;
    if (t.data == NULL)
        return false;
    memcpy(t.data, slopes, H * sizeof *slopes);
    for (size_t h = 0; h < H; h++)
        same &= fabs(slopes[h] - asked[h]) <= 1e-7 * fabs(asked[h]);
    source_input(&t, &variant->request.alibi_slopes);
    variant->unsayable |= H > SLOPES_SAID_MAX;
    for (size_t h = 0; h < H && H <= SLOPES_SAID_MAX; h++) {
        at = number_write_f64(slopes[h], at);
        *at++ = ',';
        at[-1] = h + 1 < H ? ',' : '\0';
    }
    variant_patch_add(variant, "/alibi", "[%s]", list);
    return !same;
}

/* Those that another convention has set, or else the request's. NULL: it has no ALiBi. */
static const double *slopes_now(const struct variant *variant)
{
    const struct tensor_input *now = &variant->request.alibi_slopes, *asked = &variant->source->request.alibi_slopes;
    return now->kind == TENSOR_INPUT_BYTES && now->bytes != asked->bytes ? (const double *)(const void *)now->bytes
                                                                         : variant->base->evaluation.alibi_slopes;
}

bool convention_alibi_sign(struct variant *variant, size_t choice)
{
    const size_t H = variant->source->plan->H;
    const double *now = slopes_now(variant);
    (void)choice;
    double *slopes = variant_alloc(variant, H * sizeof(double));
    if (!variant->request.alibi || now == NULL || slopes == NULL)
        return false;
    for (size_t h = 0; h < H; h++)
        slopes[h] = -now[h];
    variant_say(variant, "Yours adds slope * distance; ALiBi subtracts it.");
    return set_slopes(variant, slopes);
}

bool convention_alibi_slopes(struct variant *variant, size_t choice)
{
    static const char *const sentences[] = {
        "The slopes of your ALiBi are 2^(-8(h+1)/H); here, for a number of heads that is no power of two, they are "
        "interpolated.",
        "The slopes of your ALiBi begin with 1: 2^(-8h/H); here the first one is 2^(-8/H).",
        "The slopes of your ALiBi are those of the paper; the request has its own.",
    };
    const size_t H = variant->source->plan->H;
    double *slopes = variant_alloc(variant, H * sizeof(double));
    if (!variant->request.alibi || variant->base->evaluation.alibi_slopes == NULL || slopes == NULL)
        return false;
    if (choice == 2)
        alibi_slopes(H, DTYPE_F64, slopes);
    for (size_t h = 0; h < H && choice < 2; h++)
        slopes[h] = exp2(-8 * (double)(h + 1 - choice) / (double)H);
    variant_say(variant, "%s", sentences[choice]);
    return set_slopes(variant, slopes);
}
