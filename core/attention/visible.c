#include "core/attention/visible.h"

#include "core/attention/extents.h"
#include "core/attention/sequences.h"
#include "core/size.h"

/* Keys by index, of one sequence: small enough to be returned in registers, once a rule and query. */
struct range {
    uint32_t begin, end;
    bool by_key; /* some inside may not belong to it */
};

/* The keys of one sequence by position. */
struct key_order {
    const struct positions *positions;
    size_t b, first, end;
    bool sorted; /* no key stands before the one with the index below */
};

/* One sequence and what rows look up in it. */
struct lookup {
    const struct attention_plan *plan;
    const struct attention_sequence_plan *sequence;
    uint32_t number; /* of the sequence */
    struct key_order order;
    struct extents segments, spans; /* of the item */
};

static struct key_order order_of(const struct attention_plan *plan, const struct attention_sequence_plan *sequence)
{
    const struct positions *positions = &plan->params->key_positions;
    struct key_order order = {positions, sequence->b, sequence->first_key, sequence->first_key + sequence->keys, true};
    for (size_t j = order.first + 1; positions->given != NULL && j < order.end && order.sorted; j++)
        order.sorted = positions_at(positions, order.b, j - 1) <= positions_at(positions, order.b, j);
    return order;
}

/* The first key that does not stand before a position, where keys are sorted. */
static uint32_t key_from(const struct key_order *order, int64_t position)
{
    size_t low = order->first, high = order->end;
    if (order->positions->given == NULL && low < high) {
        int64_t first = positions_at(order->positions, order->b, low);
        uint64_t before = (uint64_t)position - (uint64_t)first;
        return (uint32_t)(position <= first ? low : before < high - low ? low + (size_t)before : high);
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (positions_at(order->positions, order->b, middle) < position)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint32_t)low;
}

/* The keys at positions from `first` to `last`. */
static struct range range_of(const struct key_order *order, int64_t first, int64_t last)
{
    struct range all = {(uint32_t)order->first, (uint32_t)order->end, !order->sorted};
    if (!order->sorted)
        return all;
    return (struct range){first == INT64_MIN ? all.begin : key_from(order, first),
                          last == INT64_MAX ? all.end : key_from(order, last + 1), false};
}

/* Keys that are in one of the two, or in both. */
static struct range range_or(struct range a, struct range b)
{
    if (a.begin >= a.end || b.begin >= b.end)
        return a.begin >= a.end ? b : a;
    bool apart = a.end < b.begin || b.end < a.begin;
    return (struct range){a.begin < b.begin ? a.begin : b.begin, a.end > b.end ? a.end : b.end, a.by_key || b.by_key || apart};
}

static struct range range_and(struct range a, struct range b)
{
    return (struct range){a.begin > b.begin ? a.begin : b.begin, a.end < b.end ? a.end : b.end, a.by_key || b.by_key};
}

/* The keys of the sequence that have the id. */
static struct range range_of_id(const struct lookup *at, const struct extents *extents, int64_t id)
{
    const struct extent *extent = extents_find(extents, id);
    if (extent == NULL)
        return (struct range){0};
    struct range own = {(uint32_t)at->order.first, (uint32_t)at->order.end, false};
    return range_and(own, (struct range){extent->begin, extent->end, extent->gap});
}

static struct range range_of_causal(const struct lookup *at, int64_t position, size_t i)
{
    const struct attention_params *params = at->plan->params;
    struct range range = range_of(&at->order, INT64_MIN, position);
    int64_t prefix = attention_prefix_length(at->plan, at->sequence);
    if (prefix > INT64_MIN)
        range = range_or(range, range_of(&at->order, INT64_MIN, prefix - 1));
    if (params->query_spans.ids != NULL && token_id(&params->query_spans, at->sequence->b, i) >= 0)
        range = range_or(range, range_of_id(at, &at->spans, token_id(&params->query_spans, at->sequence->b, i)));
    return range;
}

