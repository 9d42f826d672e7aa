"""C arrays from and to Python lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import Array, c_size_t
from typing import Any

from tenon._native.check import failed


def packed(element: Any, values: Sequence[Any], length: int) -> Array[Any]:
    """Converts a list to a C array.

    Args:
        element: The element type.
        values: The list.
        length: The expected length: that of the other lists of the call.

    Raises:
        ValueError: The length differs.
    """
    if len(values) != length:
        raise ValueError(f"the lists of a call must have the same length, but have {length} and {len(values)}")
    array: Array[Any] = (element * length)(*values)
    return array


def filled(element: Any, ask: Callable[[Array[Any] | None, c_size_t], int]) -> Array[Any]:
    """Calls a function of the library that fills an array: first for the count, then with an array of that length.

    If the count grows between the two calls, they are repeated.

    Args:
        element: The element type.
        ask: Calls the library with an array, or None to count, and with its length. Returns the status.

    Returns:
        The elements that were written.
    """
    count = c_size_t()
    status = ask(None, count)
    while not status:
        room: Array[Any] = (element * count.value)()
        status = ask(room, count)
        if not status:
            # The library may write fewer elements than it counted.
            written: Array[Any] = (element * count.value).from_buffer(room)
            return written
        if count.value > len(room):
            status = 0
    failed(status)
