"""Converts arrays of other packages, numbers and lists to buffers."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from tenon import _host, _layout, dlpack
from tenon import buffer as _buffer
from tenon._memory import Passing
from tenon.dtype import float64, is_number, of_values

if TYPE_CHECKING:
    from tenon._layout import Shape
    from tenon.buffer import Buffer
    from tenon.device import Device
    from tenon.dtype import DType, Number


def as_buffer(array: Any, device: Device) -> Buffer | None:
    """Returns a buffer that shares the memory of an array of another package; None if the object is not an array."""
    found = _host.find(array)
    if found is None:
        if hasattr(array, "__dlpack__"):
            return dlpack.ask(array, device, on_device=False)
        return None
    address, shape, strides, of, readonly, owner = found
    memory = Passing(device, prod(shape) * of.itemsize, owner)
    return _buffer.Buffer._of(memory, address, shape, strides, of, readonly)


def source(array: Any, of: DType | None, device: Device) -> Buffer:
    """Returns a buffer to copy from. Numbers and lists are converted to elements of type `of`."""
    if array.__class__ not in _PLAIN:
        found = as_buffer(array, device)
        if found is not None:
            return found
    shape, values = _flattened(array)
    of = of or (of_values(values) if values else float64)
    data = of.pack(values)
    memory = Passing(device, len(data), data)
    return _buffer.Buffer._of(memory, _host.address_of(data), shape, _layout.contiguous(shape, of.itemsize), of, True)


_NUMBERS = (bool, int, float, complex)
_PLAIN = frozenset((*_NUMBERS, list, tuple))
"""Classes that are never arrays; skips the more expensive checks."""


def _flattened(numbers: Any) -> tuple[Shape, list[Number]]:
    """Returns the shape of nested lists, and the numbers in them.

    Raises:
        ValueError: Lists of the same level have different lengths.
        TypeError: An element is not a number.
    """
    shape: list[int] = []
    values: list[Any] = [numbers]
    while values and all(isinstance(value, (list, tuple)) for value in values):
        lengths = {len(value) for value in values}
        if len(lengths) > 1:
            raise ValueError(f"nested lists must have equal lengths, but the lengths are {sorted(lengths)}")
        shape.append(lengths.pop())
        values = [inner for value in values for inner in value]
    return tuple(shape), list(map(_number, values))


def _number(value: Any) -> Number:
    """Converts a number to a Python number, which determines the element type."""
    if value.__class__ in _NUMBERS:
        return value  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)):
        raise ValueError("a list must contain either numbers or lists, not both")
    plain: Any = value.item() if hasattr(value, "item") and is_number(value) else value
    if not isinstance(plain, _NUMBERS):
        raise TypeError(f"{type(value).__name__} is not an array or a number")
    return plain
