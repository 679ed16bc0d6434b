"""Requests at a fixed rate over connections that are kept, whatever becomes of earlier ones (an open loop), and what became of each."""
import asyncio
import collections
import json
import time

CONNECTIONS_MAX = 256
TICK_S = 0.005


def request(body):
    text = json.dumps(body).encode()
    return (b"POST /attention HTTP/1.1\r\nHost: attnd\r\nContent-Type: application/json\r\nContent-Length: "
            + str(len(text)).encode() + b"\r\n\r\n" + text)


SMALL = request({"query": [[1, 0], [0, 1]], "key": [[1, 0], [0, 1]], "value": [[10], [20]]})
SMALL_REPLY = b'{"output":[[13.302384],[16.697615]]'
# Some milliseconds and some tens of milliseconds of a core.
LARGE, LARGER = (request({"seed": 1, "x": {"shape": [tokens, 64]}, "projection": "identity", "return": ["lse"], "decimals": 1}) for tokens in (1024, 4096))
LARGE_REPLY = b'{"lse":['


class Outcome:
    """One request: what it began and ended at, in seconds of time.monotonic; error is None where its reply is right."""
    __slots__ = ("began", "ended", "error")

    def __init__(self):
        self.began, self.ended, self.error = time.monotonic(), None, None


class Connection(asyncio.Protocol):
    def __init__(self, load):
        self.load, self.outcome, self.received = load, None, b""

    def connection_made(self, transport):
        self.transport = transport

    def send(self, text, reply, outcome):
        self.reply, self.outcome, self.received = reply, outcome, b""
        self.transport.write(text)

    def data_received(self, data):
        self.received += data
        head, blank, body = self.received.partition(b"\r\n\r\n")
        if not blank or self.outcome is None:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
        if len(body) < length:
            return
        status = head.split(b" ", 2)[1].decode()
        self.end(None if status == "200" and body.startswith(self.reply) else f"status {status}: {body[:80]!r}")
        if b"connection: close" in head.lower():
            self.transport.close()
        else:
            self.load.idle.append(self)

    def connection_lost(self, _):
        if self in self.load.idle:
            self.load.idle.remove(self)
        self.end("closed without a reply")
        self.load.open -= 1

    def end(self, error):
        if self.outcome is not None:
            self.outcome.ended, self.outcome.error, self.outcome = time.monotonic(), error, None


class Load:
    """Small requests at a rate, each 200th of them a large one, until stop()."""

    def __init__(self, port, rate):
        self.port, self.rate = port, rate
        self.idle, self.outcomes, self.open = collections.deque(), [], 0
        self._running = True

    async def _send(self, text, reply):
        while not self.idle and self.open >= CONNECTIONS_MAX:
            await asyncio.sleep(TICK_S)
        outcome = Outcome()
        self.outcomes.append(outcome)
        try:
            if self.idle:
                connection = self.idle.pop()
            else:
                self.open += 1
                _, connection = await asyncio.get_running_loop().create_connection(lambda: Connection(self), "127.0.0.1", self.port)
            connection.send(text, reply, outcome)
        except OSError as error:
            self.open -= 1
            outcome.ended, outcome.error = time.monotonic(), str(error)

    async def run(self):
        began, sent = time.monotonic(), 0
        while self._running:
            for number in range(sent, int((time.monotonic() - began) * self.rate)):
                await self._send(*((LARGE, LARGE_REPLY) if number % 200 == 0 else (SMALL, SMALL_REPLY)))
                sent += 1
            await asyncio.sleep(TICK_S)

    async def burst(self, count):
        """Larger requests besides, so that whatever happens next, happens to some that are under way."""
        for _ in range(count):
            await self._send(LARGER, LARGE_REPLY)
        await asyncio.sleep(TICK_S)

    async def stop(self, timeout_s=30):
        """No more requests; waits for the replies of those under way."""
        self._running = False
        until = time.monotonic() + timeout_s
        while any(outcome.ended is None for outcome in self.outcomes) and time.monotonic() < until:
            await asyncio.sleep(TICK_S)
        for outcome in self.outcomes:
            if outcome.ended is None:
                outcome.ended, outcome.error = time.monotonic(), "no reply"

    def between(self, began, ended):
        return [outcome for outcome in self.outcomes if began <= outcome.began < ended]
