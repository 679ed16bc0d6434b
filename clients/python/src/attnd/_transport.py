"""HTTP: connections that are kept, one a thread, and requests that are sent again where that is of use."""
from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from typing import Mapping, NamedTuple, Optional, Sequence, Union
from urllib.parse import urlsplit

from ._errors import ConnectionFailed

_UNIX = "unix:"
_WAIT_S_MAX = 60.0


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytearray


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Transport:
    """Sends requests to one daemon. Threads may share it."""

    def __init__(self, url: str, timeout: float, retries: int, context: Optional[ssl.SSLContext]) -> None:
        parts = urlsplit(url)
        if not url.startswith(_UNIX) and (parts.scheme not in ("http", "https") or parts.hostname is None):
            raise ValueError(f"url: {url!r} is neither http://HOST:PORT, https://HOST:PORT nor unix:PATH")
        self.url = url
        self._base = "" if url.startswith(_UNIX) else parts.path.rstrip("/")
        self._timeout = timeout
        self._retries = retries
        self._context = context
        self._kept = threading.local()

    def _new_connection(self) -> http.client.HTTPConnection:
        if self.url.startswith(_UNIX):
            return _UnixConnection(self.url[len(_UNIX):], self._timeout)
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        if parts.scheme == "https":
            return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=self._timeout)

    def close(self) -> None:
        """Closes the calling thread's connection."""
        connection = getattr(self._kept, "connection", None)
        self._kept.connection = None
        if connection is not None:
            connection.close()

    @staticmethod
    def _read(response: http.client.HTTPResponse) -> bytearray:
        if response.length is None:
            return bytearray(response.read())
        body = bytearray(response.length)
        rest = memoryview(body)
        while len(rest) > 0:
            count = response.readinto(rest)
            if count == 0:
                raise http.client.IncompleteRead(bytes(body[:len(body) - len(rest)]), len(rest))
            rest = rest[count:]
        return body

    def _exchange(self, path: str, headers: Mapping[str, str], body: Sequence[Union[bytes, memoryview]]) -> Reply:
        connection = self._kept.connection
        try:
            connection.request("POST", self._base + path, body=iter(body), headers=headers)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the daemon may refuse a request, and say why, before it has read all of it
        response = connection.getresponse()
        return Reply(response.status, response.headers, self._read(response))

    def _exchange_once_more(self, path: str, headers: Mapping[str, str], body: Sequence[Union[bytes, memoryview]]) -> Reply:
        """A connection that was kept may have been closed at the other side meanwhile: then a new one is tried."""
        kept = getattr(self._kept, "connection", None) is not None
        if not kept:
            self._kept.connection = self._new_connection()
        try:
            return self._exchange(path, headers, body)
        except (http.client.HTTPException, OSError) as error:
            self.close()
            if kept and not isinstance(error, socket.timeout):
                return self._exchange_once_more(path, headers, body)
            raise ConnectionFailed(f"{self.url}: {error or type(error).__name__}") from error

    def post(self, path: str, headers: Mapping[str, str], body: Sequence[Union[bytes, memoryview]]) -> Reply:
        """Sends the request, and sends it again as often as `retries` says where the daemon asks for that, after the time that it
        asks for (503 with Retry-After). Computing changes nothing there, so that is safe."""
        for attempt in range(self._retries + 1):
            reply = self._exchange_once_more(path, headers, body)
            wait_s = reply.headers.get("Retry-After", "")
            if reply.status != 503 or not wait_s.isdigit() or attempt == self._retries:
                break
            time.sleep(min(float(wait_s), _WAIT_S_MAX))
        return reply
