/* sample.c: tokens that tell most: those that differ as asked, the worst first, and some that do not, which a variant must leave
 * alone. */
#include "api/compare/search.h"

#include "core/size.h"

static void add(struct search *search, size_t token)
{
    if (search->sample_count == SEARCH_SAMPLE_TOKENS_MAX)
        return;
    for (size_t i = 0; i < search->sample_count; i++)
        if (search->sample[i] == token)
            return;
    search->sample[search->sample_count++] = token;
}

/* The nth token that differs, or that does not; Tq where there are fewer. */
static size_t nth(const struct search *search, bool differs, size_t n)
{
    const size_t Tq = search->source->plan->Tq;
    for (size_t i = 0; i < Tq; i++)
        if ((search->token_errors[i] >= 0) == differs && n-- == 0)
            return i;
    return Tq;
}

void sample_choose(struct search *search)
{
    const size_t Tq = search->source->plan->Tq;
    size_t worst = 0, count[2] = {0, 0};
    search->sample_count = 0;
    for (size_t i = 0; i < Tq; i++) {
        count[search->token_errors[i] >= 0]++;
        if (search->token_errors[i] > search->token_errors[worst])
            worst = i;
    }
    if (Tq == 0)
        return;
    add(search, worst);
    for (size_t part = 0; part < 3 && count[1] > 0; part++)
        add(search, nth(search, true, part * (count[1] - 1) / 2));
    for (size_t part = 0; part < 2 && count[0] > 0; part++)
        add(search, nth(search, false, part * (count[0] - 1)));
    add(search, 0);
    add(search, Tq - 1);
    add(search, Tq / 2);
    add(search, Tq / 3);
}
