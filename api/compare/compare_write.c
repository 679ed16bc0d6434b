#include "api/compare/compare_write.h"

#include <math.h>
#include <stdio.h>

#include "api/json/writer.h"
#include "core/size.h"

static void write_number(struct writer *writer, double x)
{
    writer_number(writer, x, DTYPE_F64, -1);
}

/* The indices of a row-major place. */
static void write_place(struct writer *writer, const struct tensor *t, size_t at)
{
    size_t below = tensor_count(t);
    writer_add(writer, "[");
    for (size_t axis = 0; axis < t->rank; axis++) {
        below /= t->shape[axis];
        writer_format(writer, "%s%zu", axis > 0 ? "," : "", at / below);
        at %= below;
    }
    writer_add(writer, "]");
}

static double share(size_t part, size_t whole)
{
    return whole == 0 ? 1 : (double)part / (double)whole;
}

static void write_difference(struct writer *writer, const struct tensor *t, const struct difference *d)
{
    const double lengths = sqrt(d->expected_squares) * sqrt(d->computed_squares);
    writer_add(writer, "{\"max_absolute_error\":");
    write_number(writer, d->max_error);
    if (d->max_error > 0) {
        writer_add(writer, ",\"at\":");
        write_place(writer, t, d->at);
        writer_add(writer, ",\"expected\":");
        write_number(writer, d->expected);
        writer_add(writer, ",\"computed\":");
        write_number(writer, d->computed);
    }
    writer_add(writer, ",\"rows_equal\":");
    write_number(writer, share(d->rows_equal, d->rows));
    writer_add(writer, ",\"cosine\":");
    if (lengths > 0)
        write_number(writer, d->dot / lengths);
    else
        writer_add(writer, "null");
    writer_add(writer, "}");
}

/* The stages in the order in which they are computed. */
static const enum request_result stages[] = {RESULT_SCORES,  RESULT_CAPPED_SCORES, RESULT_MASKED_SCORES, RESULT_LSE,
                                             RESULT_WEIGHTS, RESULT_MEAN_WEIGHTS,  RESULT_OUTPUT};
#define STAGES (sizeof stages / sizeof *stages)

static void write_as_asked(struct writer *writer, const struct search *search)
{
    const char *comma = "", *first = NULL;
    writer_add(writer, "\"as_asked\":{");
    for (size_t i = 0; i < STAGES; i++) {
        const struct difference *d = &search->as_asked[stages[i]];
        if (!search->expected->given[stages[i]])
            continue;
        writer_format(writer, "%s\"%s\":", comma, request_result_names[stages[i]]);
        write_difference(writer, &search->expected->tensors[stages[i]], d);
        comma = ",";
        if (first == NULL && d->rows_equal < d->rows)
            first = request_result_names[stages[i]];
    }
    writer_format(writer, first != NULL ? "},\"first_difference\":\"%s\"" : "},\"first_difference\":null", first);
}

static void write_names(struct writer *writer, const struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->name_count; i++)
        writer_format(writer, "%s%s", i > 0 ? " + " : "", explanation->names[i]);
}

static const char *tells(const char *name)
{
    size_t i = 0;
    while (conventions[i].name != name)
        i++;
    return conventions[i].tells;
}

/* The others that explain as much, and what input would tell them apart. */
static void write_indistinguishable(struct writer *writer, const struct search *search, size_t which)
{
    const char *comma = "";
    bool others = search->verdict == API_VERDICT_EXPLAINED && search->explanation_count > 1;
    writer_add(writer, ",\"indistinguishable_from\":[");
    for (size_t i = 0; others && i < search->explanation_count; i++) {
        if (i == which)
            continue;
        writer_format(writer, "%s\"", comma);
        write_names(writer, &search->explanations[i]);
        writer_add(writer, "\"");
        comma = ",";
    }
    writer_add(writer, "]");
    if (!others)
        return;
    writer_format(writer, ",\"told_apart_by\":\"%s\"",
                  tells(search->explanations[which].names[search->explanations[which].name_count - 1]));
}

static void write_explanation(struct writer *writer, const struct search *search, size_t which)
{
    const struct explanation *explanation = &search->explanations[which];
    writer_add(writer, which > 0 ? ",{\"names\":[" : "{\"names\":[");
    for (size_t i = 0; i < explanation->name_count; i++)
        writer_format(writer, "%s\"%s\"", i > 0 ? "," : "", explanation->names[i]);
    writer_add(writer, "],\"sentence\":");
    writer_string(writer, explanation->sentence);
    writer_add(writer, ",\"changes\":");
    if (!explanation->unsayable)
        writer_add(writer, "[");
    writer_add(writer, explanation->unsayable ? "null" : explanation->patch);
    if (!explanation->unsayable)
        writer_add(writer, "]");
    writer_add(writer, ",\"max_absolute_error\":");
    write_number(writer, explanation->max_error);
    writer_add(writer, ",\"rows_equal\":");
    write_number(writer, share(explanation->rows_equal, explanation->rows));
    write_indistinguishable(writer, search, which);
    writer_add(writer, "}");
}

static void add_warning(struct writer *writer, const char **comma, const char *warning)
{
    writer_add(writer, *comma);
    writer_string(writer, warning);
    *comma = ",";
}

static void write_warnings(struct writer *writer, const struct comparison *comparison, const struct search *search)
{
    const char *comma = "";
    char text[WRITER_FORMAT_BYTES_MAX];
    writer_add(writer, ",\"warnings\":[");
    if (search->verdict == API_VERDICT_UNEXPLAINED)
        add_warning(writer, &comma,
                    comparison->pairs
                        ? "no convention, nor two of them, explains every row; listed is what comes nearest"
                        : "no single convention explains every row; listed is what comes nearest. Two at once are "
                          "tried with \"search\": {\"pairs\": true}");
    if (search->expected->masked_by_large)
        add_warning(writer, &comma,
                    "your masked scores hold large negative numbers where masks are -Infinity; they count as equal");
    if (search->rounds_like != ELEMENT_F64) {
        (void)snprintf(text, sizeof text,
                       "what you expect are numbers of %s: rows count as equal within what its rounding makes",
                       element_names[ELEMENT_NAMES_PLAIN][search->rounds_like]);
        add_warning(writer, &comma, text);
    }
    if (search->untried > 0) {
        (void)snprintf(text, sizeof text, "%zu variant%s left out for want of memory", search->untried,
                       search->untried == 1 ? " was" : "s were");
        add_warning(writer, &comma, text);
    }
    writer_add(writer, "]");
}

size_t compare_write(const struct comparison *comparison, const struct search *search, char *buffer)
{
    struct writer writer;
    writer_init(&writer, buffer, COMPARE_REPLY_BYTES_MAX);
    writer_format(&writer, "{\"verdict\":\"%s\",", api_verdict_names[search->verdict]);
    write_as_asked(&writer, search);
    writer_add(&writer, ",\"explanations\":[");
    for (size_t i = 0; i < search->explanation_count; i++)
        write_explanation(&writer, search, i);
    writer_add(&writer, "]");
    write_warnings(&writer, comparison, search);
    writer_add(&writer, "}\n");
    writer_end(&writer);
    return (size_t)(writer.at - writer.start) - 1;
}
