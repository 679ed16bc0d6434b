#!/usr/bin/env python3
"""Attention beside what a user would pick instead: ONNX Runtime, PyTorch and a plain OpenBLAS one, shape by shape in turns.

    attention_peers.py BENCH_PROGRAM [--kernels NAME..] [--torch PYTHON] [--rounds N] [--seconds S] [--threads N..] [--tokens-max T]
                       [--out FILE]

BENCH_PROGRAM is build/bench/attention_bench. For each shape and number of threads the three programs take turns, N rounds of S
seconds each; what is compared is the median over the rounds. Each peer runs in a process of its own, so that each has its own
threads, PyTorch by the Python that --torch names: bench/venv makes one for each. A peer that is not installed is said to be missing.

Each kernel that the processor runs is measured, but generic. Beside one that is not the fastest PyTorch is held to the same instructions;
ONNX Runtime cannot be, and takes the best that the processor has. FILE keeps a section for each processor and kernel: those measured are replaced.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import time

SHAPES = [  # B, H, Hkv, Tq, Tk, D
    (4, 1, 1, 8, 8, 16),
    (1, 8, 8, 128, 128, 64),
    (1, 8, 8, 512, 512, 64),
    (1, 8, 8, 2048, 2048, 64),
    (1, 8, 8, 4096, 4096, 64),
    (1, 8, 8, 2048, 2048, 128),
    (1, 32, 8, 1, 4097, 128),
]
MODES = ["full", "causal", "weights"]
GROWTH = [1024, 2048, 4096, 8192, 16384, 32768, 65536]  # tokens of one head of 64 channels


def measure(run, seconds):
    """The median time of a call in ms."""
    run()
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 4000):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def peer_onnxruntime(shape, mode, threads, seconds):
    import numpy
    import onnx
    import onnxruntime
    B, H, Hkv, Tq, Tk, D = shape
    outputs = [onnx.helper.make_tensor_value_info("Y", onnx.TensorProto.FLOAT, [B, H, Tq, D])]
    names = ["Y"]
    attributes = {"is_causal": 1 if mode == "causal" else 0}
    if mode == "weights":
        attributes["qk_matmul_output_mode"] = 3
        names += ["", "", "W"]
        outputs.append(onnx.helper.make_tensor_value_info("W", onnx.TensorProto.FLOAT, [B, H, Tq, Tk]))
    shapes = {"Q": [B, H, Tq, D], "K": [B, Hkv, Tk, D], "V": [B, Hkv, Tk, D]}
    node = onnx.helper.make_node("Attention", ["Q", "K", "V"], names, **attributes)
    inputs = [onnx.helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in shapes.items()]
    model = onnx.helper.make_model(onnx.helper.make_graph([node], "attention", inputs, outputs),
                                   opset_imports=[onnx.helper.make_opsetid("", 24)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    generator = numpy.random.default_rng(1)
    feed = {n: generator.standard_normal(s, dtype=numpy.float32) for n, s in shapes.items()}
    return measure(lambda: session.run(None, feed), seconds)


def peer_torch(shape, mode, threads, seconds):
    import torch
    B, H, Hkv, Tq, Tk, D = shape
    torch.set_num_threads(threads)
    q, k, v = torch.randn(B, H, Tq, D), torch.randn(B, Hkv, Tk, D), torch.randn(B, Hkv, Tk, D)

    def run():
        with torch.no_grad():
            if mode == "weights":  # the fused operator gives none
                return (q @ k.transpose(-2, -1) * D ** -0.5).softmax(-1) @ v
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=mode == "causal", enable_gqa=H != Hkv)

    return measure(run, seconds)


# What holds a peer to a kernel's instructions.
HELD = {"avx2": {"PyTorch": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}}}

# None can be told to ONNX Runtime: beside a kernel that is not the processor's fastest it is measured as it is, and the note says so.
FREE = {"ONNX Runtime": {}}

PEERS = {"ONNX Runtime": ("onnxruntime", peer_onnxruntime), "PyTorch": ("torch", peer_torch)}
PYTHONS = {name: sys.executable for name in PEERS}


def peer_main(arguments):
    """One measurement, in a process of its own: name, shape, mode, threads, seconds."""
    name, shape, mode, threads, seconds = arguments
    function = PEERS[name][1]
    print(function(json.loads(shape), mode, int(threads), float(seconds)))


def run_peer(name, shape, mode, threads, seconds, held):
    command = [PYTHONS[name], os.path.abspath(__file__), "--peer", name, json.dumps(shape), mode, str(threads), str(seconds)]
    environment = {key: value for key, value in os.environ.items() if key not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    environment.update(held)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    return float(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout.strip() else None


def run_ours(program, kernel, shape, mode, threads, seconds):
    command = [program, *map(str, shape), mode, str(threads), str(seconds)]
    environment = {**os.environ, "ATTND_KERNEL": kernel}
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout)


def row(program, kernel, held, shape, mode, threads, rounds, seconds):
    """`held`: the settings of each peer that is measured."""
    ours, peers = [], {name: [] for name in PEERS}
    for _ in range(rounds):
        ours.append(run_ours(program, kernel, shape, mode, threads, seconds))
        for name in held:
            ms = run_peer(name, shape, mode, threads, seconds, held[name])
            if ms is not None:
                peers[name].append(ms)
    result = {key: statistics.median(round_[key] for round_ in ours) for key in ("ours_ms", "plain_ms")}
    for key in ("fma_gflops", "fma_units", "read_gbs"):
        result[key] = statistics.median(round_[key] for round_ in ours)
    result["peers"] = {name: statistics.median(times) if times else None for name, times in peers.items()}
    return result


def growth(program, kernel, tokens_max):
    """How time and memory grow with the tokens of one head: as T*T and as T, if nothing of T*T is kept."""
    lines = ["", "### Growth", "", "One head of 64 channels, output only, one thread. Memory is what attention takes besides inputs and results; a full "
             "matrix of scores would take 4 T² bytes.", "", "| T | ms | ns a pair of tokens | MB | bytes a token |", "|---|---|---|---|---|"]
    for tokens in (t for t in GROWTH if t <= tokens_max):
        r = run_ours(program, kernel, (1, 1, 1, tokens, tokens, 64), "full", 1, 0.5)
        lines.append(f"| {tokens} | {r['ours_ms']:.4g} | {r['ours_ms'] * 1e6 / tokens ** 2:.3f} | {r['ours_bytes'] / 1e6:.2f} | "
                     f"{r['ours_bytes'] / tokens:.0f} |")
        print(lines[-1], flush=True)
    return lines


def versions():
    found = []
    for name, (module, _) in PEERS.items():
        done = subprocess.run([PYTHONS[name], "-c", f"import {module}; print({module}.__version__)"], capture_output=True, text=True)
        found.append(f"{name} {done.stdout.strip() or 'missing'}")
    return ", ".join(found)


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores"


def ratio(theirs, ours):
    return "missing" if theirs is None else f"{theirs:.3g} ({theirs / ours:.2f} x)"


def share(shape, mode, r):
    """Of the fused multiply-adds' limit, counted on the full square; of the limit of reading memory, where queries are few."""
    B, H, Hkv, Tq, Tk, D = shape
    if Tq <= 8 and Tk > 64:
        return f"{B * Hkv * Tk * D * 8 / r['ours_ms'] / 1e6 / r['read_gbs'] * 100:.0f} % of reading"
    return f"{4 * B * H * Tq * Tk * D / r['ours_ms'] / 1e6 / r['fma_gflops'] * 100:.0f} % of multiply-adds"