/* The first and the last position in a query's window. */
static int64_t window_first(const struct attention_params *params, int64_t position)
{
    return params->window_left < 0 ? INT64_MIN : position_add(position, -params->window_left);
}

static int64_t window_last(const struct attention_params *params, int64_t position)
{
    return params->window_right < 0 ? INT64_MAX : position_add(position, params->window_right);
}

static struct range range_of_window(const struct lookup *at, int64_t position)
{
    const struct attention_params *params = at->plan->params;
    struct range range = range_of(&at->order, window_first(params, position), window_last(params, position));
    if (params->num_sink_tokens > 0)
        range = range_or(range, range_of(&at->order, INT64_MIN, params->num_sink_tokens - 1));
    return range;
}

/* Which chunk a position is in: its quotient, rounded down. */
static int64_t chunk_of(int64_t position, int64_t size)
{
    return position / size - (position % size < 0);
}

static bool query_is_padding(const struct attention_plan *plan, size_t b, size_t i)
{
    const struct attention_params *params = plan->params;
    return (params->query_lengths != NULL && i >= params->query_lengths[b]) ||
           (params->query_segments.ids != NULL && token_id(&params->query_segments, b, i) < 0);
}

static struct attention_row row_of(const struct lookup *at, size_t i)
{
    const struct attention_plan *plan = at->plan;
    const struct attention_params *params = plan->params;
    size_t b = at->sequence->b;
    int64_t position = positions_at(&params->query_positions, b, i);
    struct range range = {(uint32_t)at->order.first, (uint32_t)at->order.end, false};
    if (query_is_padding(plan, b, i))
        return (struct attention_row){.sequence = at->number, .padding = true};
    if (params->key_lengths != NULL)
        range.end = (uint32_t)size_min(range.end, params->key_lengths[b]);
    if (params->query_segments.ids != NULL)
        range = range_and(range, range_of_id(at, &at->segments, token_id(&params->query_segments, b, i)));
    if (params->causal)
        range = range_and(range, range_of_causal(at, position, i));
    if (params->window_left >= 0 || params->window_right >= 0)
        range = range_and(range, range_of_window(at, position));
    if (params->chunk_size > 0) {
        int64_t first = chunk_of(position, params->chunk_size) * params->chunk_size;
        range = range_and(range, range_of(&at->order, first, position_add(first, params->chunk_size - 1)));
    }
    if (range.begin >= range.end)
        return (struct attention_row){.sequence = at->number};
    return (struct attention_row){range.begin, range.end, at->number, range.by_key, false};
}

void attention_rows_range(const struct attention_row *rows, size_t count, size_t *ret_begin, size_t *ret_end)
{
    size_t begin = SIZE_MAX, end = 0;
    for (size_t r = 0; r < count; r++) {
        begin = rows[r].begin < rows[r].end ? size_min(begin, rows[r].begin) : begin;
        end = size_max(end, rows[r].end);
    }
    *ret_begin = size_min(begin, end);
    *ret_end = end;
}

/* What one tile of keys holds, all in one. */
static struct tile_summary summary_of(const struct attention_params *params, size_t b, size_t first, size_t end)
{
    struct tile_summary summary = {
        .position = {INT64_MAX, INT64_MIN}, .segment = {INT64_MAX, INT64_MIN}, .span = {INT64_MAX, INT64_MIN}};
    for (size_t j = first; j < end; j++) {
        bounds_add(&summary.position, positions_at(&params->key_positions, b, j));
        if (params->key_segments.ids != NULL)
            bounds_add(&summary.segment, token_id(&params->key_segments, b, j));
        if (params->key_spans.ids != NULL)
            bounds_add(&summary.span, token_id(&params->key_spans, b, j));
    }
    return summary;
}

static void summarize(struct attention_plan *plan, const struct attention_sequence_plan *sequence)
{
    for (size_t first = 0; first < sequence->keys; first += KEY_TILE)
        plan->summaries[sequence->first_tile + first / KEY_TILE] =
            summary_of(plan->params, sequence->b, sequence->first_key + first,
                       sequence->first_key + size_min(first + KEY_TILE, sequence->keys));
}

