#!/usr/bin/env python3
"""Makes libraries.json: calls of other libraries, and the same said to attnd as the suggestions of api/json/library_names.c say it.

Where a library runs on a CPU, the numbers are its own: PyTorch 2.15, ONNX 1.23 (its reference), ONNX Runtime 1.32, JAX 0.10 and Keras 3.15 on
JAX. Where it needs a GPU, they are computed here in float64 from its documentation, and `library` says so. The tests read the
file alone.

    python tests/conformance/libraries.py >tests/conformance/libraries.json
"""
import json
import os

os.environ.update(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", TF_CPP_MIN_LOG_LEVEL="3")

import jax
import jax.numpy as jnp
import keras
import numpy as np
import onnxruntime
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

rng = np.random.default_rng(16)
cases = []


def draw(*shape):
    return np.round(rng.standard_normal(shape), 3).astype(np.float32)


def plain(x):
    if isinstance(x, dict):
        return {name: plain(value) for name, value in x.items()}
    if isinstance(x, list):
        return [plain(value) for value in x]
    if isinstance(x, torch.Tensor):
        x = x.detach()
    if isinstance(x, (np.ndarray, torch.Tensor, jax.Array)):
        x = np.asarray(x)
        return (np.vectorize(lambda v: float(f"{v:.8g}"), otypes=[object])(x) if x.dtype.kind == "f" and x.size else x).tolist()
    return x


def pairs_of(names):
    return [[name, group.split("=")[1]] for group in names.split() for name in group.split("=")[0].split(",")]


def case(library, names, request, **expect):
    """names: "theirs=ours theirs,theirs=ours", the entries of library_names.c that the request follows."""
    cases.append({"library": library, "names": pairs_of(names), "request": plain(request if "inputs" in request else {"return": list(expect), **request}), "expect": plain(expect)})


def t(x):
    return torch.from_numpy(np.asarray(x))


def softmax(s):
    with np.errstate(invalid="ignore"):
        e = np.exp(s - np.max(s, -1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def documented(q, k, v, scale=None, bias=None, visible=None, softcap=0, sinks=None):
    """[B,H,T,D] in float64: output, weights, lse, by the formulas that the documents of all these libraries share."""
    q, k, v = (np.asarray(x, np.float64) for x in (q, k, v))
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    s = q @ k.swapaxes(-1, -2) * (scale if scale is not None else q.shape[-1] ** -0.5)
    s = softcap * np.tanh(s / softcap) if softcap else s
    s = s + (0 if bias is None else bias)
    s = np.where(True if visible is None else visible, s, -np.inf)
    if sinks is not None:
        s = np.concatenate([s, np.broadcast_to(np.asarray(sinks, np.float64)[:, None, None], s.shape[:-1] + (1,))], -1)
    w = softmax(s)
    lse = np.log(np.exp(s).sum(-1))
    w = w[..., : k.shape[2]]
    return w @ v, w, lse


B, H, TQ, TK, D = 2, 2, 3, 4, 4
q, k, v = draw(B, H, TQ, D), draw(B, H, TK, D), draw(B, H, TK, D)
k1, v1 = draw(B, 1, TK, D), draw(B, 1, TK, D)
qkv = {"query": q, "key": k, "value": v}
keep = rng.random((B, H, TQ, TK)) < 0.7
keep[..., 0] = True
added = draw(B, H, TQ, TK)
bthd = lambda x: np.ascontiguousarray(np.asarray(x).swapaxes(1, 2))
above = {"query": bthd(q), "key": bthd(k), "value": bthd(v), "layout": "bthd"}
i, j = np.arange(TQ)[:, None], np.arange(TK)[None, :]
SDPA, MHA = "torch.nn.functional.scaled_dot_product_attention", "torch.nn.MultiheadAttention"
FLASH, INFER, HF = "FlashAttention, from its documentation", "FlashInfer, from its documentation", "Hugging Face transformers, from its documentation"
CUDNN, ASCEND, TE, XFORMERS = (name + ", from its documentation" for name in ("cuDNN", "Ascend", "Transformer Engine", "xFormers"))


def sdpa(*arguments, **options):
    return F.scaled_dot_product_attention(*(t(x) for x in arguments), **options)


def torch_calls():
    case(SDPA, "attn_mask=mask", {**qkv, "mask": keep}, output=sdpa(q, k, v, attn_mask=t(keep)))
    case(SDPA, "attn_mask=mask", {**qkv, "mask": added}, output=sdpa(q, k, v, attn_mask=t(added)))
    case(SDPA, "attn_bias=bias", {**qkv, "bias": added}, output=sdpa(q, k, v, attn_mask=t(added)))
    case(SDPA, "is_causal=causal", {**qkv, "causal": "top_left"}, output=sdpa(q, k, v, is_causal=True))
    case(SDPA, "scale_factor=scale", {**qkv, "scale": 0.3}, output=sdpa(q, k, v, scale=0.3))
    case(SDPA, "enable_gqa=num_kv_heads", {"query": q, "key": k1, "value": v1}, output=sdpa(q, k1, v1, enable_gqa=True))

    from torch.nn.attention.flex_attention import create_mask, flex_attention
    band = lambda b, h, q_, k_: (q_ - k_ <= 1) & (q_ - k_ >= -1)
    mask = create_mask(band, 1, 1, TQ, TK, device="cpu")
    from torch.nn.attention.flex_attention import create_block_mask
    blocks = create_block_mask(band, 1, 1, TQ, TK, device="cpu")
    case("torch.nn.attention.flex_attention", "mask_mod,block_mask=mask", {**qkv, "mask": mask},
         output=flex_attention(t(q), t(k), t(v), block_mask=blocks))
    distance = lambda s, b, h, q_, k_: s - 0.25 * (q_ - k_).abs()
    case("torch.nn.attention.flex_attention", "score_mod=bias", {**qkv, "bias": -0.25 * np.abs(i - j)},
         output=flex_attention(t(q), t(k), t(v), score_mod=distance))

    E = H * D
    x, y, z = draw(B, TQ, E), draw(B, TK, 6), draw(B, TK, 5)
    padding = np.zeros((B, TK), bool)
    padding[0, 3] = padding[1, 1] = True
    dropped = rng.random((B * H, TQ, TK)) < 0.3
    dropped[..., 0] = False

    def layer(**options):
        torch.manual_seed(7)
        m = torch.nn.MultiheadAttention(E, H, batch_first=True, **options)
        with torch.no_grad():
            for p in m.parameters():
                p.copy_(t(draw(*p.shape)) * 0.5)
        return m.eval()

    m = layer()
    weight, bias = (np.split(p.detach().numpy(), 3) for p in (m.in_proj_weight, m.in_proj_bias))
    projection = {name: {"weight": weight[n], "bias": bias[n]} for n, name in enumerate(("query", "key", "value"))}
    projection["output"] = {"weight": m.out_proj.weight, "bias": m.out_proj.bias}
    context = draw(B, TK, E)
    tokens = {"x": x, "context": context, "projection": projection, "num_heads": H}
    call = lambda **options: m(t(x), t(context), t(context), **options)
    out, mean = call(need_weights=True, average_attn_weights=True)
    case(MHA, "in_proj_weight,in_proj_bias,out_proj_bias,out_proj=projection embed_dim,d_model=head_size nhead=num_heads average_attn_weights=mean_weights memory=context tgt,src,input=x",
         {**tokens, "return": ["output", "mean_weights"]}, output=out, mean_weights=mean)
    case(MHA, "average_attn_weights=return in_proj_weight,in_proj_bias=projection.query out_proj.weight,out_proj.bias=projection.output batch_first=layout",
         {**tokens, "return": ["output", "mean_weights"]}, output=out, mean_weights=mean)
    out, weights = call(need_weights=True, average_attn_weights=False)
    case(MHA, "need_weights,return_weights,output_attentions=return attn_weights,attn_output_weights,attentions,attention_weights=weights attn_output=output", {**tokens, "return": ["output", "weights"]}, output=out, weights=weights)
    case(MHA, "key_padding_mask,src_key_padding_mask,tgt_key_padding_mask,memory_key_padding_mask,padding_mask=mask",
         {**tokens, "mask": padding[:, None, None, :], "mask_semantics": "drop", "return": ["output"]},
         output=call(key_padding_mask=t(padding))[0])
    case(MHA, "attn_mask=mask masked,true_means_masked,exclude,ignore=drop",
         {**tokens, "mask": dropped.reshape(B, H, TQ, TK), "mask_semantics": "drop", "return": ["output"]}, output=call(attn_mask=t(dropped))[0])
    case(MHA, "src_mask,tgt_mask,memory_mask=mask",
         {**tokens, "mask": dropped[0], "mask_semantics": "drop", "return": ["output"]}, output=call(attn_mask=t(dropped[0]))[0])
    zero = layer(add_zero_attn=True)
    with torch.no_grad():
        for own, other in zip(zero.parameters(), m.parameters()):
            own.copy_(other)
    case(MHA, "add_zero_attn=sinks", {**tokens, "sinks": [0, 0], "return": ["output"]}, output=zero(t(x), t(context), t(context))[0])
    extra = layer(add_bias_kv=True)
    with torch.no_grad():
        extra.in_proj_weight.copy_(torch.eye(E).repeat(3, 1))
        extra.in_proj_bias.zero_()
        extra.out_proj.weight.copy_(torch.eye(E))
        extra.out_proj.bias.zero_()
    more = lambda tokens_, one: np.concatenate([tokens_, np.broadcast_to(one.detach().numpy(), (B, 1, E))], 1)
    case(MHA, "bias_k,add_bias_kv=key bias_v=value",
         {"query": x, "key": more(context, extra.bias_k), "value": more(context, extra.bias_v), "num_heads": H, "return": ["output"]},
         output=extra(t(x), t(context), t(context))[0])
    other = layer(kdim=6, vdim=5)
    biases = np.split(other.in_proj_bias.detach().numpy(), 3)
    projection = {"query": {"weight": other.q_proj_weight, "bias": biases[0]}, "key": {"weight": other.k_proj_weight, "bias": biases[1]},
                  "value": {"weight": other.v_proj_weight, "bias": biases[2]}, "output": {"weight": other.out_proj.weight, "bias": other.out_proj.bias}}
    case(MHA, "q_proj_weight,k_proj_weight,v_proj_weight,out_proj_weight,o_proj_weight,q_proj,k_proj,v_proj,o_proj,w_q,w_k,w_v,w_o,use_bias,with_bias=projection kdim=context vdim=value_context q_proj,w_q=query k_proj,w_k=key v_proj,w_v=value o_proj,out_proj,c_proj,w_o,o,out=output kernel,w=weight b=bias q_proj.weight=projection.query k_proj.weight=projection.key v_proj.weight=projection.value o_proj.weight=projection.output",
         {"x": x, "context": y, "value_context": z, "projection": projection, "num_heads": H, "return": ["output"]},
         output=other(t(x), t(y), t(z))[0])


def onnx_node(inputs, attributes, outputs=("Y",), op="Attention", domain="", opset=24, run=None):
    feeds = {name: x for name, x in inputs.items() if x is not None}
    types = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(bool): TensorProto.BOOL, np.dtype(np.int64): TensorProto.INT64,
             np.dtype(np.int32): TensorProto.INT32}
    node = helper.make_node(op, [name if x is not None else "" for name, x in inputs.items()], list(outputs), domain=domain, **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, types[x.dtype], x.shape) for n, x in feeds.items()],
                              [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs if n])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, 1 if domain else opset)] + ([helper.make_opsetid("", 21)] if domain else []),
                              ir_version=10)
    if domain:
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return session.run([n for n in outputs if n], feeds)
    return ReferenceEvaluator(model).run(None, feeds)


