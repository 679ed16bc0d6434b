/* convention_scores.c: scale, softcap, softmax, lse, sinks, biases, rounding. */
#include <math.h>

#include "api/compare/convention.h"
#include "api/number/write.h"

/* A number as JSON, NUL-terminated. */
static const char *number_text(double x, char ret[NUMBER_F64_BYTES_MAX + 1])
{
    *number_write_f64(x, ret) = '\0';
    return ret;
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

bool convention_scale(struct variant *variant, size_t choice)
{
    static const char *const texts[] = {"1", "1/sqrt(D)", "1/D", "sqrt(D)", "1/sqrt(H*D)", "its square, applied twice"};
    const struct plan *plan = variant->source->plan;
    const double D = (double)plan->D, H = (double)plan->H, now = plan->scale;
    const double scales[] = {1, 1 / sqrt(D), 1 / D, sqrt(D), 1 / sqrt(H * D), now * now};
    char value[NUMBER_F64_BYTES_MAX + 1], asked[NUMBER_F64_BYTES_MAX + 1];
    const double scale = scales[choice];
    if (!isfinite(scale) || is_near(scale, now))
        return false;
    for (size_t i = 0; i < choice; i++)
        if (is_near(scales[i], scale)) /* said already */
            return false;
    variant->request.has_scale = true;
    variant->request.scale = scale;
    (void)number_text(scale, value);
    (void)number_text(now, asked);
    if (scale == 1)
        variant_say(variant, "Yours does not scale the scores; the request scales by %s.", asked);
    else
        variant_say(variant, "Yours scales by %s = %s; the request says %s.", texts[choice], value, asked);
    variant_patch_add(variant, "/scale", "%s", value);
    return true;
}

bool convention_softcap_missing(struct variant *variant, size_t choice)
{
    (void)choice;
    if (!(variant->request.softcap > 0))
        return false;
    variant->request.softcap = 0;
    variant_say(variant, "Yours has no softcap; the request has one.");
    variant_patch_remove(variant, "/softcap");
    return true;
}

bool convention_softcap_order(struct variant *variant, size_t choice)
{
    (void)choice;
    if (!(variant->request.softcap > 0))
        return false;
    variant->deviation.softcap_last = true;
    variant->deviation.softcap = variant->request.softcap;
    variant->request.softcap = 0;
    variant->unsayable = true;
    variant_say(variant, "Yours takes the softcap after the masks, where a masked key gets the score -softcap; the softcap "
                         "comes before them.");
    return true;
}

bool convention_softmax_axis(struct variant *variant, size_t choice)
{
    variant->deviation.softmax = SOFTMAX_OVER_QUERIES;
    variant->deviation.softmax_uniform_columns = choice == 1;
    variant->unsayable = true;
    variant_say(variant, "Yours takes the softmax over the queries (dim=-2); it belongs over the keys (dim=-1).");
    return true;
}

bool convention_softmax_missing(struct variant *variant, size_t choice)
{
    (void)choice;
    variant->deviation.softmax = SOFTMAX_MISSING;
    variant->unsayable = true;
    variant_say(variant, "Yours multiplies the scores with the values: the softmax between them is missing.");
    return true;
}

bool convention_lse_base(struct variant *variant, size_t choice)
{
    static const char *const names[] = {"the natural logarithm", "a logarithm to base 2", "a logarithm to base 10"};
    struct request *request = &variant->request;
    const bool asked_2 = request->lse_base_2;
    if (choice == (size_t)asked_2)
        return false;
    variant_say(variant, "Your lse is %s; the request says %s.", names[choice], names[asked_2]);
    if (choice == 2) {
        variant->deviation.lse_factor = (asked_2 ? 0.693147180559945309417 : 1) / 2.302585092994045684018;
        variant->unsayable = true;
        return true;
    }
    request->has_lse_base = true;
    request->lse_base_2 = choice == 1;
    variant_patch_add(variant, "/lse_base", "\"%s\"", choice == 1 ? "2" : "e");
    return true;
}

bool convention_lse_unscaled(struct variant *variant, size_t choice)
{
    (void)choice;
    if (is_near(variant->source->plan->scale, 1) && variant->request.query_scale.kind == TENSOR_INPUT_ABSENT)
        return false;
    variant->deviation.lse_unscaled = true;
    variant->unsayable = true;
    variant_say(variant, "Your lse is of the scores before the scale; lse is of what the softmax sees.");
    return true;
}

bool convention_sinks_missing(struct variant *variant, size_t choice)
{
    (void)choice;
    if (variant->request.sinks.kind == TENSOR_INPUT_ABSENT)
        return false;
    variant->request.sinks = (struct tensor_input){0};
    variant_say(variant, "Yours has no sinks; the request has them.");
    variant_patch_remove(variant, "/sinks");
    return true;
}

/* Choice 0 of the bias, 1 of the relative one. */
bool convention_bias_missing(struct variant *variant, size_t choice)
{
    struct request *request = &variant->request;
    struct tensor_input *bias = &request->tensors[REQUEST_BIAS];
    if (choice == 0 ? bias->kind == TENSOR_INPUT_ABSENT : !request->relative_bias.given)
        return false;
    if (choice == 0)
        *bias = (struct tensor_input){0};
    else
        request->relative_bias = (struct relative_bias_request){0};
    variant_say(variant, "Yours has no %s; the request has one.", choice == 0 ? "bias" : "relative bias");
    variant_patch_remove(variant, choice == 0 ? "/bias" : "/relative_bias");
    return true;
}

bool convention_query_scale_missing(struct variant *variant, size_t choice)
{
    (void)choice;
    if (variant->request.query_scale.kind == TENSOR_INPUT_ABSENT)
        return false;
    variant->request.query_scale = (struct tensor_input){0};
    variant_say(variant, "Yours scales every query alike: query_scale is left out.");
    variant_patch_remove(variant, "/query_scale");
    return true;
}

bool convention_precision(struct variant *variant, size_t choice)
{
    static const struct {
        enum element_type type;
        bool inputs, weights; /* both: scores, too */
    } roundings[] = {
        {ELEMENT_F32, true, true},   {ELEMENT_F16, true, false},  {ELEMENT_F16, false, true}, {ELEMENT_F16, true, true},
        {ELEMENT_BF16, true, false}, {ELEMENT_BF16, false, true}, {ELEMENT_BF16, true, true},
    };
    struct deviation *d = &variant->deviation;
    const enum element_type type = roundings[choice].type;
    d->round_inputs = roundings[choice].inputs ? type : ELEMENT_F64;
    d->round_weights = d->round_output = roundings[choice].weights ? type : ELEMENT_F64;
    d->round_scores = roundings[choice].inputs && roundings[choice].weights ? type : ELEMENT_F64;
    variant->changes_inputs = roundings[choice].inputs;
    variant->unsayable = true;
    variant_say(variant, "Yours is as far off as rounding to %s%s makes it; no convention differs.",
                element_names[ELEMENT_NAMES_PLAIN][type], type == ELEMENT_F16 ? " (or TF32, which keeps as many digits)" : "");
    return true;
}
