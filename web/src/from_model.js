// from_model.js: Python that writes a file for the page from a model of the transformers library.

const HEAD = `import json

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer
`;

const INPUT = `name, text = "gpt2", "To be, or not to be, that is the question"
tokenizer = AutoTokenizer.from_pretrained(name)
inputs = tokenizer(text, return_tensors="pt")
tokens = tokenizer.convert_ids_to_tokens(inputs["input_ids"][0])
`;

// Weights of all layers: [layers, batch, heads, Tq, Tk].
const WEIGHTS = `${HEAD}
${INPUT}model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="eager")
with torch.no_grad():
    attentions = model(**inputs, output_attentions=True).attentions
save_file({"weights": torch.stack(attentions).float()}, "weights.safetensors", metadata={"tokens": json.dumps(tokens)})
`;

// Query, key and value as each layer's attention gets them, rotated where the model rotates: [layers, heads, T, D].
const VECTORS = `${HEAD}from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward

seen, scales = [], []


def record(module, query, key, value, *args, scaling=None, **kwargs):
    seen.append((query[0], key[0], value[0]))
    scales.append(scaling or query.shape[-1] ** -0.5)
    return sdpa_attention_forward(module, query, key, value, *args, scaling=scaling, **kwargs)


AttentionInterface.register("record", record)
${INPUT}model = AutoModelForCausalLM.from_pretrained(name, attn_implementation="record")
with torch.no_grad():
    model(**inputs, use_cache=False)
tensors = {name: torch.stack(parts).float().contiguous() for name, parts in zip(("query", "key", "value"), zip(*seen))}
request = {"causal": True, "scale": float(scales[0]), "tokens": tokens}
save_file(tensors, "vectors.safetensors", metadata={"request": json.dumps(request), "items": "layers"})
`;

export const FROM_MODEL = [
    { name: "from-weights", title: "Its weights", about: "What each token takes from each other, in all layers and heads.", code: WEIGHTS },
    { name: "from-vectors", title: "Its queries, keys and values", about: "What attention is computed from: the page then shows every step, and you can change the mask or the scale.", code: VECTORS },
];
