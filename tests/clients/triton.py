#!/usr/bin/env python3
"""tritonclient against a running daemon: health, metadata, statistics, tensors as JSON and as bytes. Prints TAP.

    tests/clients/triton.py HOST:PORT"""
import sys

import numpy as np
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

sys.path.insert(0, __file__.rpartition("/")[0])
from tap import check, finish  # noqa: E402 (the folder of this script is not on the path of every runner)

MODEL = "attention"
rng = np.random.default_rng(3)


def attention(q, k, v, causal=False):
    """The formula, in double."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return weights @ v.astype(np.float64), weights


def tensor(name, array, datatype, binary=True):
    value = triton.InferInput(name, list(array.shape), datatype)
    value.set_data_from_numpy(array, binary_data=binary)
    return value


def close(got, want, tolerance=2e-6):
    return got is not None and got.shape == want.shape and bool(np.abs(got - want).max() <= tolerance)


def test_health(client):
    check("server live", client.is_server_live())
    check("server ready", client.is_server_ready())
    check("model ready", client.is_model_ready(MODEL))
    check("model ready, version 1", client.is_model_ready(MODEL, "1"))
    check("no other model", not client.is_model_ready("transformer"))


def test_metadata(client):
    server, model = client.get_server_metadata(), client.get_model_metadata(MODEL)
    check("server metadata", server["name"] == "attnd" and "binary_tensor_data" in server["extensions"])
    config = client.get_model_config(MODEL)
    check("model configuration", [i["name"] for i in config["input"]] == [i["name"] for i in model["inputs"]] and
          [o["name"] for o in config["output"]] == [o["name"] for o in model["outputs"]] and
          [i["name"] for i in config["input"] if not i["optional"]] == ["Q", "K", "V"] and config["max_batch_size"] == 0)
    check("model configuration of version 1", client.get_model_config(MODEL, "1") == config)
    check("model metadata", model["name"] == MODEL and [i["name"] for i in model["inputs"]][:3] == ["Q", "K", "V"])


def test_tensors(client):
    q, k, v = (rng.standard_normal((2, 3, 5, 4), np.float32) for _ in range(3))
    want, weights = attention(q, k, v)
    for binary_in in (False, True):
        inputs = [tensor(n, a, "FP32", binary_in) for n, a in (("Q", q), ("K", k), ("V", v))]
        for binary_out in (False, True):
            outputs = [triton.InferRequestedOutput(n, binary_data=binary_out) for n in ("Y", "qk_matmul_output")]
            reply = client.infer(MODEL, inputs, outputs=outputs, request_id="r 1",
                                 parameters={"qk_matmul_output_mode": 3})
            name = f"inputs as {'bytes' if binary_in else 'JSON'}, outputs as {'bytes' if binary_out else 'JSON'}"
            check(name, close(reply.as_numpy("Y"), want) and close(reply.as_numpy("qk_matmul_output"), weights))
            check(f"{name}: id", reply.get_response()["id"] == "r 1")
    reply = client.infer(MODEL, inputs)  # no outputs named: then the client asks for bytes
    check("outputs not named", close(reply.as_numpy("Y"), want) and reply.as_numpy("qk_matmul_output") is None)
    options = dict(priority=2, timeout=5_000_000, sequence_id=7, sequence_start=True, sequence_end=True)
    check("options of schedulers", close(client.infer(MODEL, inputs, **options).as_numpy("Y"), want))
    mixed = [tensor("Q", q, "FP32", False), tensor("K", k, "FP32"), tensor("V", v, "FP32", False)]
    check("JSON and bytes mixed", close(client.infer(MODEL, mixed, model_version="1").as_numpy("Y"), want))


def test_datatypes(client):
    q, k, v = (rng.standard_normal((1, 1, 6, 8)) for _ in range(3))
    for datatype, dtype, tolerance in (("FP64", np.float64, 1e-12), ("FP16", np.float16, 2e-3)):
        a, b, c = (x.astype(dtype) for x in (q, k, v))
        reply = client.infer(MODEL, [tensor("Q", a, datatype), tensor("K", b, datatype), tensor("V", c, datatype)])
        y = reply.as_numpy("Y")
        check(datatype, y.dtype == dtype and close(y.astype(np.float64), attention(a, b, c)[0], tolerance))
    single = [tensor(n, x.astype(np.float32), "FP32") for n, x in (("Q", q), ("K", k), ("V", v))]
    mask = np.tril(np.ones((6, 6), bool))
    want = attention(q.astype(np.float32), k.astype(np.float32), v.astype(np.float32), causal=True)[0]
    for binary in (False, True):
        reply = client.infer(MODEL, single + [tensor("attn_mask", mask, "BOOL", binary)])
        check(f"BOOL as {'bytes' if binary else 'JSON'}", close(reply.as_numpy("Y"), want))
    check("is_causal", close(client.infer(MODEL, single, parameters={"is_causal": 1}).as_numpy("Y"), want))
    lengths = tensor("nonpad_kv_seqlen", np.array([6], np.int64), "INT64")
    check("INT64", client.infer(MODEL, single + [lengths]).as_numpy("Y").shape == (1, 1, 6, 8))


def test_large_and_compressed(client):
    q, k, v = (rng.standard_normal((1, 4, 700, 64), np.float32) for _ in range(3))
    inputs = [tensor("Q", q, "FP32"), tensor("K", k, "FP32"), tensor("V", v, "FP32")]
    want = attention(q, k, v)[0]
    check("2 MB as bytes", close(client.infer(MODEL, inputs).as_numpy("Y"), want))
    reply = client.infer(MODEL, inputs, request_compression_algorithm="gzip", response_compression_algorithm="gzip")
    check("gzip both ways", close(reply.as_numpy("Y"), want))


def test_errors(client):
    q = np.zeros((1, 1, 2, 2), np.float32)
    try:
        client.infer(MODEL, [tensor("Q", q, "FP32")])
        check("an input is missing", False)
    except InferenceServerException as error:
        check("an input is missing", "input K is missing" in error.message())


def test_statistics(client):
    before = client.get_inference_statistics(MODEL)["model_stats"][0]
    q = np.zeros((1, 1, 2, 2), np.float32)
    client.infer(MODEL, [tensor("Q", q, "FP32"), tensor("K", q, "FP32"), tensor("V", q, "FP32")])
    for stats in (client.get_inference_statistics(MODEL), client.get_inference_statistics()):
        after = stats["model_stats"][0]
        check("statistics count", after["inference_count"] == before["inference_count"] + 1 and
              after["inference_stats"]["success"]["count"] == after["inference_count"])


def main():
    client = triton.InferenceServerClient(sys.argv[1])
    for test in (test_health, test_metadata, test_tensors, test_datatypes, test_large_and_compressed, test_errors,
                 test_statistics):
        test(client)
    client.close()
    finish()


main()
