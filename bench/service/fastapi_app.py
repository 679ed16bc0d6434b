"""What a user would write around PyTorch: POST /attention with query, key and value, JSON or safetensors; the output comes back. POST
/head with a seed and a shape: a causal head, drawn and unscaled.

As fast as it is usually done: orjson both ways, numpy in between, uvloop and httptools below, one process, torch's threads."""
import os

import numpy
import orjson
import torch
from fastapi import FastAPI, Request, Response
from safetensors.torch import load, save

SAFETENSORS = "application/x-safetensors"
app = FastAPI()
torch.set_num_threads(int(os.environ["THREADS"]))


@app.post("/attention")
async def attention(request: Request):
    body = await request.body()
    binary = request.headers["content-type"] == SAFETENSORS
    if binary:
        tensors = load(body)
    else:
        sent = orjson.loads(body)
        tensors = {name: torch.from_numpy(numpy.array(sent[name], numpy.float32)) for name in ("query", "key", "value")}
    with torch.no_grad():
        output = torch.nn.functional.scaled_dot_product_attention(tensors["query"], tensors["key"], tensors["value"])
    if binary:
        return Response(save({"output": output}), media_type=SAFETENSORS)
    return Response(orjson.dumps({"output": output.numpy()}, option=orjson.OPT_SERIALIZE_NUMPY),
                    media_type="application/json")


@app.post("/head")
async def head(request: Request):
    sent = orjson.loads(await request.body())
    torch.manual_seed(sent["seed"])
    x = torch.randn(sent["x"]["shape"])
    layers = [torch.nn.Linear(x.shape[-1], sent["head_size"], bias=False) for _ in range(3)]
    with torch.no_grad():
        key, query, value = (layer(x) for layer in layers)
        output = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, scale=sent["scale"])
    return Response(orjson.dumps({"output": output.numpy()}, option=orjson.OPT_SERIALIZE_NUMPY), media_type="application/json")
