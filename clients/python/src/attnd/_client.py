"""Requests: fields in, arrays out."""
from __future__ import annotations

import json
import os
import ssl
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _safetensors
from ._errors import error_of
from ._transport import Transport

_PATH = "/attention"
_MERGE_PATH = "/attention/merge"
_URL = "http://localhost:8080"

# Fields of which a list stands for an array.
_ARRAYS = frozenset({"query", "key", "value", "x", "context", "value_context", "past_key", "past_value"})

# Fields and members of which an array of integers stands for one of float32.
_REALS = _ARRAYS | {"mask", "bias", "table", "query_scale", "alibi", "sinks"}


class Result(Dict[str, np.ndarray]):
    """The arrays of a reply by name.

    applied   what attnd did where libraries differ: scale, causal, query_offset, ...
    warnings  sentences about what was probably not meant"""

    def __init__(self, arrays: Mapping[str, np.ndarray], applied: Dict[str, Any], warnings: List[str]) -> None:
        super().__init__(arrays)
        self.applied = applied
        self.warnings = warnings


def _as_array(name: str, value: Any) -> Optional[np.ndarray]:
    """The value as an array, if it is one, or stands for one."""
    is_list = isinstance(value, (list, tuple))
    if isinstance(value, (str, bytes, bool, int, float, np.generic, Mapping)) or (is_list and name not in _ARRAYS and name != "mask"):
        return None
    if not is_list and not hasattr(value, "__array__"):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        return array
    return array.astype(np.float32 if name in _REALS else np.int64)


def _split(fields: Mapping[str, Any], prefix: str = "") -> Tuple[Dict[str, np.ndarray], Dict[str, Any]]:
    """Arrays by the names that they have in a file ("projection.query.weight"), and the rest, for JSON."""
    arrays: Dict[str, np.ndarray] = {}
    rest: Dict[str, Any] = {}
    for name, value in fields.items():
        if value is None:
            continue
        if prefix == "":
            name = name.rstrip("_")  # return_, as return is a word of Python's
        array = _as_array(name, value)
        if array is not None:
            arrays[prefix + name] = array
        elif isinstance(value, Mapping):
            inner_arrays, inner_rest = _split(value, f"{prefix}{name}.")
            arrays.update(inner_arrays)
            if inner_rest or not inner_arrays:
                rest[name] = inner_rest
        else:
            rest[name] = value.item() if isinstance(value, np.generic) else value
    return arrays, rest


class Client:
    """One daemon. Threads may share a client; each has a connection of its own, which stays open.

    url      http://HOST:PORT, https://HOST:PORT or unix:PATH; $ATTND_URL, else http://localhost:8080
    api_key  sent with each request; $ATTND_API_KEY, else none
    timeout  seconds without a byte until the daemon counts as gone
    retries  how often to send again where the daemon asks for it (503 with Retry-After)
    context  of TLS, where the system's certificates are not what is wanted"""

    def __init__(self, url: Optional[str] = None, *, api_key: Optional[str] = None, timeout: float = 150.0, retries: int = 3,
                 context: Optional[ssl.SSLContext] = None) -> None:
        url = url or os.environ.get("ATTND_URL") or _URL
        self._api_key = api_key or os.environ.get("ATTND_API_KEY")
        self._transport = Transport(url, timeout, retries, context)

    def attention(self, query: Any = None, key: Any = None, value: Any = None, *, causal: Union[bool, str, None] = None,
                  mask: Any = None, scale: Optional[float] = None, return_: Optional[List[str]] = None, **fields: Any) -> Result:
        """Computes attention. Arguments are the fields of attnd's request, also those that are not named here (x, projection, seed,
        window, key_lengths, rope, ...); `return` is written return_. Arrays may stand in a field's inner places, too.

        Raises   RequestError where the request is wrong; its pointer says where
                 ServerError where it cannot be served, ConnectionFailed where nothing answers"""
        fields.update(query=query, key=key, value=value, causal=causal, mask=mask, scale=scale, return_=return_)
        return self._compute(_PATH, *_split(fields))

    def merge(self, parts: Sequence[Mapping[str, Any]], **fields: Any) -> Result:
        """Brings together attention over different keys: parts are mappings with output and lse, such as results of attention, and
        further arguments fields of POST /attention/merge (layout, lse_base, precision). Merged in the order in which they stand.

        Raises   as attention does"""
        fields_arrays, rest = _split(fields)
        if fields_arrays:
            raise TypeError(f"{next(iter(fields_arrays))}: a merge has no arrays but its parts'")
        arrays = {f"{name}.{index}": np.asarray(part[name]) for index, part in enumerate(parts) for name in ("output", "lse")}
        return self._compute(_MERGE_PATH, arrays, rest)

    def _compute(self, path: str, arrays: Mapping[str, np.ndarray], rest: Mapping[str, Any]) -> Result:
        body = _safetensors.save(arrays, {"request": json.dumps(rest)})
        headers = {"Content-Type": _safetensors.CONTENT_TYPE, "Accept": _safetensors.CONTENT_TYPE,
                   "Content-Length": str(sum(len(part) for part in body))}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        reply = self._transport.post(path, headers, body)
        if reply.status != 200:
            raise error_of(reply.status, bytes(reply.body), reply.headers.get("X-Request-Id"))
        tensors, metadata = _safetensors.load(reply.body)
        return Result(tensors, json.loads(metadata.get("applied", "{}")), json.loads(metadata.get("warnings", "[]")))

    def close(self) -> None:
        """Closes the calling thread's connection. The client may be used again."""
        self._transport.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_shared: Dict[Tuple[Optional[str], Optional[str]], Client] = {}
_shared_lock = threading.Lock()


def _shared_client() -> Client:
    settings = os.environ.get("ATTND_URL"), os.environ.get("ATTND_API_KEY")
    with _shared_lock:
        return _shared.get(settings) or _shared.setdefault(settings, Client())


def attention(query: Any = None, key: Any = None, value: Any = None, **fields: Any) -> Result:
    """Client().attention, on connections that the calls share."""
    return _shared_client().attention(query, key, value, **fields)


def merge(parts: Sequence[Mapping[str, Any]], **fields: Any) -> Result:
    """Client().merge, on the same connections."""
    return _shared_client().merge(parts, **fields)
