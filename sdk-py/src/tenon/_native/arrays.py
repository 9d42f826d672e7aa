"""Lists as C has them: an address, and a number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from ctypes import Array, c_size_t
from typing import Any

from tenon._native.check import failed


def packed(element: Any, values: Sequence[Any], length: int) -> Array[Any]:
    """Makes an array of a list.

    Args:
        element: The type of its elements.
        values: The list.
        length: How many there must be, as the other lists of the call have it.

    Raises:
        ValueError: There are more, or fewer.
    """
    if len(values) != length:
        raise ValueError(f"the lists of a call must have the same length, but have {length} and {len(values)}")
    array: Array[Any] = (element * length)(*values)
    return array


def filled(element: Any, ask: Callable[[Array[Any] | None, c_size_t], int]) -> Array[Any]:
    """Asks how many there are, makes room, and asks for them; once more where there are more by then.

    Args:
        element: The type of one of them.
        ask: Calls the library with the room, or None to count, and with the number. It answers a status.

    Returns:
        As many as were written.
    """
    count = c_size_t()
    status = ask(None, count)
    while not status:
        room: Array[Any] = (element * count.value)()
        status = ask(room, count)
        if not status:
            # Fewer may be left than were counted.
            written: Array[Any] = (element * count.value).from_buffer(room)
            return written
        if count.value > len(room):
            status = 0
    failed(status)