def onnx_calls():
    ONNX = "ONNX Attention, opset 24"
    node = lambda inputs=None, **attributes: onnx_node({"Q": q, "K": k, "V": v, **(inputs or {})}, attributes)[0]
    case(ONNX, "is_causal=causal", {**qkv, "causal": "top_left"}, output=node(is_causal=1))
    case(ONNX, "Y=output softcapping=softcap", {**qkv, "softcap": 0.7, "scale": 0.9, "return": ["output"]}, output=node(softcap=0.7, scale=0.9))
    case(ONNX, "attn_mask=mask", {**qkv, "mask": keep}, output=node({"attn_mask": keep}))
    packed = lambda x: np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], -1)
    case(ONNX, "q_num_heads=num_heads kv_num_heads=num_kv_heads",
         {"query": packed(q), "key": packed(k1), "value": packed(v1), "num_heads": H, "num_kv_heads": 1, "return": ["output"]},
         output=onnx_node({"Q": packed(q), "K": packed(k1), "V": packed(v1)}, {"q_num_heads": H, "kv_num_heads": 1})[0])
    lengths = np.array([4, 2], np.int64)
    case(ONNX, "nonpad_kv_seqlen=key_lengths", {**qkv, "key_lengths": [4, 2], "return": ["output"]},
         output=onnx_node({"Q": q, "K": k, "V": v, "attn_mask": None, "past_key": None, "past_value": None, "nonpad_kv_seqlen": lengths}, {})[0])
    for mode, name in enumerate(("scores", "capped_scores", "masked_scores", "weights")):
        _, _, _, stage = onnx_node({"Q": q, "K": k, "V": v, "attn_mask": added}, {"softcap": 0.7, "qk_matmul_output_mode": mode}, ("Y", "a", "b", "m"))
        if mode == 0:  # this reference returns what is after the softcap, where the operator's text has what is before
            case(ONNX, "qk_matmul_output_mode=return logits=scores", {**qkv, "mask": added, "return": ["scores"]},
                 scores=onnx_node({"Q": q, "K": k, "V": v, "attn_mask": added}, {"qk_matmul_output_mode": mode}, ("Y", "a", "b", "m"))[3])
        else:
            case(ONNX, "qk_matmul_output_mode=return" + (" probs,attention_scores=weights" if mode == 3 else ""),
                 {**qkv, "mask": added, "softcap": 0.7, "return": [name]}, **{name: stage})
    case(ONNX, "softmax_precision,compute_dtype,dtype=precision fp64,f64,double=float64",
         {**qkv, "precision": "float64", "return": ["output"]}, output=node(softmax_precision=11))

    ORT = "ONNX Runtime's "
    gqa = lambda inputs, attributes, qq=q, kk=k1, vv=v1: onnx_node(
        {"query": packed(qq), "key": packed(kk), "value": packed(vv), "past_key": None, "past_value": None, **inputs},
        {"num_heads": H, "kv_num_heads": 1, **attributes}, ("output", "present_key", "present_value"), "GroupQueryAttention", "com.microsoft")[0]
    T = TK
    qs, ks, vs = draw(B, H, T, 16), draw(B, 1, T, 16), draw(B, 1, T, 16)
    rows = {"query": packed(qs), "key": packed(ks), "value": packed(vs), "num_heads": H, "num_kv_heads": 1, "causal": True, "return": ["output"]}
    lengths = {"seqlens_k": np.array([T - 1, T - 1], np.int32), "total_sequence_length": np.array([T], np.int32)}
    run = lambda attributes, inputs=None: gqa({**lengths, **(inputs or {})}, attributes, qs, ks, vs)
    case(ORT + "GroupQueryAttention", "seqlens_k,total_sequence_length=key_lengths", {**rows, "key_lengths": [T, T]}, output=run({}))
    case(ORT + "GroupQueryAttention", "local_window_size=window", {**rows, "window": [1, 0]}, output=run({"local_window_size": 2}))
    angles = np.arange(8)[:, None] / 10000 ** (np.arange(8) / 8)[None, :]
    tables = {"cos_cache": np.cos(angles).astype(np.float32), "sin_cache": np.sin(angles).astype(np.float32)}
    for interleaved in (0, 1):
        out = run({"do_rotary": 1, "rotary_interleaved": interleaved}, tables)
        style = ["half", "interleaved"][interleaved]
        case(ORT + "GroupQueryAttention", "do_rotary,rotary_interleaved=rope", {**rows, "rope": {"style": style}}, output=out)
        case(ORT + "GroupQueryAttention", "cos_cache,sin_cache=rope rotary_interleaved=style",
             {**rows, "rope": {"style": style, "cos": tables["cos_cache"], "sin": tables["sin_cache"]}}, output=out)
    case(ORT + "GroupQueryAttention", "smooth_softmax=sinks", {**rows, "sinks": [0, 0]}, output=run({"smooth_softmax": 1}))
    sink = draw(H)
    case(ORT + "GroupQueryAttention", "head_sink,sink,attention_sinks=sinks", {**rows, "sinks": sink},
         output=run({}, {"cos_cache": None, "sin_cache": None, "position_ids": None, "attention_bias": None, "head_sink": sink}))
    mha = lambda inputs, attributes=None, outputs=("output",): onnx_node(
        {"query": packed(q), "key": packed(k), "value": packed(v), **inputs}, {"num_heads": H, **(attributes or {})}, outputs, "MultiHeadAttention",
        "com.microsoft")
    side = {"query": packed(q), "key": packed(k), "value": packed(v), "num_heads": H, "return": ["output"]}
    case(ORT + "MultiHeadAttention", "attention_bias,relative_position_bias,rel_pos_bias,position_bias=bias",
         {**side, "bias": added}, output=mha({"bias": None, "key_padding_mask": None, "attention_bias": added})[0])
    past = draw(B, H, 2, D), draw(B, H, 2, D)
    new = draw(B, H, TK, D), draw(B, H, TK, D)
    out = onnx_node({"query": packed(new[0]), "key": packed(new[1]), "value": packed(new[1]), "bias": None, "key_padding_mask": None, "attention_bias": None,
                     "past_key": past[0], "past_value": past[1]}, {"num_heads": H, "unidirectional": 1},
                    ("output", "present_key", "present_value"), "MultiHeadAttention", "com.microsoft")[0]
    case(ORT + "MultiHeadAttention", "unidirectional=causal past,layer_past,past_key_value,past_key_values,kv_cache,key_cache=past_key value_cache=past_value",
         {"query": new[0], "key": new[1], "value": new[1], "past_key": past[0], "past_value": past[1], "causal": True, "return": ["output"]},
         output=out.reshape(B, TK, H, D).swapaxes(1, 2))
    tokens, weight, bias = draw(B, TK, H * D), draw(H * D, 3 * H * D) * np.float32(0.4), draw(3 * H * D)
    kept = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    parts, biases = np.split(weight.T, 3), np.split(bias, 3)
    projection = {name: {"weight": parts[n], "bias": biases[n]} for n, name in enumerate(("query", "key", "value"))}
    attention = lambda mask: onnx_node({"input": tokens, "weights": weight, "bias": bias, "mask_index": mask}, {"num_heads": H}, ("output",), "Attention",
                                       "com.microsoft")[0]
    request = {"x": tokens, "projection": projection, "num_heads": H, "return": ["output"]}
    case(ORT + "Attention", "mask_index,mask_filter_value=mask weights,c_attn.weight=projection",
         {**request, "mask": kept[:, None, None, :].astype(bool)}, output=attention(kept))
    case(ORT + "Attention", "mask_index=mask", {**request, "key_lengths": [3, 2]}, output=attention(np.array([3, 2], np.int32)))


