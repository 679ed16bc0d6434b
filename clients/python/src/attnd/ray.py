"""One attention over the daemons of a Ray cluster, where no daemon holds all of it. Needs the package ray.

    import ray, attnd.ray
    ray.init("auto")                                    # each node runs a daemon
    output = attnd.ray.attention(query, key, value, causal=True)

Each item and key head, with its query heads, is a task: the bits are those of one daemon. Where the keys and values of one head are more
than `part_bytes`, they are split into parts of equal length, and what comes back goes through POST /attention/merge in the keys' order: the
bits are then the same whatever arrives first and however many daemons there are.

A task calls the daemon of the node that it runs on: $ATTND_URL there, else http://localhost:8080. If that daemon or the worker dies, Ray runs
the task again, mostly on another node."""
from __future__ import annotations

import collections
import os
import time
from typing import Any, Deque, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import ray

from ._client import attention as _attention
from ._client import merge as _merge
from ._errors import AttndError, ConnectionFailed, ServerError

__all__ = ["DeadlineError", "attention"]

_MERGE_PARTS_MAX = 64
# A node without its daemon fails at once, so it would draw every task that is tried again while the others compute: a worker keeps the first
# that fails for so long, each further one twice as long as the one before, up to the most.
_PAUSE_S, _PAUSE_S_MAX = 0.5, 30.0
_RETRIES = 100

Array = Union[np.ndarray, str, "os.PathLike[str]"]
Index = Tuple[Union[int, slice], ...]


# ---- on the nodes

class _FilePart(NamedTuple):
    """A part of a .npy file, which the task itself reads."""
    path: str
    index: Index


def _load(part: Any) -> np.ndarray:
    if isinstance(part, _FilePart):
        return np.ascontiguousarray(np.load(part.path, mmap_mode="r")[part.index])
    return part


class DeadlineError(AttndError):
    """A daemon's --request-timeout is too short for one task, and would be again."""


_failures = 0  # of this worker, one after the other


def _call(function: Any, *arguments: Any, **fields: Any) -> Any:
    global _failures
    try:
        result = function(*arguments, **fields)
        _failures = 0
        return result
    except (ConnectionFailed, ServerError) as error:
        if isinstance(error, ServerError) and error.type == "deadline":
            raise DeadlineError(f"{error.detail}: raise --request-timeout, or lower part_bytes") from error
        time.sleep(min(_PAUSE_S * 2 ** min(_failures, 10), _PAUSE_S_MAX))
        _failures += 1
        raise


def _attend(query: Any, key: Any, value: Any, mask: Any, fields: Dict[str, Any]) -> Dict[str, np.ndarray]:
    """Queries [heads,Tq,D] of one key head, over some of its keys [Tk,D]."""
    arrays = {"query": _load(query)[None], "key": _load(key)[None, None], "value": _load(value)[None, None]}
    if mask is not None:
        arrays["mask"] = _load(mask)
    return dict(_call(_attention, **arrays, **fields))


def _merge_parts(fields: Dict[str, Any], *parts: Dict[str, np.ndarray]) -> Dict[str, np.ndarray]:
    return dict(_call(_merge, parts, **fields))


# ---- the tensors

class _Tensor:
    """[B,H,T,D], whatever axes the array has: its parts are handed to tasks by Ray's object store, or as places in a file."""

    def __init__(self, name: str, array: Array) -> None:
        self._path = os.path.abspath(array) if isinstance(array, (str, os.PathLike)) else None
        self._array = np.load(self._path, mmap_mode="r") if self._path else np.asarray(array)
        self.rank = self._array.ndim
        if not 2 <= self.rank <= 4:
            raise ValueError(f"{name}: [T,D], [B,T,D] or [B,H,T,D] is expected, not {list(self._array.shape)}")
        B, H = (1, 1, *self._array.shape)[-4:-2] if self.rank != 3 else (self._array.shape[0], 1)
        self.shape = (B, H, *self._array.shape[-2:])
        self.itemsize = self._array.dtype.itemsize

    def part(self, item: int, heads: Union[int, slice], tokens: slice) -> Any:
        """[heads,tokens,D], or [tokens,D] of a head's number."""
        index: Index = {2: (tokens,), 3: (item, tokens), 4: (item, heads, tokens)}[self.rank]
        if self.rank < 4 and isinstance(heads, slice):
            index = (np.newaxis, *index)  # type: ignore[assignment]
        return _FilePart(self._path, index) if self._path else ray.put(np.ascontiguousarray(self._array[index]))


