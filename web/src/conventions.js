// conventions.js: what a reply says was applied, in words.

function rope({ style, rope_type: type, tables, attention_factor: factor, mrope_section: section }) {
    const scaled = type && type !== "default" ? ` ${type}` : tables ? ` ${tables.replace("_", " ")}` : "";
    return `RoPE ${style}${scaled}${factor === undefined || factor === 1 ? "" : ` × ${Number(factor.toPrecision(6))}`}${section ? ` [${section}]` : ""}`;
}

const relativeBias = ({ buckets, bidirectional, max_distance: max }) => `relative bias, ${buckets} buckets ${bidirectional ? "both ways" : "backwards"} to ${max}`;

// What queries may see beside the causal mask and the window.
function rules(applied) {
    const one = (text, value) => (value === undefined ? [] : [`${text} ${Array.isArray(value) ? `[${value}]` : value}`]);
    const given = { query_positions: "own query positions", key_positions: "own key positions", query_lengths: "query lengths", key_lengths: "key lengths",
        cu_seqlens: "packed sequences", segment_ids: "segments", span_ids: "spans" };
    return [...Object.entries(given).filter(([name]) => applied[name]).map(([, text]) => text), ...one("prefix", applied.prefix_length),
        ...one("chunks of", applied.chunk_size), ...one("first tokens", applied.num_sink_tokens)];
}

// The conventions applied, each in a few words.
export function conventions(applied) {
    if (!applied) return [];
    const out = [`scale ${Number(applied.scale.toPrecision(6))}`];
    out.push(applied.causal === false ? "not causal" : `causal${applied.causal === true ? "" : ` ${applied.causal.replace("_", " ")}`}`);
    if (Array.isArray(applied.query_offset)) out.push(`offsets [${applied.query_offset}]`);
    else if (applied.query_offset) out.push(`offset ${applied.query_offset}`);
    if (applied.mask) out.push(`mask ${applied.mask}${applied.mask_semantics === "drop" ? ", true is masked" : ""}`);
    if (applied.window) out.push(`window [${applied.window}]`);
    out.push(...rules(applied));
    if (applied.query_scale) out.push("query scales");
    if (applied.bias) out.push("bias");
    if (applied.relative_bias) out.push(relativeBias(applied.relative_bias));
    if (applied.softcap) out.push(`softcap ${applied.softcap}`);
    if (applied.alibi) out.push("ALiBi");
    if (applied.rope) out.push(rope(applied.rope));
    if (applied.qk_norm) out.push(`${applied.qk_norm.type} norm${applied.qk_norm.order === "after_rope" ? " after RoPE" : ""}`);
    if (applied.sinks) out.push("sinks");
    if (applied.projection_layout) out.push(`projections ${applied.projection_layout}`);
    if (applied.lse_base === "2") out.push("lse to base 2");
    if (applied.num_kv_heads !== applied.num_heads) out.push(`${applied.num_heads} heads over ${applied.num_kv_heads}`);
    out.push(applied.precision);
    if (applied.numerics === "row_invariant") out.push("row invariant");
    return out;
}
