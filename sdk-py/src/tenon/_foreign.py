"""What other packages and Python itself have for arrays, as buffers over the same memory."""

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
    """An array of somebody else's as a buffer, without a copy; None if it is none."""
    found = _host.find(array)
    if found is None:
        if hasattr(array, "__dlpack__"):
            return dlpack.ask(array, device, on_device=False)
        return None
    address, shape, strides, of, readonly, owner = found
    memory = Passing(device, prod(shape) * of.itemsize, owner)
    return _buffer.Buffer._of(memory, address, shape, strides, of, readonly)


def source(array: Any, of: DType | None, device: Device) -> Buffer:
    """What is copied from, as a buffer."""
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
"""What is certainly no array, so that nobody has to ask."""


def _flattened(numbers: Any) -> tuple[Shape, list[Number]]:
    """The shape of numbers in lists, and the numbers.

    Raises:
        ValueError: Lists in one place are of different lengths.
        TypeError: There is something else than numbers.
    """
    shape: list[int] = []
    values: list[Any] = [numbers]
    while values and all(isinstance(value, (list, tuple)) for value in values):
        lengths = {len(value) for value in values}
        if len(lengths) > 1:
            raise ValueError(f"lists of different lengths are no array: {sorted(lengths)}")
        shape.append(lengths.pop())
        values = [inner for value in values for inner in value]
    return tuple(shape), list(map(_number, values))


def _number(value: Any) -> Number:
    """A number as one of Python's own, which choose the type."""
    if value.__class__ in _NUMBERS:
        return value  # type: ignore[no-any-return]
    if isinstance(value, (list, tuple)):
        raise ValueError("numbers beside lists are no array")
    plain: Any = value.item() if hasattr(value, "item") and is_number(value) else value
    if not isinstance(plain, _NUMBERS):
        raise TypeError(f"{type(value).__name__} is neither an array nor a number")
    return plain
