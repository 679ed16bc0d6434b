#include "core/rope_scaling.h"

#include <math.h>

#define TWO_PI 6.28318530717958647693
#define RAMP_WIDTH_MIN 0.001 /* of yarn's ramp, where both ends are one pair */

/* The pair, as a fraction, that turns `rotations` times over the original length. */
static double pair_at(const struct rope_scaling *scaling, double base, size_t dims, double rotations)
{
    return (double)dims * log(scaling->original_length / (rotations * TWO_PI)) / (2 * log(base));
}

/* 0 where a pair keeps its frequency, 1 where it is divided. */
static double yarn_ramp(const struct rope_scaling *scaling, double base, size_t dims, size_t pair)
{
    double begin = pair_at(scaling, base, dims, scaling->beta_fast);
    double end = pair_at(scaling, base, dims, scaling->beta_slow);
    if (scaling->truncate) {
        begin = floor(begin);
        end = ceil(end);
    }
    begin = fmax(begin, 0);
    end = fmin(end, (double)dims - 1);
    if (begin == end)
        end += RAMP_WIDTH_MIN;
    return fmin(fmax(((double)pair - begin) / (end - begin), 0), 1);
}

/* The share of its frequency that a pair keeps: by how often it turns over the original length. */
static double llama3_share(const struct rope_scaling *scaling, double frequency)
{
    double rotations = scaling->original_length * frequency / TWO_PI;
    double ramp = (rotations - scaling->low_factor) / (scaling->high_factor - scaling->low_factor);
    double kept = fmin(fmax(ramp, 0), 1);
    return kept + (1 - kept) / scaling->factor;
}

/* The base at which the lowest frequency fits the length (NTK-aware); one pair alone has no lower ones. */
static double dynamic_base(const struct rope_scaling *scaling, double base, size_t dims, double length)
{
    double stretch = scaling->factor * fmax(length / scaling->original_length, 1) - (scaling->factor - 1);
    return dims == 2 ? base : base * pow(stretch, (double)dims / ((double)dims - 2));
}

static double scaled(const struct rope_scaling *scaling, double base, size_t dims, double length, size_t pair, double frequency)
{
    switch (scaling->type) {
    case ROPE_LINEAR:
        return frequency / scaling->factor;
    case ROPE_YARN: {
        double ramp = yarn_ramp(scaling, base, dims, pair);
        return frequency * (1 - ramp) + frequency / scaling->factor * ramp;
    }
    case ROPE_LONGROPE:
        return frequency / (length > scaling->original_length ? scaling->long_factors : scaling->short_factors)[pair];
    case ROPE_LLAMA3:
        return frequency * llama3_share(scaling, frequency);
    case ROPE_PROPORTIONAL:
        return (double)pair < floor(scaling->share * (double)dims / 2) ? frequency / scaling->factor : 0;
    default:
        return frequency;
    }
}

void rope_scaling_frequencies(const struct rope_scaling *scaling, double base, size_t dims, double length, double *ret)
{
    if (scaling->type == ROPE_DYNAMIC)
        base = dynamic_base(scaling, base, dims, length);
    for (size_t pair = 0; pair < dims / 2; pair++) {
        double frequency = pow(base, -2 * (double)pair / (double)dims);
        ret[pair] = scaled(scaling, base, dims, length, pair, frequency);
    }
}

/* Softmax's temperature at a longer context (Peng et al. 2023, eq. 22). */
static double yarn_mscale(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * log(factor) + 1;
}

double rope_scaling_attention_factor(const struct rope_scaling *scaling)
{
    bool takes = scaling->type == ROPE_YARN || scaling->type == ROPE_LONGROPE;
    if (!takes)
        return 1;
    if (scaling->attention_factor > 0)
        return scaling->attention_factor;
    if (scaling->type == ROPE_LONGROPE)
        return scaling->factor <= 1 ? 1 : sqrt(1 + log(scaling->factor) / log(scaling->original_length));
    if (scaling->mscale > 0)
        return yarn_mscale(scaling->factor, scaling->mscale) / yarn_mscale(scaling->factor, scaling->mscale_all_dim);
    return yarn_mscale(scaling->factor, 1);
}