/* The rows of a sequence, all as the first where they see all keys, and what they leave of its keys; returns whether one is by_key. */
static bool rows_init(const struct lookup *at, struct attention_sequence_plan *sequence, bool see_all,
                      struct attention_row *ret_rows)
{
    size_t count = see_all ? size_min(sequence->queries, 1) : sequence->queries;
    bool by_key = false;
    for (size_t i = 0; i < count; i++) {
        ret_rows[i] = row_of(at, sequence->first_query + i);
        by_key |= ret_rows[i].by_key;
    }
    for (size_t i = count; i < sequence->queries; i++)
        ret_rows[i] = ret_rows[0];
    attention_rows_range(ret_rows, count, &sequence->key_begin, &sequence->key_end);
    return by_key;
}

/* True where no rule but `causal` says what queries see of their sequence. */
static bool no_rule_but_causal(const struct attention_params *params)
{
    return params->query_lengths == NULL && params->key_lengths == NULL && params->query_segments.ids == NULL &&
           params->window_left < 0 && params->window_right < 0 && params->chunk_size == 0;
}

/* True where, in addition, each query sees one key more than the one before: small calls look nothing else up. */
static bool rows_are_stairs(const struct attention_params *params)
{
    return no_rule_but_causal(params) && params->causal && params->prefix_lengths == NULL && params->query_spans.ids == NULL &&
           params->query_positions.given == NULL && params->key_positions.given == NULL;
}

/* The rows of such a sequence. */
static void stairs_init(struct attention_plan *plan, size_t s)
{
    struct attention_sequence_plan *sequence = &plan->sequences[s];
    struct attention_row *rows = plan->rows + sequence->b * plan->Tq + sequence->first_query;
    int64_t query = positions_at(&plan->params->query_positions, sequence->b, sequence->first_query);
    int64_t key = positions_at(&plan->params->key_positions, sequence->b, sequence->first_key);
    int64_t keys = (int64_t)sequence->keys, none = -(int64_t)sequence->queries, before = position_difference(query, key);
    uint32_t first = (uint32_t)sequence->first_key, number = (uint32_t)s;
    struct attention_row row = {.sequence = number};
    before = before < none ? none : before > keys ? keys : before;
    for (size_t i = 0; i < sequence->queries; i++) {
        int64_t visible = before + (int64_t)i + 1;
        if (visible > 0 && keys > 0)
            row = (struct attention_row){first, first + (uint32_t)(visible < keys ? visible : keys), number, false, false};
        rows[i] = row;
    }
    sequence->key_begin = row.begin;
    sequence->key_end = row.end;
}

/* Whatever the rules are. */
static void rules_init(struct attention_plan *plan)
{
    const struct attention_params *params = plan->params;
    const bool see_all = no_rule_but_causal(params) && !params->causal;
    struct lookup at = {
        .plan = plan, .segments.list = plan->extents, .spans.list = plan->extents == NULL ? NULL : plan->extents + plan->Tk};
    for (size_t s = 0; s < plan->sequence_count; s++) {
        struct attention_sequence_plan *sequence = &plan->sequences[s];
        struct attention_row *rows = plan->rows + sequence->b * plan->Tq + sequence->first_query;
        bool new_item = s == 0 || plan->sequences[s - 1].b != sequence->b;
        if (new_item && params->key_segments.ids != NULL)
            extents_init(&at.segments, &params->key_segments, sequence->b, plan->Tk);
        if (new_item && params->key_spans.ids != NULL)
            extents_init(&at.spans, &params->key_spans, sequence->b, plan->Tk);
        at.sequence = sequence;
        at.number = (uint32_t)s;
        at.order = order_of(plan, sequence);
        if (rows_init(&at, sequence, see_all, rows))
            summarize(plan, sequence);
    }
}

