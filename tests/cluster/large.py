#!/usr/bin/env python3
"""attnd.ray where it is meant for: more than a daemon takes, over four, with and without one that dies. Takes minutes, so it is run by hand.
Prints TAP and what it measured.

    ATTND_BIN=build/attnd build/cluster/venv/bin/python tests/cluster/large.py [TOKENS]     of the second computation, 65536"""
import sys
import threading
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests/clients"), str(TOP / "tests/cluster")]
from ray_nodes import cluster  # noqa: E402 (before ray)
import attnd  # noqa: E402
import attnd.ray  # noqa: E402
import numpy as np  # noqa: E402
from daemon import Daemon  # noqa: E402
from tap import check, finish  # noqa: E402

RUNS = 10
NODES = 4
TOKENS = int(sys.argv[1]) if len(sys.argv) > 1 else 65536
rng = np.random.default_rng(20)


def drawn(*shape):
    return rng.standard_normal(shape, np.float32)


def rows(q, k, v, visible=None):
    """In double, some rows of one head."""
    scores = q.astype(float) @ k.astype(float).T / np.sqrt(q.shape[-1])
    scores = scores if visible is None else np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights @ v.astype(float) / weights.sum(-1, keepdims=True)


def timed(call):
    began = time.monotonic()
    return call(), time.monotonic() - began


def kill_during(daemon, after_s, call):
    timer = threading.Timer(after_s, daemon.kill)
    timer.start()
    result = timed(call)
    timer.join()
    daemon.start()
    return result


def test_one_head(daemons):
    """1,048,576 keys, 256 queries."""
    q, k, v = drawn(256, 64), drawn(1 << 20, 64), drawn(1 << 20, 64)
    try:
        attnd.Client(daemons[0].url).attention(q, k, v, return_=["output"])
        alone = 200
    except attnd.RequestError as error:
        alone = error.status
    check("one daemon of 512 MB refuses it", alone == 413, alone)

    def compute():
        return attnd.ray.attention(q, k, v, part_bytes=32 << 20)

    results, seconds = zip(*(timed(compute) for _ in range(RUNS)))
    sample = slice(0, 256, 16)
    error = np.abs(results[0][sample] - rows(q[sample], k, v)).max() / np.abs(v).max()
    print(f"# one head, 2^20 keys: {np.median(seconds):.1f} s, error {error:.1e} of the largest value", flush=True)
    check("within 2e-6 of the largest value", error <= 2e-6, error)
    check("the same bits in each run", len({result.tobytes() for result in results}) == 1)
    killed, seconds = zip(*(kill_during(daemons[run % NODES], np.median(seconds) / 3, compute) for run in range(RUNS)))
    print(f"# one of four daemons killed in each run: {np.median(seconds):.1f} s", flush=True)
    check("the same bits where a daemon dies", all(np.array_equal(result, results[0]) for result in killed))


def test_heads(daemons):
    """[1,8,T,64], causal."""
    q, k, v = (drawn(1, 8, TOKENS, 64) for _ in range(3))

    def compute():
        return attnd.ray.attention(q, k, v, causal=True)

    with attnd.Client(daemons[0].url, timeout=900) as client:
        part, part_s = timed(lambda: client.attention(q[:, :1], k[:, :1], v[:, :1], causal=True, return_=["output"])["output"])
    whole, whole_s = timed(compute)
    print(f"# [1,8,{TOKENS},64] causal over {NODES} daemons: {whole_s:.1f} s; one head over HTTP, alone: {part_s:.1f} s", flush=True)
    check("the bits of one daemon", np.array_equal(whole[:, :1], part))
    sample = np.arange(7, TOKENS, TOKENS // 16)
    error = max(np.abs(whole[0, h, sample] - rows(q[0, h, sample], k[0, h], v[0, h], sample[:, None] >= np.arange(TOKENS))).max() for h in range(8))
    print(f"# error {error / np.abs(v).max():.1e} of the largest value", flush=True)
    check("every head is right", error <= 2e-6 * np.abs(v).max(), error)
    killed, killed_s = kill_during(daemons[1], whole_s / 3, compute)
    print(f"# one of them killed: {killed_s:.1f} s", flush=True)
    check("the same bits where a daemon dies", np.array_equal(killed, whole))


daemons = [Daemon("--threads", "1", "--memory", "512M", "--request-timeout", "900") for _ in range(NODES)]
try:
    with cluster(daemons, 600 << 20):
        test_one_head(daemons)
        test_heads(daemons)
finally:
    for daemon in daemons:
        daemon.kill()
finish()