def jax_calls():
    JAX = "jax.nn.dot_product_attention"
    call = lambda *a, **o: jax.nn.dot_product_attention(*(a or (bthd(q), bthd(k), bthd(v))), **o)
    case(JAX, "is_causal=causal", {**above, "causal": "top_left"}, output=call(is_causal=True))
    case(JAX, "relative_position_bias_table=bias", {**above, "bias": added}, output=call(bias=added))
    case(JAX, "key_value_seq_lengths,kv_seq_lens=key_lengths", {**above, "key_lengths": [4, 2]},
         output=call(key_value_seq_lengths=np.array([4, 2])))
    visible = np.array([3, 2])
    out = np.asarray(call(query_seq_lengths=visible)).copy()
    out[1, 2] = 0  # padding, which JAX leaves undefined
    case(JAX, "query_seq_lengths,seq_len_q=query_lengths", {**above, "query_lengths": [3, 2]}, output=out)
    case(JAX, "local_window_size=window", {**above, "window": [1, 0]}, output=call(local_window_size=(1, 0)))
    case(JAX, "local_window_size=window", {**above, "window": [1, 1]}, output=call(local_window_size=1))
    out, residual = call(return_residual=True)
    case(JAX, "return_residual=return logsumexp,softmax_lse=lse", {**above, "return": ["output", "lse"]},
         output=out, lse=np.asarray(residual).swapaxes(1, 2))


