"""Encodes models, as protocol buffers, without the package onnx.

The numbers of fields and types are those of ONNX's `onnx.proto`.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

KINDS = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "int32": 6,
    "int64": 7,
    "str": 8,
    "bool": 9,
    "float16": 10,
    "float64": 11,
}
"""The number of each type of elements."""

FLOAT, INT, STRING, GRAPH, INTS = 1, 2, 3, 5, 7
"""The types of attributes."""

Attribute = Union[int, float, str, Sequence[int], bytes]
"""The value of an attribute; bytes are an encoded graph."""


def number(value: int) -> bytes:
    """Encodes a number."""
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def entry(place: int, content: int | str | bytes) -> bytes:
    """Encodes a field: a number, a text, or bytes."""
    if isinstance(content, int):
        return number(place << 3) + number(content)
    content = content.encode() if isinstance(content, str) else content
    return number(place << 3 | 2) + number(len(content)) + content


@dataclass
class Node:
    """A node of a graph."""

    operator: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    name: str = ""

    def encoded(self) -> bytes:
        """Encodes the node."""
        names = [entry(1, name) for name in self.inputs] + [entry(2, name) for name in self.outputs]
        attributes = [entry(5, encoded_attribute(*item)) for item in self.attributes.items()]
        return b"".join([*names, entry(3, self.name), entry(4, self.operator), *attributes])


def encoded_attribute(name: str, value: Attribute) -> bytes:
    """Encodes an attribute."""
    encoded = entry(1, name)
    if isinstance(value, float):
        return encoded + number(2 << 3 | 5) + struct.pack("<f", value) + entry(20, FLOAT)
    if isinstance(value, int):
        return encoded + entry(3, value) + entry(20, INT)
    if isinstance(value, str):
        return encoded + entry(4, value) + entry(20, STRING)
    if isinstance(value, bytes):
        return encoded + entry(6, value) + entry(20, GRAPH)
    return encoded + b"".join(entry(8, item) for item in value) + entry(20, INTS)


def described(name: str, kind: str, shape: Sequence[int | str] | None) -> bytes:
    """Encodes a tensor of a graph. A dimension may have a name in place of a number, and there may be no shape."""
    tensor = entry(1, KINDS[kind])
    if shape is not None:
        sizes = (entry(1, entry(1 if isinstance(size, int) else 2, size)) for size in shape)
        tensor += entry(2, b"".join(sizes))
    return entry(1, name) + entry(2, entry(1, tensor))


def weight(name: str, array: Any) -> bytes:
    """Encodes the values of a tensor that never change."""
    sizes = b"".join(entry(1, size) for size in array.shape)
    return sizes + entry(2, KINDS[array.dtype.name]) + entry(8, name) + entry(9, array.tobytes())


def graph(
    nodes: Sequence[Node],
    inputs: Sequence[bytes],
    outputs: Sequence[bytes],
    weights: Mapping[str, Any] | None = None,
) -> bytes:
    """Encodes a graph of tensors that [`described`] has encoded."""
    parts = [entry(1, node.encoded()) for node in nodes] + [entry(2, "check")]
    parts += [entry(5, weight(*item)) for item in (weights or {}).items()]
    parts += [entry(11, value) for value in inputs] + [entry(12, value) for value in outputs]
    return b"".join(parts)


def model(encoded: bytes, opset: int) -> bytes:
    """Encodes a model of a graph."""
    return entry(1, 8) + entry(7, encoded) + entry(8, entry(1, "") + entry(2, opset))