def section(options, kernel, held, note):
    """One kernel's part of the file, as lines are measured also printed."""
    lines = [f"## {processor()}, kernel {kernel}", "",
             f"{datetime.date.today()}, load {os.getloadavg()[0]:.1f} at the start; {versions()}.", "",
             f"Medians in ms over {options.rounds} rounds in which the programs take turns; in brackets, how many times as long "
             "the peer takes. float32. The share of the limit counts causal attention on the full square." + note, "",
             "| [B,H,T,D] | mode | threads | attnd | two products of OpenBLAS | " + "".join(name + " | " for name in held) + "share of the limit |",
             "|---|---|---|---|---|" + "---|" * (len(held) + 1)]
    for threads in options.threads:
        for shape in (shape for shape in SHAPES if shape[3] <= options.tokens_max):
            for mode in MODES if shape[3] > 1 else MODES[:1]:
                r = row(options.program, kernel, held, shape, mode, threads, options.rounds, options.seconds)
                B, H, Hkv, Tq, Tk, D = shape
                name = f"[{B},{H},{Tq},{D}]" if H == Hkv else f"[{B},{H}/{Hkv},{Tq},{D}] over {Tk}"
                lines.append(f"| {name} | {mode} | {threads} | {r['ours_ms']:.3g} | {ratio(r['plain_ms'], r['ours_ms'])} | "
                             + "".join(ratio(r["peers"][peer], r["ours_ms"]) + " | " for peer in held)
                             + f"{share(shape, mode, r)} |")
                print(lines[-1], flush=True)
    lines += ["", f"The limits are the medians of loops that run between those of attention. Of the kernel's multiply-adds a clock cycle does "
              f"{r['fma_units']:.1f}."]
    lines += growth(options.program, kernel, options.tokens_max)
    return "\n".join(lines) + "\n"


def write_section(path, text):
    """Puts the section in place of the one with its heading, or behind all others."""
    start, sections = "# Attention beside its peers\n\n", []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            sections = ["## " + part for part in ("\n" + file.read()).split("\n## ")[1:]]
    heading = text.split("\n", 1)[0]
    headings = [part.split("\n", 1)[0] for part in sections]
    if heading in headings:
        sections[headings.index(heading)] = text
    else:
        sections.append(text)
    with open(path, "w", encoding="utf-8") as file:
        file.write(start + "\n".join(part.rstrip("\n") + "\n" for part in sections))


def main():
    if sys.argv[1:2] == ["--peer"]:
        peer_main(sys.argv[2:])
        return
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--kernels", nargs="+", help="those to measure")
    parser.add_argument("--torch", default=sys.executable, help="the Python that has PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--tokens-max", type=int, default=65536, help="leave out longer shapes")
    parser.add_argument("--out")
    options = parser.parse_args()
    PYTHONS["PyTorch"] = options.torch
    kernels = subprocess.run([options.program, "--kernels"], capture_output=True, text=True, check=True).stdout.split()
    for kernel in options.kernels or [kernel for kernel in kernels if kernel != "generic"]:
        fastest = kernel == kernels[0]
        held = {name: {} for name in PEERS} if fastest else FREE | HELD.get(kernel, {})
        note = "" if fastest else (f" PyTorch is held to {kernel}, as attnd is. ONNX Runtime cannot be held: it uses {kernels[0]} here, and "
                                   "would take longer on a processor without it.")
        text = section(options, kernel, held, note)
        if options.out:
            write_section(options.out, text)


if __name__ == "__main__":
    main()
