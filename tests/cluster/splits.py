#!/usr/bin/env python3
"""attnd.ray: one attention over the daemons of a Ray cluster whose nodes are processes of this machine; daemons and workers die on the way.
Prints TAP.

    ATTND_BIN=build/attnd build/cluster/venv/bin/python tests/cluster/splits.py"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest.mock
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests/clients"), str(TOP / "tests/cluster")]
from ray_nodes import cluster  # noqa: E402 (before ray)
import attnd  # noqa: E402
import attnd.ray  # noqa: E402
import numpy as np  # noqa: E402
import ray  # noqa: E402
from daemon import Daemon  # noqa: E402
from tap import check, finish, raises  # noqa: E402

BLOCK = re.compile(r"^```python\n((?:(?!```).*\n)*)```\n(?:\n```text\n((?:(?!```).*\n)*)```)?", re.MULTILINE)
STORE_BYTES = 100 << 20
rng = np.random.default_rng(11)


def drawn(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def visible_of(Tq, Tk, offset, window=None):
    distance = np.arange(Tq)[:, None] + offset - np.arange(Tk)
    return (distance >= 0) & (distance <= (window or Tk))


def attention(q, k, v, visible=None, sinks=None, slopes=None, offset=0):
    """In double, over [B,H,T,D]."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1).astype(float), np.repeat(v, group, 1).astype(float)
    scores = q.astype(float) @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if slopes is not None:
        scores -= np.abs(np.arange(q.shape[2])[:, None] + offset - np.arange(k.shape[2])) * np.asarray(slopes)[:, None, None]
    scores = scores if visible is None else np.where(visible, scores, -np.inf)
    top = np.maximum(scores.max(-1, keepdims=True), -1e30)
    weights = np.exp(scores - top)
    below = weights.sum(-1, keepdims=True) + (0 if sinks is None else np.exp(np.asarray(sinks)[:, None, None] - top))
    return weights @ v / np.where(below == 0, 1, below)


def near(got, want, value):
    return got.shape == want.shape and np.abs(got - want).max() <= 4 * 2e-6 * np.abs(value).max()


def test_heads(daemons):
    q, k, v = drawn(2, 4, 33, 16), drawn(2, 2, 33, 16), drawn(2, 2, 33, 8)
    fields = {"causal": True, "sinks": [0.5, -1, 0, 2], "alibi": np.array([0.5, 0.25, 0.125, 0.0625], np.float32), "mask": rng.random((1, 33, 33)) < 0.8}
    one = attnd.Client(daemons[0].url).attention(q, k, v, return_=["output"], **{**fields, "alibi": fields["alibi"].tolist()})["output"]
    check("heads: the bits of one daemon", np.array_equal(attnd.ray.attention(q, k, v, **fields), one))
    for axes in (q[0, 0], q[:, 0]):
        mask = rng.random((*axes.shape[:-1], 33)) < 0.5
        one = attnd.Client(daemons[0].url).attention(axes, axes, axes, mask=mask, causal="bottom_right", return_=["output"])["output"]
        check(f"{axes.ndim} axes", np.array_equal(attnd.ray.attention(axes, axes, axes, mask=mask, causal="bottom_right"), one))


def test_keys():
    q, k, v = drawn(1, 4, 9, 16), drawn(1, 2, 200, 16), drawn(1, 2, 200, 8)
    part = 60 * (16 + 8) * 4  # four parts
    sinks, slopes = [0.5, -1, 0, 2], [0.1, 0.01, 0.001, 0.2]
    mask = rng.random((9, 200)) < 0.5
    output = attnd.ray.attention(q, k, v, causal="bottom_right", sinks=sinks, alibi=slopes, mask=mask, part_bytes=part)
    visible = visible_of(9, 200, 191)
    check("keys: positions, sinks, slopes and a mask", near(output, attention(q, k, v, visible & mask, sinks, slopes, 191), v))
    output = attnd.ray.attention(q, k, v, causal=True, query_offset=[50], window=[20, 0], part_bytes=part)
    check("keys: parts of which a query sees none", near(output, attention(q, k, v, visible_of(9, 200, 50, 20)), v))
    runs = [attnd.ray.attention(q, k, v, part_bytes=part, tasks=tasks).tobytes() for tasks in (1, 3, 8)]
    check("keys: the same bits, however many are under way", len(set(runs)) == 1)
    many = attnd.ray.attention(q[:, :1, :2], k[:, :1], v[:, :1], part_bytes=3 * (16 + 8) * 4)
    check("keys: more parts than a merge takes", near(many, attention(q[:, :1, :2], k[:, :1], v[:, :1]), v))


