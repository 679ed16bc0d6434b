#!/usr/bin/env python3
"""Three daemons behind HAProxy with deploy/haproxy/attnd.cfg, under load, while one is killed, one drained, one stopped, and all are
restarted in turn. Prints TAP, and what it measured, within 30 seconds. All of it is on 127.0.0.1.

    ATTND_BIN=build/attnd tests/cluster/replicas.py"""
import asyncio
import csv
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(TOP / "tests/clients"), str(TOP / "tests/cluster")]
from daemon import ATTND  # noqa: E402
from load import Load  # noqa: E402
from tap import check, finish  # noqa: E402

RATE = 1100  # requests a second
BURST = 6  # two for each daemon
SHUTDOWN_DELAY_S = 3  # of the 5 that the configuration recommends
# Of deploy/haproxy/attnd.cfg: two checks that are not answered, and the pauses before them; and what a busy machine adds.
OUT_S_MAX = 0.5 + 1 + 0.2 + 1
BUSY_S_MAX = 3
UP_S_MAX = 20


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Replica:
    def __init__(self, name, port):
        self.name, self.port, self.process = name, port, None

    def start(self):
        self.process = subprocess.Popen([ATTND, "--listen", f"127.0.0.1:{self.port}", "--threads", "1", "--shutdown-delay", str(SHUTDOWN_DELAY_S)],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def signal(self, number):
        self.process.send_signal(number)

    async def ended(self):
        while self.process.poll() is None:
            await asyncio.sleep(0.01)
        return self.process.returncode


class Cluster:
    def __init__(self, folder):
        frontend, *ports = free_ports(4)
        self.port, self.socket = frontend, f"{folder}/haproxy.sock"
        self.replicas = [Replica(f"attnd{i + 1}", port) for i, port in enumerate(ports)]
        for replica in self.replicas:
            replica.start()
        variables = {f"ATTND_{i + 1}": f"127.0.0.1:{port}" for i, port in enumerate(ports)}
        self.haproxy = subprocess.Popen(["haproxy", "-db", "-f", str(TOP / "deploy/haproxy/attnd.cfg")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, **variables, "ATTND_FRONTEND": f"127.0.0.1:{frontend}", "HAPROXY_SOCKET": self.socket})

    async def is_up(self, replica):
        try:
            reader, writer = await asyncio.open_unix_connection(self.socket)
        except OSError:
            return False
        writer.write(b"show stat\n")
        rows = csv.DictReader(io.StringIO((await reader.read()).decode().lstrip("# ")))
        writer.close()
        return any(row["svname"] == replica.name and row["status"] == "UP" for row in rows)

    async def wait(self, replica, up, timeout_s=UP_S_MAX):
        """Waits until HAProxy has it in or out. Returns the seconds."""
        began = time.monotonic()
        while await self.is_up(replica) != up:
            if time.monotonic() - began > timeout_s:
                return float("inf")
            await asyncio.sleep(0.02)
        return time.monotonic() - began

    def end(self):
        for process in [self.haproxy, *(replica.process for replica in self.replicas)]:
            process.kill()
            process.wait()


def report(what, load, began):
    """The requests since then, and those of them that failed."""
    outcomes = load.between(began, time.monotonic())
    failed = [outcome for outcome in outcomes if outcome.error]
    waited = sorted((outcome.ended or time.monotonic()) - outcome.began for outcome in outcomes)
    seconds = time.monotonic() - began
    print(f"# {what}: {len(outcomes)} requests in {seconds:.1f} s, {len(outcomes) / seconds:.0f} a second, {len(failed)} failed; "
          f"median {waited[len(waited) // 2] * 1e3:.1f} ms, longest {waited[-1] * 1e3:.0f} ms", flush=True)
    return outcomes, failed


async def killed(cluster, load):
    replica, began = cluster.replicas[0], time.monotonic()
    await load.burst(BURST)
    on_its_wire = sum(outcome.ended is None for outcome in load.outcomes)
    replica.signal(signal.SIGKILL)
    await replica.ended()
    gone = time.monotonic()
    out_s = await cluster.wait(replica, up=False)
    await asyncio.sleep(1)
    replica.start()
    back_s = await cluster.wait(replica, up=True)
    _, failed = report(f"killed, out after {out_s:.2f} s, back after {back_s:.2f} s", load, began - 1)
    check("killed: only requests fail that were on its wire", all(outcome.began <= gone for outcome in failed) and len(failed) <= on_its_wire + RATE * (gone - began),
          [(outcome.began - gone, outcome.error) for outcome in failed])
    check("killed: it is out, and back once it is started again", out_s <= OUT_S_MAX + BUSY_S_MAX and back_s < UP_S_MAX, (out_s, back_s))


async def drained(cluster, load):
    replica, began = cluster.replicas[1], time.monotonic()
    await load.burst(BURST)
    replica.signal(signal.SIGTERM)
    out_s = await cluster.wait(replica, up=False)
    status = await replica.ended()
    replica.start()
    back_s = await cluster.wait(replica, up=True)
    _, failed = report(f"drained, out after {out_s:.2f} s", load, began)
    check("drained: no request fails", not failed, [outcome.error for outcome in failed][:5])
    check("drained: it ends well, out before it refuses anything", status == 0 and out_s < SHUTDOWN_DELAY_S and back_s < UP_S_MAX, (status, out_s, back_s))


async def stopped(cluster, load):
    replica, began = cluster.replicas[2], time.monotonic()
    await load.burst(BURST)
    replica.signal(signal.SIGSTOP)
    out_s = await cluster.wait(replica, up=False)
    out = time.monotonic()
    await asyncio.sleep(1)
    hang = [outcome for outcome in load.between(began - 1, time.monotonic()) if outcome.ended is None and time.monotonic() - outcome.began > 1]
    replica.signal(signal.SIGCONT)
    back_s = await cluster.wait(replica, up=True)
    while any(outcome.ended is None for outcome in hang) and time.monotonic() - out < UP_S_MAX:
        await asyncio.sleep(0.05)
    _, failed = report(f"stopped, out after {out_s:.2f} s, {len(hang)} requests waited for it", load, began)
    check("stopped: it is out within the time of its checks", out_s <= OUT_S_MAX + BUSY_S_MAX, out_s)
    check("stopped: no request goes there any more", all(outcome.began < out for outcome in hang), [outcome.began - out for outcome in hang])
    check("stopped: those that did are answered when it goes on", not failed and all(outcome.ended for outcome in hang) and back_s < UP_S_MAX,
          [outcome.error for outcome in failed][:5])


async def restarted(cluster, load):
    began, statuses = time.monotonic(), []
    for replica in cluster.replicas:
        await load.burst(BURST)
        replica.signal(signal.SIGTERM)
        statuses.append(await replica.ended())
        replica.start()
        await cluster.wait(replica, up=True)
    outcomes, failed = report("all restarted in turn", load, began)
    check("restarted in turn at 1,000 requests a second: none fails", not failed, [outcome.error for outcome in failed][:5])
    check("restarted in turn: so many were sent", len(outcomes) >= 1000 * (time.monotonic() - began), len(outcomes))
    check("restarted in turn: all end well", statuses == [0, 0, 0], statuses)


def take_precedence():
    """The machine may be busy with other tests, and no program of this one computes much. Root may."""
    try:
        os.setpriority(os.PRIO_PROCESS, 0, -10)
    except PermissionError:
        pass


async def main():
    take_precedence()
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(folder)
        try:
            for replica in cluster.replicas:
                await cluster.wait(replica, up=True)
            load = Load(cluster.port, RATE)
            running = asyncio.create_task(load.run())
            began = time.monotonic()
            await asyncio.sleep(2)
            _, failed = report("three daemons", load, began)
            check("undisturbed: no request fails", not failed, [outcome.error for outcome in failed][:5])
            for disturb in (killed, drained, stopped, restarted):
                await disturb(cluster, load)
            await load.stop()
            await running
            check("every request has an answer or an error", all(outcome.ended for outcome in load.outcomes))
        finally:
            cluster.end()


asyncio.run(main())
finish()