def keras_calls():
    x, context = draw(B, TQ, 8), draw(B, TK, 8)
    keras.utils.set_random_seed(3)
    m = keras.layers.MultiHeadAttention(num_heads=H, key_dim=4, value_dim=3)
    m.build(query_shape=x.shape, value_shape=context.shape)
    for w in m.weights:
        w.assign(draw(*w.shape) * np.float32(0.5))
    kernel = lambda dense: np.asarray(dense.kernel).reshape(8, -1).T
    projection = {name: {"weight": kernel(dense), "bias": np.asarray(dense.bias).ravel()}
                  for name, dense in (("query", m.query_dense), ("key", m.key_dense), ("value", m.value_dense))}
    projection["output"] = {"weight": np.asarray(m.output_dense.kernel).reshape(-1, 8).T, "bias": np.asarray(m.output_dense.bias)}
    request = {"x": x, "context": context, "projection": projection, "num_heads": H, "return": ["output", "weights"]}
    KERAS = "keras.layers.MultiHeadAttention"
    call = lambda **o: m(x, context, return_attention_scores=True, **o)
    out, weights = call()
    case(KERAS, "return_attention_scores=return key_dim,value_dim=head_size attention_axes=layout", request, output=out, weights=weights)
    out, weights = call(use_causal_mask=True)
    case(KERAS, "use_causal_mask=causal", {**request, "causal": "top_left"}, output=out, weights=weights)
    out, weights = call(attention_mask=keep[:, 0])
    case(KERAS, "attention_mask=mask", {**request, "mask": keep[:, :1]}, output=out, weights=weights)
    tokens = np.array([[1, 1, 1, 0], [1, 1, 0, 1]], bool)
    for name in ("value_mask", "key_mask"):
        out, weights = call(**{name: tokens})
        case(KERAS, f"{name}=mask", {**request, "mask": tokens[:, None, None, :]}, output=out, weights=weights)
    single = {"query": q[:, 0], "key": k[:, 0], "value": v[:, 0]}
    dot = keras.layers.Attention(use_scale=False)
    case("keras.layers.Attention", "use_scale,score_mode=scale", {**single, "scale": 1}, output=dot([q[:, 0], v[:, 0], k[:, 0]]))
    g = keras.layers.GroupQueryAttention(head_dim=4, num_query_heads=2, num_key_value_heads=1)
    g.build(query_shape=x.shape, value_shape=context.shape)
    for w in g.weights:
        w.assign(draw(*w.shape) * np.float32(0.5))
    dense = lambda d: {"weight": np.asarray(d.kernel).reshape(8, -1).T, "bias": np.asarray(d.bias).ravel()}
    projection = {"query": dense(g._query_dense), "key": dense(g._key_dense), "value": dense(g._value_dense),
                  "output": {"weight": np.asarray(g._output_dense.kernel).reshape(-1, 8).T, "bias": np.asarray(g._output_dense.bias)}}
    case("keras.layers.GroupQueryAttention", "head_dim=head_size num_query_heads=num_heads num_key_value_heads=num_kv_heads",
         {"x": x, "context": context, "projection": projection, "num_heads": 2, "num_kv_heads": 1, "head_size": 4, "return": ["output"]}, output=g(x, context))


