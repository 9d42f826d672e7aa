"""Converts buffers to NumPy arrays, memory views, lists and text. Arrays and views share the memory of the buffer."""

from __future__ import annotations

import sys
from math import prod
from typing import TYPE_CHECKING, Any

from tenon import _host, copies
from tenon._memory import Export
from tenon.dtype import import_numpy, to_numpy
from tenon.errors import Error

if TYPE_CHECKING:
    import ctypes

    import numpy

    from tenon.buffer import Buffer


_MOST_COPIED = 64 << 20
"""The bytes up to which elements that the host cannot access are copied to be printed."""

_MOST_LISTED = 1000
"""The number of elements up to which they are printed as a list."""

_FORMATS = "?bBhHiIqQfd" + ("e" if sys.version_info >= (3, 12) else "")
"""The formats that `memoryview.cast` supports."""


def as_numpy(buffer: Buffer) -> numpy.ndarray[Any, Any]:
    """Returns a NumPy array that shares the memory."""
    of = to_numpy(buffer.dtype)
    settle(buffer)
    export = Export(buffer._memory)
    export.__array_interface__ = {
        "version": 3,
        "shape": buffer.shape,
        "strides": buffer.strides,
        # A type without a type string is exported as raw bytes; `view` below sets its type.
        "typestr": buffer.dtype.typestr or f"|V{buffer.itemsize}",
        "data": (buffer.ptr, buffer.readonly),
    }
    array: numpy.ndarray[Any, Any] = import_numpy().asarray(export)
    return array if buffer.dtype.typestr else array.view(of)


def array_interface(buffer: Buffer) -> dict[str, Any]:
    """Returns the array interface of a buffer."""
    if buffer.dtype.typestr is None:
        raise BufferError(f"NumPy has no type {buffer.dtype}: use numpy() or view('uint16')")
    settle(buffer)
    block, begin = _block(buffer)
    return {
        "version": 3,
        "shape": buffer.shape,
        "strides": buffer.strides,
        "typestr": buffer.dtype.typestr,
        # An object, not an address, because the array then keeps the object alive.
        "data": memoryview(block).toreadonly() if buffer.readonly else block,
        "offset": buffer.ptr - begin,
    }


def as_memoryview(buffer: Buffer) -> memoryview:
    """Returns a memory view that shares the memory."""
    settle(buffer)
    shape, itemsize, format = buffer.shape, buffer.itemsize, buffer.dtype.format
    if format is None or format not in _FORMATS:
        raise BufferError(f"memoryview does not support elements of type {buffer.dtype}: use view('uint8')")
    block, begin = _block(buffer)
    view: memoryview[Any] = memoryview(block).cast("B")
    if not buffer.is_contiguous:
        if buffer.ndim != 1:
            raise BufferError("the elements are not contiguous: call contiguous() first")
        first, step = (buffer.ptr - begin) // itemsize, buffer.strides[0] // itemsize
        stop = first + step * shape[0]
        view = view.cast(format)[first : None if stop < 0 else stop : step]  # type: ignore[call-overload]
    elif 0 in shape:
        # `cast` supports no dimension of length 0, so an empty buffer becomes a view of one dimension.
        view = view.cast(format)  # type: ignore[call-overload]
    else:
        view = view.cast(format, shape)  # type: ignore[call-overload]
    return view.toreadonly() if buffer.readonly else view


def as_list(buffer: Buffer) -> Any:
    """Returns the elements as nested lists of numbers."""
    data = bytearray(buffer.nbytes)
    copies.copy(copies.borrowed(data, buffer), buffer, None)
    shape = buffer.shape
    values: list[Any] = list(buffer.dtype.unpack(data))
    for place in range(len(shape) - 1, -1, -1):
        # The number of rows comes from the shape, because rows may be empty.
        length = shape[place]
        values = [values[row * length : (row + 1) * length] for row in range(prod(shape[:place]))]
    return values[0]


def as_text(buffer: Buffer) -> str:
    """Returns the elements as text, or a description without them if they cannot be read or are too many to copy."""
    try:
        if buffer._memory.host_accessible:
            return str(as_numpy(buffer))
        return str(buffer.numpy()) if buffer.nbytes <= _MOST_COPIED else repr(buffer)
    except ImportError:
        # Without NumPy, a long list has no short form.
        return str(as_list(buffer)) if buffer.size <= _MOST_LISTED else repr(buffer)
    except (Error, BufferError):
        return repr(buffer)


def settle(buffer: Buffer) -> None:
    """Waits until the host may access the memory.

    Raises:
        BufferError: The host cannot access the memory.
        InvalidHandleError: The buffer is closed.
    """
    memory = buffer._memory
    memory.check()
    if not memory.host_accessible:
        raise BufferError(
            f"the host cannot access the memory of {buffer.device.name}: copy the elements with numpy() or copy_to()"
        )
    memory.uses.settle()


def _block(buffer: Buffer) -> tuple[ctypes.Array[ctypes.c_char], int]:
    """Returns an object that exposes the extent of the elements and keeps it alive, and its begin address."""
    begin, end = buffer._extent
    return _host.owned(begin, end - begin, Export(buffer._memory)), begin
