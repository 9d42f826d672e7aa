"""Buffers as NumPy, memory views and lists have them, over the same memory where the host has access."""

from __future__ import annotations

import sys
from math import prod
from typing import TYPE_CHECKING, Any

from tenon import _host, copies
from tenon._memory import Export
from tenon.dtype import import_numpy, to_numpy

if TYPE_CHECKING:
    import ctypes

    import numpy

    from tenon.buffer import Buffer


_FORMATS = "?bBhHiIqQfd" + ("e" if sys.version_info >= (3, 12) else "")
"""What a memory view can have."""


def as_numpy(buffer: Buffer) -> numpy.ndarray[Any, Any]:
    """A NumPy array over the same memory."""
    of = to_numpy(buffer.dtype)
    settle(buffer)
    export = Export(buffer._memory)
    export.__array_interface__ = {
        "version": 3,
        "shape": buffer.shape,
        "strides": buffer.strides,
        # A type that NumPy has no name for is named afterwards.
        "typestr": buffer.dtype.typestr or f"|V{buffer.itemsize}",
        "data": (buffer.ptr, buffer.readonly),
    }
    array: numpy.ndarray[Any, Any] = import_numpy().asarray(export)
    return array if buffer.dtype.typestr else array.view(of)


def array_interface(buffer: Buffer) -> dict[str, Any]:
    """What NumPy reads of a buffer."""
    if buffer.dtype.typestr is None:
        raise BufferError(f"NumPy itself has no {buffer.dtype}: call numpy(), or take view('uint16')")
    settle(buffer)
    block, begin = _block(buffer)
    return {
        "version": 3,
        "shape": buffer.shape,
        "strides": buffer.strides,
        "typestr": buffer.dtype.typestr,
        # By an object, not by an address, since that is what the array then keeps.
        "data": memoryview(block).toreadonly() if buffer.readonly else block,
        "offset": buffer.ptr - begin,
    }


def as_memoryview(buffer: Buffer) -> memoryview:
    """A view for the buffer protocol."""
    settle(buffer)
    shape, itemsize, format = buffer.shape, buffer.itemsize, buffer.dtype.format
    if format is None or format not in _FORMATS:
        raise BufferError(f"memory views have no elements of {buffer.dtype}: take view('uint8')")
    block, begin = _block(buffer)
    view: memoryview[Any] = memoryview(block).cast("B")
    if not buffer.is_contiguous:
        if buffer.ndim != 1:
            raise BufferError("the elements are not contiguous: call contiguous() first")
        first, step = (buffer.ptr - begin) // itemsize, buffer.strides[0] // itemsize
        stop = first + step * shape[0]
        view = view.cast(format)[first : None if stop < 0 else stop : step]  # type: ignore[call-overload]
    elif 0 in shape:
        # A memory view cannot have a dimension of 0 beside others, so that it has none but that.
        view = view.cast(format)  # type: ignore[call-overload]
    else:
        view = view.cast(format, shape)  # type: ignore[call-overload]
    return view.toreadonly() if buffer.readonly else view


def as_list(buffer: Buffer) -> Any:
    """The elements as numbers, in lists for each dimension."""
    data = bytearray(buffer.nbytes)
    copies.copy(copies.borrowed(data, buffer), buffer, None)
    shape = buffer.shape
    values: list[Any] = list(buffer.dtype.unpack(data))
    for place in range(len(shape) - 1, -1, -1):
        # By counting, since the rows of nothing are still as many as the shape says.
        length = shape[place]
        values = [values[row * length : (row + 1) * length] for row in range(prod(shape[:place]))]
    return values[0]


def settle(buffer: Buffer) -> None:
    """Sees that the host may look at the memory now.

    Raises:
        BufferError: It has no access.
        InvalidHandleError: The buffer is closed.
    """
    memory = buffer._memory
    memory.check()
    if not memory.host_accessible:
        raise BufferError(
            f"the host has no access to the memory of {buffer.device.name}: copy it, by numpy() or copy_to()"
        )
    memory.uses.settle()


def _block(buffer: Buffer) -> tuple[ctypes.Array[ctypes.c_char], int]:
    """The memory in which the elements lie, as an object that keeps it; and where it begins."""
    begin, end = buffer._extent
    return _host.owned(begin, end - begin, Export(buffer._memory)), begin
