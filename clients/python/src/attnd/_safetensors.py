"""Safetensors: eight bytes for the header's length, the header as JSON, the tensors' bytes (huggingface.co/docs/safetensors)."""
from __future__ import annotations

import json
from typing import Dict, List, Mapping, Tuple, Union

import numpy as np

CONTENT_TYPE = "application/x-safetensors"
Part = Union[bytes, memoryview]
_ALIGNMENT = 8
_LENGTH_BYTES = 8

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "BOOL": "?"}
_NAMES = {np.dtype(numpy_type): name for name, numpy_type in _TYPES.items()}


def _type_name(name: str, array: np.ndarray) -> str:
    if array.dtype.name == "bfloat16":  # of the package ml_dtypes, which need not be there
        return "BF16"
    known = _NAMES.get(array.dtype.newbyteorder("<"))
    if known is None:
        raise TypeError(f"{name}: attnd takes no tensors of type {array.dtype}; convert to float32, float64, int64 or bool")
    return known


def save(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> List[Part]:
    """The file in parts, of which those of contiguous little-endian arrays are their own memory."""
    header: Dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    parts: List[Part] = []
    end = 0
    # Wider types first, so that each tensor is aligned to its own.
    for name, array in sorted(tensors.items(), key=lambda item: -item[1].dtype.itemsize):
        array = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        header[name] = {"dtype": _type_name(name, array), "shape": list(array.shape), "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
        parts.append(array.reshape(-1).view(np.uint8).data)
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return [len(text).to_bytes(_LENGTH_BYTES, "little") + text, *parts]


def _widen_bfloat16(halves: np.ndarray) -> np.ndarray:
    return (halves.astype(np.uint32) << 16).view(np.float32)


def load(data: bytearray) -> Tuple[Dict[str, np.ndarray], Dict[str, str]]:
    """The tensors, in the memory of `data`, and the metadata. bfloat16 is widened to float32."""
    length = int.from_bytes(data[:_LENGTH_BYTES], "little")
    start = _LENGTH_BYTES + length
    header = json.loads(data[_LENGTH_BYTES:start])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        numbers = np.frombuffer(memoryview(data)[start + begin:start + end], _TYPES.get(entry["dtype"], "<u2"))
        if entry["dtype"] == "BF16":
            numbers = _widen_bfloat16(numbers)
        tensors[name] = numbers.reshape(entry["shape"])
    return tensors, metadata