void attention_visible_init(struct attention_plan *plan)
{
    attention_sequences_init(plan);
    if (!rows_are_stairs(plan->params)) {
        rules_init(plan);
        return;
    }
    for (size_t s = 0; s < plan->sequence_count; s++)
        stairs_init(plan, s);
}

void attention_row_keeps(const struct attention_plan *plan, size_t b, size_t i, size_t first, size_t count,
                         unsigned char *ret_keep)
{
    const struct attention_params *params = plan->params;
    const struct attention_row *row = attention_row_at(plan, b, i);
    int64_t position = positions_at(&params->query_positions, b, i);
    int64_t left = window_first(params, position), right = window_last(params, position);
    int64_t prefix = attention_prefix_length(plan, &plan->sequences[row->sequence]);
    int64_t span = params->query_spans.ids == NULL ? -1 : token_id(&params->query_spans, b, i);
    for (size_t j = 0; j < count; j++) {
        int64_t key = positions_at(&params->key_positions, b, first + j);
        bool causal = !params->causal || key <= position || key < prefix ||
                      (span >= 0 && token_id(&params->key_spans, b, first + j) == span);
        bool inside = (key >= left && key <= right) || (params->num_sink_tokens > 0 && key < params->num_sink_tokens);
        bool chunk = params->chunk_size == 0 || chunk_of(key, params->chunk_size) == chunk_of(position, params->chunk_size);
        bool segment = params->query_segments.ids == NULL ||
                       token_id(&params->key_segments, b, first + j) == token_id(&params->query_segments, b, i);
        ret_keep[j] = causal && inside && chunk && segment;
    }
}

/* What one rule leaves of a tile. */
enum share { SHARE_NONE, SHARE_SOME, SHARE_ALL };

static enum share share_of(const struct bounds *bounds, int64_t first, int64_t last)
{
    if (bounds->max < first || bounds->min > last)
        return SHARE_NONE;
    return bounds->min >= first && bounds->max <= last ? SHARE_ALL : SHARE_SOME;
}

static enum share share_or(enum share a, enum share b)
{
    return a > b ? a : b; /* two parts may be the whole, which costs no more than a look at each key */
}

static enum share share_and(enum share a, enum share b)
{
    return a < b ? a : b;
}

bool attention_row_misses(const struct attention_plan *plan, size_t b, size_t i, size_t j, bool *ret_all)
{
    const struct attention_params *params = plan->params;
    const struct attention_row *row = attention_row_at(plan, b, i);
    const struct attention_sequence_plan *sequence = &plan->sequences[row->sequence];
    const struct tile_summary *tile = &plan->summaries[sequence->first_tile + (j - sequence->first_key) / KEY_TILE];
    int64_t position = positions_at(&params->query_positions, b, i);
    enum share share = share_of(&tile->position, window_first(params, position), window_last(params, position));
    if (params->num_sink_tokens > 0)
        share = share_or(share, share_of(&tile->position, INT64_MIN, params->num_sink_tokens - 1));
    if (params->causal) {
        int64_t prefix = attention_prefix_length(plan, sequence);
        int64_t span = params->query_spans.ids == NULL ? -1 : token_id(&params->query_spans, b, i);
        enum share causal = share_of(&tile->position, INT64_MIN, position);
        if (prefix > INT64_MIN)
            causal = share_or(causal, share_of(&tile->position, INT64_MIN, prefix - 1));
        share = share_and(share, span < 0 ? causal : share_or(causal, share_of(&tile->span, span, span)));
    }
    if (params->chunk_size > 0) {
        int64_t first = chunk_of(position, params->chunk_size) * params->chunk_size;
        share = share_and(share, share_of(&tile->position, first, position_add(first, params->chunk_size - 1)));
    }
    if (params->query_segments.ids != NULL) {
        int64_t segment = token_id(&params->query_segments, b, i);
        share = share_and(share, share_of(&tile->segment, segment, segment));
    }
    *ret_all = share == SHARE_ALL;
    return share == SHARE_NONE;
}
