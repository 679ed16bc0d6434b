#!/usr/bin/env python3
"""Measures tensors on the wire and writes the report, Markdown, to stdout.

    bench/wire_report.py BUILD_FOLDER       with attnd and bench/wire in it

First ns a number for reading and writing the same text of a million float32, one process after the other, in CPU time; then whole
requests over loopback, beside a copy of the same bytes by two sockets, in turns with it: wall time and the daemon's CPU time."""
import datetime
import json
import os
import platform
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import orjson

COUNT = 1_000_000
RUNS = 7
ROUNDS = 31
SIZES_MB = (1, 10, 100)
ROW = 64
SAFETENSORS = "application/x-safetensors"
build = sys.argv[1]


def best_ns(run, runs=RUNS):
    """What else the machine does only ever adds."""
    took = []
    for _ in range(runs):
        start = time.process_time_ns()
        run()
        took.append((time.process_time_ns() - start) / COUNT)
    return min(took)


def measure_numbers(write_number):
    """{name: (read, write)}, in ns a number; ns a byte of memcpy; bytes a number."""
    numbers = np.random.default_rng(1337).standard_normal(COUNT).astype(np.float32)
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write("[" + ",".join(map(write_number, numbers)) + "]")
        file.flush()
        out = subprocess.run([f"{build}/bench/wire", file.name], stdout=subprocess.PIPE, check=True, text=True).stdout
        own = json.loads(out)
        out = subprocess.run(["node", "bench/wire_numbers.mjs", file.name], stdout=subprocess.PIPE, check=True, text=True).stdout
        node = json.loads(out)
        with open(file.name, "rb") as again:
            text = again.read()
    tree = json.loads(text)
    results = {
        "attnd": own["attnd"],
        f"orjson {orjson.__version__}": [best_ns(lambda: orjson.loads(text)), best_ns(lambda: orjson.dumps(tree))],
        f"Node {node[2]}, JSON": node[:2],
        "jansson": own["jansson"],
        f"Python {platform.python_version()}, json": [best_ns(lambda: json.loads(text), 3), best_ns(lambda: json.dumps(tree), 3)],
    }
    return results, own["memcpy"], len(text) / COUNT


# As Python's json writes a float32 array's tolist(): a double's digits. And as few digits as a float32 needs: numpy's str().
TEXTS = (("with a double's digits, as most languages write float32", lambda x: repr(float(x))),
         ("with a float32's shortest digits, as attnd writes them", str))


# ---- over loopback --------------------------------------------------------------------------------------------------


def receive(connection, buffer):
    """One message with a Content-Length into the buffer. Returns (begin, end) of its body; (0, 0) at the end of the stream."""
    view, got, end = memoryview(buffer), 0, None
    while end is None or got < end:
        count = connection.recv_into(view[got:], 1 << 20)
        if count == 0:
            return 0, 0
        got += count
        begin = buffer.find(b"\r\n\r\n", 0, 8192)
        if end is None and begin >= 0:
            head = bytes(buffer[:begin]).decode().lower()
            begin += 4
            end = begin + int(head.partition("content-length: ")[2].partition("\r\n")[0])
    return end - int(head.partition("content-length: ")[2].partition("\r\n")[0]), end


