#!/usr/bin/env python3
"""What one request costs a replica, for docs/scaling.md: processor time and memory as functions of T, D and H. The time is what all threads
ran, so it says how many requests a second a core serves, also on a machine that is busy with something else.

    make bench-replica"""
import re
import subprocess
import sys
import urllib.request

import attnd
import numpy as np

GRID = [(H, T, D) for D in (64, 128) for H in (1, 8) for T in (128, 1024, 8192)]
CPU_S_MIN = 0.3  # of each row
REQUESTS_MAX = 2000


def sample(url, name):
    with urllib.request.urlopen(f"{url}/metrics") as reply:
        return float(re.search(rf"^{name} (\S+)$", reply.read().decode(), re.MULTILINE)[1])


def peak_bytes(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1]) * 1024


def measure(program, H, T, D):
    """Processor seconds a request, and bytes at most beyond what the process has without any."""
    process = subprocess.Popen([program, "--listen", "127.0.0.1:0", "--threads", "1", "--request-timeout", "3600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = process.stdout.readline().split()[-1]
        client = attnd.Client(url, timeout=3600)
        q, k, v = (np.random.default_rng(1).standard_normal((1, H, T, D), np.float32) for _ in range(3))
        client.attention([[1.0]], [[1.0]], [[1.0]])
        before_bytes, before_s, count = peak_bytes(process), sample(url, "process_cpu_seconds_total"), 0
        while count < REQUESTS_MAX and sample(url, "process_cpu_seconds_total") - before_s < CPU_S_MIN:
            client.attention(q, k, v, causal=True, return_=["output"])
            count += 1
        return (sample(url, "process_cpu_seconds_total") - before_s) / count, peak_bytes(process) - before_bytes
    finally:
        process.kill()
        process.wait()


print("| H | T | D | ms of a core | requests/s and core | GFLOP/s | MB |\n|---|---|---|---|---|---|---|", flush=True)
for H, T, D in GRID:
    seconds, taken = measure(sys.argv[1], H, T, D)
    print(f"| {H} | {T:,} | {D} | {seconds * 1e3:.3g} | {1 / seconds:.3g} | {2 * H * T * T * D / seconds / 1e9:.3g} | {taken / 1e6:.3g} |", flush=True)