def documented_calls():
    right = j <= i + TK - TQ
    out, weights, lse = documented(q, k, v, visible=right)
    rows = {**above, "causal": "bottom_right"}
    case(FLASH, "return_attn_probs,return_softmax,return_softmax_lse,return_lse,return_aux=return bshd,bsnd,bsnh,btnh,blhd,nhd,bshd_bshd_bshd=bthd autoregressive,apply_causal_mask,causal_mask=causal",
         {**rows, "return": ["output", "weights", "lse"]}, output=bthd(out), weights=weights, lse=lse)
    packed = np.stack([bthd(k), bthd(v)], 2)
    case(FLASH, "kv=value", {**rows, "key": packed[:, :, 0], "value": packed[:, :, 1]}, output=bthd(out))
    same = np.stack([bthd(k), bthd(k) * np.float32(0.5), bthd(v)], 2)
    case(FLASH, "qkv=query", {"query": same[:, :, 0], "key": same[:, :, 1], "value": same[:, :, 2], "layout": "bthd", "return": ["output"]},
         output=bthd(documented(k, k * 0.5, v)[0]))
    case(FLASH, "softmax_scale,sm_scale,attn_scale,scale_value,scaling,qk_scale,attention_multiplier=scale", {**rows, "scale": 0.4}, output=bthd(documented(q, k, v, 0.4, visible=right)[0]))
    case(FLASH, "window_size=window", {**rows, "causal": False, "query_offset": TK - TQ, "window": [1, 1]},
         output=bthd(documented(q, k, v, visible=np.abs(i + TK - TQ - j) <= 1)[0]))
    case(FLASH, "soft_cap,softcapping,logit_cap,logits_cap,logit_softcapping,attn_logits_soft_cap,attn_logit_softcapping=softcap", {**rows, "softcap": 0.8},
         output=bthd(documented(q, k, v, softcap=0.8, visible=right)[0]))
    slopes = np.array([0.5, 0.25], np.float32)
    case(FLASH, "alibi_slopes=alibi", {**above, "alibi": slopes, "query_offset": TK - TQ},
         output=bthd(documented(q, k, v, bias=-slopes.astype(np.float64)[:, None, None] * np.abs(i + TK - TQ - j))[0]))
    sink = draw(H)
    case(FLASH, "learnable_sink,s_aux,attn_sink,sink=sinks", {**rows, "sinks": sink}, output=bthd(documented(q, k, v, visible=right, sinks=sink)[0]))
    lengths = np.array([4, 3])[:, None, None, None]
    case(FLASH, "cache_seqlens,seqused_k,context_lens,seq_lens=key_lengths",
         {**above, "causal": True, "key_lengths": [4, 3], "query_offset": [1, 0], "return": ["output"]},
         output=bthd(documented(q, k, v, visible=(j <= i + lengths - TQ) & (j < lengths))[0]))
    case(FLASH, "seqused_q,q_lens=query_lengths", {**above, "query_lengths": [3, 2]},
         output=bthd(documented(q, k, v)[0] * (np.arange(TQ) < np.array([[3], [2]]))[:, None, :, None]))
    boundaries_q, boundaries_k = [0, 1, 3], [0, 2, 4]
    own = (np.searchsorted(boundaries_q, np.arange(TQ), "right")[:, None] == np.searchsorted(boundaries_k, np.arange(TK), "right")[None, :])
    one = {name: bthd(x)[0] for name, x in (("query", q), ("key", k), ("value", v))}
    out = documented(q[:1], k[:1], v[:1], visible=own)[0]
    case(FLASH, "cu_seqlens_q,cu_seqlens_k,cu_seqlens_kv,cu_seq_lens_q,cu_seq_lens_k,cu_seq_q,cu_seq_k,cum_seq_q,cum_seq_k,qo_indptr,kv_indptr,query_start_loc,actual_seq_lengths,max_seqlen_q,max_seqlen_k,max_seqlen_kv,max_q,max_k,max_length_q,max_length_k=cu_seqlens tnd=thd",
         {**one, "layout": "thd", "cu_seqlens": {"query": boundaries_q, "key": boundaries_k}}, output=bthd(out)[0])
    left = np.array([1, 0])[:, None, None, None]
    case(FLASH, "leftpad_k,cache_leftpad=key_positions",
         {**above, "causal": True, "key_positions": [[-1, 0, 1, 2], [0, 1, 2, 3]], "query_positions": [[0, 1, 2], [1, 2, 3]],
          "mask": np.array([[[[0, 1, 1, 1]]], [[[1, 1, 1, 1]]]], bool), "return": ["output"]},
         output=bthd(documented(q, k, v, visible=(j <= i + TK - TQ) & (j >= left))[0]))
    case(FLASH, "attention_chunk,attention_chunk_size=chunk_size", {**above, "causal": "top_left", "chunk_size": 2},
         output=bthd(documented(q, k, v, visible=(j <= i) & (i // 2 == j // 2))[0]))
    cache = {"past_key": bthd(k)[:, :2], "past_value": bthd(v)[:, :2], "key": bthd(k)[:, 2:], "value": bthd(v)[:, 2:]}
    case(FLASH, "k_cache=past_key v_cache=past_value", {"query": bthd(q)[:, :2], **cache, "layout": "bthd", "causal": True, "return": ["output"]},
         output=bthd(documented(q[:, :, :2], k, v, visible=(j <= i + 2)[:2])[0]))
    case(FLASH, "past_sequence_length,past_length,past_kv_length,offset,q_offset,start_pos,q_start=query_offset", {**above, "causal": True, "query_offset": 1},
         output=bthd(documented(q, k, v, visible=right)[0]))

    def rotated(x, positions, style, base=10000.0, factor=1.0):
        x, pairs = np.asarray(x, np.float64), x.shape[-1] // 2
        angle = np.asarray(positions)[:, None] / factor / base ** (np.arange(pairs) / pairs)
        a, b = (x[..., :pairs], x[..., pairs:]) if style == "half" else (x[..., ::2], x[..., 1::2])
        c, s = a * np.cos(angle) - b * np.sin(angle), a * np.sin(angle) + b * np.cos(angle)
        return np.concatenate([c, s], -1) if style == "half" else np.stack([c, s], -1).reshape(x.shape)

    for style, names in (("half", "rotary,rope_theta,rotary_base,rotary_cos,rotary_sin,position_embeddings,pos_encoding_mode=rope is_neox_style=style "
                                  "neox,gpt_neox,rotate_half,hf=half theta,rope_theta,rotary_base=base"),
                         ("interleaved", "freqs_cis=rope interleaved=style gptj,rotate_every_two=interleaved")):
        case(FLASH if style == "half" else "Llama's freqs_cis, from its description", names, {**qkv, "rope": {"style": style, "base": 500.0}},
             output=documented(rotated(q, range(TQ), style, 500), rotated(k, range(TK), style, 500), v)[0])
    out = documented(rotated(q, range(TQ), "half", 500, 2), rotated(k, range(TK), "half", 500, 2), v)[0]
    linear = {"style": "half", "base": 500.0, "scaling": {"rope_type": "linear", "factor": 2.0}}
    case(HF, "rope_scaling,rope_parameters=rope rope_scaling,rope_parameters,rope_type,factor=scaling", {**qkv, "rope": linear}, output=out)
    case(INFER, "rope_scale=rope", {**qkv, "rope": linear}, output=out)
    frequencies = (500.0 ** -(np.arange(2) / 2) / 2).tolist()
    case(HF, "inv_freq=rope", {**qkv, "rope": {"style": "half", "inverse_frequencies": frequencies}}, output=out)
    case(HF, "inv_freq=inverse_frequencies attention_scaling=attention_factor",
         {**qkv, "rope": {"style": "half", "inverse_frequencies": frequencies, "attention_factor": 1.1}},
         output=documented(rotated(q, range(TQ), "half", 500, 2) * 1.1, rotated(k, range(TK), "half", 500, 2) * 1.1, v)[0])
    part = lambda x, n: np.concatenate([rotated(x[..., :2], range(n), "half"), x[..., 2:]], -1)
    case(HF, "partial_rotary_factor,rotary_dim,rotary_embedding_dim=rope partial_rotary_factor,rotary_dim,dim=dims",
         {**qkv, "rope": {"style": "half", "dims": 2}}, output=documented(part(q, TQ), part(k, TK), v)[0])
    case(HF, "position_ids,positions,cache_position,query_position_ids,q_positions=query_positions kv_positions,k_positions=key_positions",
         {**qkv, "causal": True, "query_positions": [2, 0, 3], "key_positions": [3, 0, 1, 2], "rope": {"style": "half"}},
         output=documented(rotated(q, [2, 0, 3], "half"), rotated(k, [3, 0, 1, 2], "half"), v, visible=np.array([3, 0, 1, 2]) <= np.array([[2], [0], [3]]))[0])
    norm = lambda x, w: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w
    wq, wk = draw(D), draw(D)
    case(HF, "q_norm,k_norm=qk_norm variance_epsilon,epsilon,rms_norm_eps=eps",
         {**qkv, "qk_norm": {"query": wq, "key": wk, "eps": 1e-5}}, output=documented(norm(np.float64(q), wq), norm(np.float64(k), wk), v)[0])
    case(HF, "use_qk_norm,qk_layernorm=qk_norm", {**qkv, "qk_norm": {"query": True, "key": True, "eps": 1e-5}},
         output=documented(norm(np.float64(q), 1), norm(np.float64(k), 1), v)[0])
    case(HF, "query_states,q,queries,query_layer=query key_states,k,keys,key_layer,static_k,kv=key value_states,v,values,value_layer,static_v=value attn_output,context_layer=output bnsd,bhsd,bnsh,bhld,hnd=bhtd", {**qkv, "layout": "bhtd", "return": ["output"]}, output=documented(q, k, v)[0])
    tokens = np.array([[1, 1, 1, 0], [1, 1, 0, 1]])[:, None, None, :]
    case(HF, "attention_mask,encoder_attention_mask=mask attend,include,visible=keep boolean=bool",
         {**qkv, "mask": tokens.astype(bool), "mask_semantics": "keep"}, output=documented(q, k, v, visible=tokens == 1)[0])
    numbers = np.where(tokens == 1, 0.0, float(np.finfo(np.float32).min))
    case(HF, "attention_mask=mask", {**qkv, "mask": numbers}, output=documented(q, k, v, visible=tokens == 1)[0])
    window = (j <= i) & (i - j < 2)
    case(HF, "sliding_window,max_attention_window_size,diagonal_band_left_bound=window", {**qkv, "causal": "top_left", "window": [1, 0]}, output=documented(q, k, v, visible=window)[0])
    case(HF, "attention_window=window", {**qkv, "window": [1, 1]}, output=documented(q, k, v, visible=np.abs(i - j) <= 1)[0])
    case(HF, "query_pre_attn_scalar=scale", {**qkv, "scale": 9 ** -0.5}, output=documented(q, k, v, 9 ** -0.5)[0])
    case("Temperature of a softmax, by its definition", "temperature=scale", {**qkv, "scale": 1 / (2 * D ** 0.5)}, output=documented(q, k, v, D ** -0.5 / 2)[0])
    case(CUDNN, "inv_scale=scale", {**qkv, "scale": 1 / 3}, output=documented(q, k, v, 1 / 3)[0])
    q4 = np.concatenate([q, -q], 1)
    case(HF, "num_key_value_groups,n_rep,n_kv_heads,kv_heads,num_gqa_groups,num_key_value_heads=num_kv_heads num_attention_heads,n_heads,n_head,heads,head_num,num_query_heads,num_qo_heads=num_heads",
         {"query": q4, "key": k, "value": v, "num_heads": 4, "num_kv_heads": 2}, output=documented(q4, k, v)[0])
    head = np.array([True, False])[:, None, None]
    case(HF, "head_mask,layer_head_mask,cross_attn_head_mask=mask", {**qkv, "mask": head, "return": ["output"]},
         output=documented(q, k, v)[0] * head)
    case(TE, "attn_mask_type=causal qkv_format,qkv_layout=layout", {**above, "causal": "bottom_right"}, output=bthd(documented(q, k, v, visible=right)[0]))
    case(CUDNN, "diagonal_alignment=causal", {**qkv, "causal": "bottom_right"}, output=documented(q, k, v, visible=right)[0])
    case(ASCEND, "sparse_mode=causal", {**qkv, "causal": "bottom_right"}, output=documented(q, k, v, visible=right)[0])
    case(ASCEND, "sparse_mode=causal", {**qkv, "causal": "top_left"}, output=documented(q, k, v, visible=j <= i)[0])
    case(ASCEND, "atten_mask=mask", {**qkv, "mask": ~keep, "mask_semantics": "drop"}, output=documented(q, k, v, visible=keep)[0])
    case(ASCEND, "pre_tokens,next_tokens=window", {**qkv, "window": [1, 0]}, output=documented(q, k, v, visible=(i - j <= 1) & (j <= i))[0])
    case(ASCEND, "pse,core_attention_bias=bias", {**qkv, "bias": added}, output=documented(q, k, v, bias=added)[0])
    case(ASCEND, "input_layout,tensor_layout,kv_layout,data_layout=layout", above, output=bthd(documented(q, k, v)[0]))
    sbhd = q.transpose(2, 0, 1, 3), k.transpose(2, 0, 1, 3), v.transpose(2, 0, 1, 3)
    case(TE, "sbhd=bhtd", {"query": sbhd[0].swapaxes(0, 1), "key": sbhd[1].swapaxes(0, 1), "value": sbhd[2].swapaxes(0, 1), "layout": "bthd"}, output=bthd(documented(q, k, v)[0]))
    flat = lambda x: bthd(x).reshape(B, -1, H * D)
    case(ASCEND, "bsh,tbd=bhtd", {"query": flat(q), "key": flat(k), "value": flat(v), "num_heads": H}, output=flat(documented(q, k, v)[0]))
    case(TE, "softmax_type=sinks", {**qkv, "sinks": [0, 0]}, output=documented(q, k, v, sinks=[0, 0])[0])
    case(INFER, "custom_mask,packed_custom_mask=mask", {**qkv, "mask": keep[0, 0]}, output=documented(q, k, v, visible=keep[0, 0])[0])
    case(INFER, "window_left=window", {**qkv, "query_offset": TK - TQ, "window": [1, -1]}, output=documented(q, k, v, visible=i + TK - TQ - j <= 1)[0])
    case(INFER, "logits_soft_cap=softcap", {**qkv, "softcap": 0.8}, output=documented(q, k, v, softcap=0.8)[0])
    case("ONNX Attention, opset 25, from its documentation", "left_window_size,right_window_size,window_right,diagonal_band_right_bound=window",
         {**qkv, "window": [2, 0]}, output=documented(q, k, v, visible=(i - j <= 2) & (j <= i))[0])
    ids = [[0, 0, 1], [0, 1, 1]], [[0, 0, 1, 1], [0, 1, 1, 1]]
    segments = (np.array(ids[0])[:, :, None] == np.array(ids[1])[:, None, :])[:, None]
    case("JAX's flash_attention and splash_attention, from their documentation",
         "q_segment_ids,kv_segment_ids,decoder_segment_ids,document_ids,document_id,doc_id,doc_ids,sequence_ids,seq_idx=segment_ids",
         {**qkv, "segment_ids": {"query": ids[0], "key": ids[1]}}, output=documented(q, k, v, visible=segments)[0])
    case("Prefix language models, from their description", "prefix,prefix_len,prefix_lengths=prefix_length", {**qkv, "causal": "top_left", "prefix_length": 2},
         output=documented(q, k, v, visible=(j <= i) | (j < 2))[0])
    case("StreamingLLM, from its description", "sink_token_length,attention_sink_size,sink_size,start_size=num_sink_tokens",
         {**qkv, "causal": "top_left", "window": [0, 0], "num_sink_tokens": 1}, output=documented(q, k, v, visible=(j == i) | ((j < 1) & (j <= i)))[0])
    same = np.array([0, 1, 1, 1])
    case(HF, "image_group_ids=span_ids", {"query": k, "key": k, "value": v, "causal": True, "span_ids": [-1, 1, 1, 1]},
         output=documented(k, k, v, visible=(np.arange(4)[None] <= np.arange(4)[:, None]) | ((same[:, None] == 1) & (same[None] == 1)))[0])
    case(CUDNN, "seq_len_kv,lengths,kv_lengths,valid_lens=key_lengths generate_stats=return", {**qkv, "key_lengths": [4, 2], "return": ["output", "lse"]},
         output=documented(q, k, v, visible=j < np.array([4, 2])[:, None, None, None])[0], lse=documented(q, k, v, visible=j < np.array([4, 2])[:, None, None, None])[2])
    x, context = draw(B, TQ, 8), draw(B, TK, 8)
    wq, wk, wv = draw(8, 8), draw(8, 8), draw(8, 8)
    split = lambda y: y.reshape(B, -1, H, D).swapaxes(1, 2)
    out = flat(documented(split(np.float64(x) @ wq.T), split(np.float64(context) @ wk.T), split(np.float64(context) @ wv.T))[0])
    case("Hugging Face, Flax and PyTorch layers, from their documentation",
         "hidden_states,inputs_q,inputs_embeds,embeddings,tokens=x inputs_kv,inputs_k,inputs_v,encoder_hidden_states,key_value_states,vdim=context head_dim,d_k,dim_head,size_per_head,kv_channels,qkv_features,attention_head_size,key_size,d_v,v_head_dim,hidden_size,n_embd=head_size out_features=projection",
         {"x": x, "context": context, "projection": {"query": wq, "key": wk, "value": wv}, "num_heads": H, "head_size": D, "return": ["output"]}, output=out)
    case("Reductions of weights, from their description", "column_sums,heavy_hitters=key_sums topk,top_k=top outputs=return",
         {**qkv, "return": ["key_sums", "output"]}, key_sums=documented(q, k, v)[1].sum(-2), output=documented(q, k, v)[0])
    case(XFORMERS, "attn_bias=bias", {**above, "bias": added}, output=bthd(documented(q, k, v, bias=added)[0]))
    case("A numbers' names, from NumPy's documentation", "fp32,f32,float,single=float32", {**qkv, "precision": "float32"}, output=documented(q, k, v)[0])


def more_calls():
    torch.manual_seed(1337)
    x = torch.randn(2, 3, 4)
    case(SDPA, "random_seed=seed", {"seed": 1337, "x": {"shape": [2, 3, 4]}, "projection": "identity", "return": ["output"]},
         output=F.scaled_dot_product_attention(x, x, x))
    boxed = lambda y: {"shape": list(y.shape), "data": y.ravel(), "dtype": "float32"}
    case(SDPA, "dims,size=shape values,array,buffer,name,0,__ndarray__,type,b64=data datatype=dtype", {"query": boxed(q), "key": boxed(k), "value": boxed(v)},
         output=sdpa(q, k, v))
    table, n, exact, farthest = draw(8, H), 4, 2, 128
    distance = np.abs(j - i)
    bucket = np.where(distance < exact, distance, np.minimum(
        exact + (np.log(np.maximum(distance, 1) / exact) / np.log(farthest / exact) * (n - exact)).astype(int), n - 1)) + n * (j > i)
    case("T5, from its description", "relative_attention_bias,relative_attention_num_buckets,relative_attention_max_distance=relative_bias",
         {**qkv, "relative_bias": {"table": table, "bidirectional": True, "max_distance": farthest}},
         output=documented(q, k, v, bias=np.float64(table)[bucket].transpose(2, 0, 1))[0])
    slopes = np.array([2.0**-4, 2.0**-8])
    case("ALiBi, from its paper", "use_alibi_mask=alibi", {**qkv, "alibi": True}, output=documented(q, k, v, bias=-slopes[:, None, None] * np.abs(i - j))[0])
    factor = 1 + 0.1 * np.log(np.floor((np.arange(TQ) + 1) / 1) + 1)
    case("Llama 4, from its description", "token_temperature,attn_temperature_tuning,floor_scale,attn_scale_tuning=query_scale", {**qkv, "query_scale": factor},
         output=documented(q * factor[:, None], k, v)[0])
    case("torch.round", "round=decimals", {**qkv, "decimals": 3}, output=torch.round(sdpa(q, k, v), decimals=3))
    weights = documented(q, k, v)[1]
    case("torch.nn.functional.adaptive_avg_pool2d", "output_size=pool", {**qkv, "pool": [1, 2], "return": ["pooled_weights"]},
         pooled_weights=F.adaptive_avg_pool2d(t(weights), (1, 2)))
    tensor = lambda name, y: {"name": name, "datatype": "FP32", "shape": list(y.shape), "data": y.ravel()}
    infer = lambda parameters, *extra: {"parameters": parameters, "inputs": [tensor("Q", q), tensor("K", k), tensor("V", v), *extra], "outputs": [{"name": "Y"}]}
    node = lambda inputs=None, **attributes: onnx_node({"Q": q, "K": k, "V": v, **(inputs or {})}, attributes)[0]
    case("ONNX Attention, opset 24, by way of /v2",
         "causal,use_causal_mask=is_causal query=Q key=K value=V output=Y dtype=datatype dims=shape contents,fp32_contents=data is_causal,scale,instances=inputs",
         infer({"is_causal": 1, "scale": 0.3}), Y=node(is_causal=1, scale=0.3).ravel())
    case("ONNX Attention, opset 24, by way of /v2", "mask,attention_mask,attention_bias=attn_mask precision=softmax_precision",
         infer({"softmax_precision": 11}, tensor("attn_mask", added)), Y=node({"attn_mask": added}).ravel())
    lengths = np.array([4, 2], np.int64)
    case("ONNX Attention, opset 24, by way of /v2", "key_lengths=nonpad_kv_seqlen",
         infer({}, {"name": "nonpad_kv_seqlen", "datatype": "INT64", "shape": [2], "data": lengths}),
         Y=onnx_node({"Q": q, "K": k, "V": v, "attn_mask": None, "past_key": None, "past_value": None, "nonpad_kv_seqlen": lengths}, {})[0].ravel())
    case("ONNX Attention, opset 25, from its documentation, by way of /v2", "window,window_size,sliding_window=left_window_size",
         infer({"left_window_size": 1, "is_causal": 1}), Y=documented(q, k, v, visible=(j <= i) & (i - j <= 1))[0].ravel())
    _, _, _, stage = onnx_node({"Q": q, "K": k, "V": v}, {"qk_matmul_output_mode": 3}, ("Y", "a", "b", "m"))
    case("ONNX Attention, opset 24, by way of /v2", "return=qk_matmul_output_mode weights,scores=qk_matmul_output",
         {**infer({"qk_matmul_output_mode": 3}), "outputs": [{"name": "qk_matmul_output"}]}, qk_matmul_output=stage.ravel())
    flat = lambda y: np.ascontiguousarray(y.swapaxes(1, 2)).reshape(y.shape[0], y.shape[2], -1)
    case("ONNX Attention, opset 24, by way of /v2", "num_heads,n_heads=q_num_heads num_kv_heads,num_key_value_heads=kv_num_heads",
         {"parameters": {"q_num_heads": H, "kv_num_heads": 1}, "inputs": [tensor("Q", flat(q)), tensor("K", flat(k1)), tensor("V", flat(v1))]},
         Y=onnx_node({"Q": flat(q), "K": flat(k1), "V": flat(v1)}, {"q_num_heads": H, "kv_num_heads": 1})[0].ravel())


# Entries whose advice changes no number, and why.
WITHOUT_NUMBERS = {
    "attention is computed as at inference": "dropout,dropout_p,dropout_rate,attn_dropout,attention_dropout,dropout_rng,dropout_mask,broadcast_dropout,keep_prob,p,"
                                             "deterministic,rngs,training,is_inference=query",
    "it chooses how a library computes": "implementation,attn_implementation,backend,flash_attention,use_flash,kernel_options,op,num_splits,pack_gqa,sm_margin,warp_specialize,"
                                         "inner_precise,use_tensor_cores,device=query",
    "it is not here: other protocols": "jsonrpc=x outputs,lses=parts",
    "it is not here: embeddings and language models": "input_ids,token_type_ids,prompt,messages,model,max_tokens,text=x",
    "it is not here: caches in pages, and state between requests": "block_table,block_tables,page_table,paged_kv_cache,kv_indices,slot_mapping,cache_batch_idx,cache_indirection,"
                                                                   "use_cache=past_key",
    "it follows from the shapes": "seq_len,batch_size=key_lengths",
    "rows of padding are left to the caller": "query_mask=mask",
    "16 bits are those of files": "float16,fp16,f16,half,bfloat16,bf16,auto=float32",
    "it is about what a reply holds": "sow_weights,output_hidden_states,return_dict=return",
    "it moves a field into another object": "mrope_section=rope seq_len=length",
}

torch_calls()
onnx_calls()
jax_calls()
keras_calls()
documented_calls()
more_calls()
head = {"about": "Made by libraries.py: calls of other libraries, and the same requests as attnd's suggestions say them. `names` are the entries of "
                 "api/json/library_names.c that a request follows, [theirs, ours]; `expect` is the library's result.",
        "versions": {"torch": torch.__version__.split("+")[0], "onnxruntime": onnxruntime.__version__, "jax": jax.__version__, "keras": keras.__version__},
        "without_numbers": [{"why": why, "names": pairs_of(names)} for why, names in WITHOUT_NUMBERS.items()]}
print(json.dumps(head)[:-1] + ', "cases": [\n' + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]}")