class Copy(threading.Thread):
    """Takes a request's bytes and sends a reply of as many bytes as it is told: what loopback and two copies cost, nothing else."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = self.socket.getsockname()
        self.reply_bytes = 0
        self.buffer = bytearray(130_000_000)

    def run(self):
        while True:
            connection, _ = self.socket.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while receive(connection, self.buffer) != (0, 0):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % self.reply_bytes)
                connection.sendall(memoryview(self.buffer)[:self.reply_bytes])


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def body_of(kind, size_mb):
    """About so many bytes of tokens that come back as they are: nothing is computed."""
    per_number = 4 if kind == SAFETENSORS else 11.7
    rows = int(size_mb * 1e6 / per_number / ROW)
    some = np.random.default_rng(7).standard_normal((min(rows, 1000), ROW)).astype(np.float32)
    x = np.resize(some, (rows, ROW))
    fields = {"projection": "identity", "return": ["x"]}
    if kind != SAFETENSORS:
        texts = ["[" + ",".join(map(str, row)) + "]" for row in some]
        text = "[" + ",".join(texts[i % len(texts)] for i in range(rows)) + "]"
        return (json.dumps(fields)[:-1] + ', "x": ' + text + "}").encode()
    header = {"__metadata__": {"request": json.dumps(fields)},
              "x": {"dtype": "F32", "shape": [rows, ROW], "data_offsets": [0, x.nbytes]}}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + x.tobytes()


def ask(connection, kind, body, buffer):
    head = (f"POST /attention HTTP/1.1\r\nHost: attnd\r\nContent-Type: {kind}\r\nAccept: {kind}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n").encode()
    start = time.perf_counter()
    connection.sendall(head)
    try:
        connection.sendall(body)
    except OSError:
        pass  # refused: the reply says why
    begin, end = receive(connection, buffer)
    took = time.perf_counter() - start
    if not buffer.startswith(b"HTTP/1.1 200"):
        sys.exit(f"wire_report: {bytes(buffer[:600])}")
    return took, end - begin


def connect(address):
    connection = socket.create_connection(address)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def measure_requests():
    """[(kind, bytes in, bytes out, best and median s, best and median s of the copy, CPU s of the daemon)]"""
    copy = Copy()
    copy.start()
    buffer = bytearray(300_000_000)
    daemon = subprocess.Popen([f"{build}/attnd", "--listen", "127.0.0.1:0", "--max-request-memory", "2G"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    results = []
    try:
        host, _, port = daemon.stdout.readline().strip().rpartition("/")[2].partition(":")
        for kind in ("application/json", SAFETENSORS):
            for size_mb in SIZES_MB:
                body = body_of(kind, size_mb)
                ours, theirs = connect((host, int(port))), connect(copy.address)
                ask(ours, kind, body, buffer)
                took, copied, cpu = [], [], cpu_s(daemon.pid)
                for _ in range(ROUNDS):
                    seconds, copy.reply_bytes = ask(ours, kind, body, buffer)
                    took.append(seconds)
                    copied.append(ask(theirs, kind, body, buffer)[0])
                cpu = (cpu_s(daemon.pid) - cpu) / ROUNDS
                ours.close()
                theirs.close()
                results.append((kind, len(body), copy.reply_bytes, min(took), statistics.median(took), min(copied),
                                statistics.median(copied), cpu))
    finally:
        daemon.terminate()
        daemon.wait(60)
    return results


# ---- the report -----------------------------------------------------------------------------------------------------


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.partition(": ")[2].strip() for line in file if line.startswith("model name")), platform.machine())


def print_numbers(title, results, bytes_a_number):
    own = results["attnd"]
    print(f"## A million float32, {title}\n")
    print(f"| {bytes_a_number:.1f} bytes a number | read, ns a number | write, ns a number | attnd is faster by |\n|---|---:|---:|---:|")
    for name, (read, write) in results.items():
        factor = "" if name == "attnd" else f"{read / own[0]:.1f}, {write / own[1]:.1f}"
        print(f"| {name} | {read:.1f} | {write:.1f} | {factor} |")
    print()


def print_requests(requests, memcpy_ns):
    print("## Whole requests over loopback\n")
    print("Tokens in, the same tokens out, nothing computed; one connection. It takes turns with a copy: two sockets that carry as many "
          "bytes\nboth ways and do nothing else. Throughput is that of the fastest of "
          f"{ROUNDS} runs, since medians suffer from whatever else runs on the\nmachine: the request's bytes, or the bytes both ways, "
          "divided by the time from the request's first byte to the reply's last. memcpy\ncopies the text above at "
          f"{1 / memcpy_ns:.1f} GB/s. The daemon's CPU time is the sum over its threads.\n")
    print("| body | MB in | MB out | ms, best | ms, median | GB/s of request | GB/s both ways | of the copy | of memcpy | "
          "daemon's CPU, ms | GB/s of CPU time |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for kind, bytes_in, bytes_out, best, median, copy_best, _, cpu in requests:
        rate = (bytes_in + bytes_out) / best / 1e9
        name = "safetensors" if kind == SAFETENSORS else "JSON"
        cpu_rate = f"{(bytes_in + bytes_out) / cpu / 1e9:.2f}" if cpu > 0.005 else ""
        print(f"| {name} | {bytes_in / 1e6:.1f} | {bytes_out / 1e6:.1f} | {best * 1e3:.1f} | {median * 1e3:.1f} | "
              f"{bytes_in / best / 1e9:.2f} | {rate:.2f} | "
              f"{copy_best / best * 100:.0f} % | {rate * memcpy_ns * 100:.0f} % | {cpu * 1e3:.0f} | {cpu_rate} |")


def main():
    load = os.getloadavg()[0]
    measured = [(title, *measure_numbers(write_number)) for title, write_number in TEXTS]
    requests = measure_requests()
    version = subprocess.run([f"{build}/attnd", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[0]
    print("# Tensors on the wire\n")
    print(f"{datetime.date.today()}, {processor()}, {os.cpu_count()} cores, load {load:.0f} before, {os.getloadavg()[0]:.0f} after; "
          f"{version}.\nWritten by `make bench-wire`.\n")
    print("Numbers are normally distributed. One core, CPU time, the best of several runs, all on the same text in one run. attnd scans the "
          "text,\nwhich counts, reads the numbers into float32 and writes a float32's shortest digits; the others read into their "
          "language's numbers and\nwrite those.\n")
    for title, results, _, bytes_a_number in measured:
        print_numbers(title, results, bytes_a_number)
    print_requests(requests, measured[0][2])


main()