def _mask_of_rank_4(mask: Any, rank: int) -> Optional[np.ndarray]:
    """A mask, which broadcasts to weights of the query's rank, so that it does to [B,H,Tq,Tk]; None: none."""
    if mask is None:
        return None
    mask = np.asarray(mask)
    if mask.ndim > rank:
        raise ValueError(f"mask: {mask.ndim} axes do not broadcast to weights of {rank}")
    return mask[:, np.newaxis] if rank == mask.ndim == 3 else mask


def _mask_part(mask: Optional[np.ndarray], item: int, heads: slice, keys: slice) -> Any:
    """A mask's part with its axes as they are, those of length 1 whole."""
    if mask is None:
        return None
    wanted = (slice(item, item + 1), heads, slice(None), keys)[4 - mask.ndim:]
    return ray.put(np.ascontiguousarray(mask[tuple(part if length > 1 else slice(None) for part, length in zip(wanted, mask.shape))]))


# ---- the plan

class _Call:
    """What attention was called with, and how it is split."""

    def __init__(self, query: Array, key: Array, value: Array, mask: Any, part_bytes: int, fields: Dict[str, Any]) -> None:
        self.query, self.key, self.value = _Tensor("query", query), _Tensor("key", key), _Tensor("value", value)
        self.mask = _mask_of_rank_4(mask, self.query.rank)
        self.fields = fields
        (B, H, Tq, _), (Bk, Hkv, Tk, D), (Bv, Hv, Tv, Dv) = self.query.shape, self.key.shape, self.value.shape
        if (Bk, Bv) != (B, B) or Hv != Hkv or Tv != Tk or H % max(Hkv, 1) != 0:
            raise ValueError(f"query {[B, H, Tq]}, key {[Bk, Hkv, Tk]}, value {[Bv, Hv, Tv]}: items, key heads or keys do not fit together")
        self.items, self.key_heads, self.keys, self.queries = B, Hkv, Tk, Tq
        self.group = H // max(Hkv, 1)
        self.parts = max(1, -(-Tk * (D * self.key.itemsize + Dv * self.value.itemsize) // part_bytes))
        self.shape = (B, H, Tq, Dv)
        self._settle_positions()

    def _settle_positions(self) -> None:
        """Parts count positions from where all keys would: a corner becomes the first query's position."""
        causal = self.fields.get("causal")
        if self.parts > 1 and causal in ("top_left", "bottom_right"):
            self.fields.update(causal=True, query_offset=0 if causal == "top_left" else self.keys - self.queries)
        self.positions = self.parts > 1 and bool(causal or self.fields.get("window") is not None or self.fields.get("alibi") is not None)
        if self.positions and self.fields.get("query_offset") is None:
            if causal and self.queries != self.keys:
                raise ValueError("causal: there are more keys than queries or fewer; say \"top_left\" or \"bottom_right\", or send query_offset")
            self.fields["query_offset"] = 0

    def fields_of(self, item: int, heads: slice, part: int, keys: slice) -> Dict[str, Any]:
        fields = dict(self.fields, return_=["output", "lse"] if self.parts > 1 else ["output"])
        for name in ("sinks", "alibi"):
            if fields.get(name) is not None:
                fields[name] = np.asarray(fields[name], np.float32)[heads].tolist()
        if isinstance(fields.get("query_offset"), (list, tuple, np.ndarray)):
            fields["query_offset"] = int(fields["query_offset"][item])
        if part > 0:
            fields.pop("sinks", None)  # they count once
        if self.positions:
            fields["key_positions"] = np.arange(keys.start, keys.stop)
        return fields

    def heads(self) -> Iterator[Tuple[int, int]]:
        return ((item, head) for item in range(self.items) for head in range(self.key_heads))


class _Tasks:
    """Tasks under way: no more than `most` at a time, so that no more of the tensors is in Ray's object store than they need."""

    def __init__(self, most: int, options: Dict[str, Any]) -> None:
        retried = dict(options, max_retries=_RETRIES, retry_exceptions=[ConnectionFailed, ServerError], scheduling_strategy="SPREAD")
        self.attend = ray.remote(_attend).options(**retried)
        self.merge = ray.remote(_merge_parts).options(**retried)
        self.most = most
        self._running: List[Any] = []

    def start(self, function: Any, *arguments: Any) -> Any:
        while len(self._running) >= self.most:
            _, self._running = ray.wait(self._running, num_returns=1)
        reference = function.remote(*arguments)
        self._running.append(reference)
        return reference


def _start_head(call: _Call, tasks: _Tasks, item: int, head: int) -> Any:
    """A reference to {"output": [1,heads,Tq,Dv]} of a key head's queries."""
    heads = slice(head * call.group, (head + 1) * call.group)
    query = call.query.part(item, heads, slice(0, call.queries))
    parts = []
    for number in range(call.parts):
        keys = slice(call.keys * number // call.parts, call.keys * (number + 1) // call.parts)
        parts.append(tasks.start(tasks.attend, query, call.key.part(item, head, keys), call.value.part(item, head, keys),
                                 _mask_part(call.mask, item, heads, keys), call.fields_of(item, heads, number, keys)))
    precision = call.fields.get("precision")
    while len(parts) > _MERGE_PARTS_MAX:  # in steps, which round to double
        parts = [tasks.start(tasks.merge, {"precision": "float64"}, *parts[first:first + _MERGE_PARTS_MAX])
                 for first in range(0, len(parts), _MERGE_PARTS_MAX)]
    return tasks.start(tasks.merge, {"precision": precision, "return_": ["output"]}, *parts) if call.parts > 1 else parts[0]


def attention(query: Array, key: Array, value: Array, *, causal: Union[bool, str, None] = None, window: Optional[Sequence[int]] = None,
              scale: Optional[float] = None, softcap: Optional[float] = None, mask: Any = None, sinks: Any = None, alibi: Any = None,
              query_offset: Any = None, precision: Optional[str] = None, out: Optional[np.ndarray] = None, part_bytes: int = 64 << 20,
              tasks: Optional[int] = None, num_cpus: float = 1) -> np.ndarray:
    """The output of attention: [B,H,Tq,Dv], or with the axes that query has.

    query, key, value   [T,D], [B,T,D] or [B,H,T,D]: arrays, or paths of .npy files, of which each task reads its part on its node
    causal .. precision fields of attnd's request; sinks and alibi one number a query head, query_offset one or one an item
    out                 where to write the output, such as a numpy.memmap; a new array, if None
    part_bytes          the most that the keys and values of a task take
    tasks               how many may be under way; twice as many as the cluster has processors for, if None
    num_cpus            what Ray reserves for each of them on its node

    Raises   RequestError, which says 413 where part_bytes is too much for a daemon; ray.exceptions.RayTaskError, also a ConnectionFailed or
             ServerError, where a task has failed 100 times; DeadlineError; ValueError for shapes that do not fit together"""
    named = {"causal": causal, "window": window, "scale": scale, "softcap": softcap, "sinks": sinks, "alibi": alibi,
             "query_offset": query_offset, "precision": precision}
    call = _Call(query, key, value, mask, part_bytes, {name: value for name, value in named.items() if value is not None})
    shape = call.shape[4 - call.query.rank:] if call.query.rank != 3 else (call.shape[0], *call.shape[2:])
    if out is None:
        out = np.empty(shape, np.float64 if precision == "float64" else np.float32)
    elif out.shape != shape:
        raise ValueError(f"out: {list(shape)} is expected, not {list(out.shape)}")
    if not ray.is_initialized():
        ray.init()
    started = _Tasks(tasks or max(2, int(2 * ray.cluster_resources().get("CPU", 1) / max(num_cpus, 0.5))), {"num_cpus": num_cpus})
    whole = out.reshape(call.shape)  # a view: the axes that it adds have length 1
    waiting: Deque[Tuple[int, int, Any]] = collections.deque()

    def take() -> None:
        item, head, reference = waiting.popleft()
        whole[item, head * call.group:(head + 1) * call.group] = ray.get(reference)["output"][0]

    for item, head in call.heads():
        waiting.append((item, head, _start_head(call, started, item, head)))
        while len(waiting) > 1 and len(waiting) * call.parts > started.most:
            take()
    while waiting:
        take()
    return out