def test_errors():
    q = drawn(1, 1, 4, 4)
    error = raises(attnd.RequestError, lambda: attnd.ray.attention(q, q, q, window=[1, -2]))
    check("a wrong request", error is not None and "/window/1" in str(error), error)
    check("heads that do not fit", raises(ValueError, lambda: attnd.ray.attention(drawn(1, 3, 4, 4), drawn(1, 2, 4, 4), drawn(1, 2, 4, 4))) is not None)
    check("which corner is not said", raises(ValueError, lambda: attnd.ray.attention(q, drawn(1, 1, 9, 4), drawn(1, 1, 9, 4), causal=True, part_bytes=100)) is not None)
    check("an output that does not fit", raises(ValueError, lambda: attnd.ray.attention(q, q, q, out=np.empty((4, 4)))) is not None)


def test_too_large(daemons, folder):
    """More than a daemon takes, from arrays and from files."""
    q, k, v = drawn(1, 1, 16, 32), drawn(1, 1, 65536, 32), drawn(1, 1, 65536, 32)
    error = raises(attnd.RequestError, lambda: attnd.Client(daemons[0].url).attention(q, k, v, return_=["output"]))
    check("one daemon refuses it", error is not None and error.status == 413, error)
    output = attnd.ray.attention(q, k, v, part_bytes=4 << 20)
    check("several compute it", near(output, attention(q, k, v), v))
    for name, array in (("q", q), ("k", k), ("v", v)):
        np.save(f"{folder}/{name}.npy", array)
    out = np.lib.format.open_memmap(f"{folder}/out.npy", "w+", np.float32, output.shape)
    attnd.ray.attention(f"{folder}/q.npy", Path(folder, "k.npy"), f"{folder}/v.npy", out=out, part_bytes=4 << 20)
    out.flush()
    check("from files to a file", np.array_equal(np.load(f"{folder}/out.npy"), output))


def test_pauses():
    """A worker whose daemon is gone keeps its tasks for longer and longer, that others get them."""
    pauses, outcomes = [], [attnd.ConnectionFailed("gone"), attnd.ServerError(503, {"type": "urn:attnd:problem:busy"}), attnd.ConnectionFailed("gone"), None, attnd.ConnectionFailed("gone")]

    def ask():
        outcome = outcomes.pop(0)
        if outcome:
            raise outcome

    with unittest.mock.patch.object(attnd.ray.time, "sleep", pauses.append):
        while outcomes:
            raises(attnd.AttndError, lambda: attnd.ray._call(ask))
    check("pauses grow until an answer comes", pauses == [0.5, 1, 2, 0.5], pauses)
    late = attnd.ServerError(503, {"type": "urn:attnd:problem:deadline"})
    outcomes.append(late)
    check("what takes too long is not tried again", raises(attnd.ray.DeadlineError, lambda: attnd.ray._call(ask)) is not None)


@ray.remote(num_cpus=1, scheduling_strategy="SPREAD")
def process_id():
    time.sleep(0.2)
    return os.getpid()


def test_deaths(daemons):
    """A worker, then a daemon, while their tasks run."""
    q, k, v = drawn(1, 4, 1024, 32), drawn(1, 4, 1024, 32), drawn(1, 4, 1024, 32)
    want = attention(q, k, v, visible_of(1024, 1024, 0))
    workers = set(ray.get([process_id.remote() for _ in range(4)]))
    for what, kill in (("a worker", lambda: os.kill(next(iter(workers)), signal.SIGKILL)), ("a daemon", daemons[1].kill)):
        timer = threading.Timer(0.05, kill)
        timer.start()
        output = attnd.ray.attention(q, k, v, causal=True, part_bytes=1024 * 64 * 2)
        timer.join()
        check(f"{what} dies: all is right", near(output, want, v))
    check("without it, too", near(attnd.ray.attention(q, k, v, causal=True), want, v))


def test_documents(daemons):
    """The examples of docs/scaling.md."""
    text = (TOP / "docs/scaling.md").read_text(encoding="utf-8")
    for number, (lines, want) in enumerate(((lines, want) for lines, want in BLOCK.findall(text) if "import attnd.ray" in lines), 1):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "ATTND_URL": daemons[0].url, "RAY_ADDRESS": ray.get_runtime_context().gcs_address}
            done = subprocess.run([sys.executable, "-c", lines], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
        check(f"docs/scaling.md, block {number}", done.returncode == 0 and done.stdout == want, done.stdout + done.stderr[-800:])


def main():
    small = ("--threads", "1", "--memory", "64M", "--max-body", "16M", "--max-request-memory", "16M")
    with Daemon(*small) as first, Daemon(*small) as second, cluster([first, second], STORE_BYTES), tempfile.TemporaryDirectory() as folder:
        daemons = [first, second]
        test_heads(daemons)
        test_keys()
        test_errors()
        test_pauses()
        test_too_large(daemons, folder)
        test_documents(daemons)
        test_deaths(daemons)


main()
finish()
