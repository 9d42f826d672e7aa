"""Host memory: finds the memory of host arrays and copies their elements.

Functions take addresses. The caller keeps the memory alive during the call.
"""

from __future__ import annotations

import ctypes
from math import gcd
from typing import TYPE_CHECKING, Any, NamedTuple

from tenon import _layout
from tenon.dtype import dtype, of_format, of_typestr

if TYPE_CHECKING:
    from typing_extensions import Literal

    from tenon._layout import Runs, Shape
    from tenon.dtype import DType


class HostArray(NamedTuple):
    """The memory of a host array."""

    address: int
    """The address of the first element."""
    shape: Shape
    strides: Shape
    """The strides in bytes."""
    dtype: DType
    readonly: bool
    owner: object
    """The object that keeps the memory alive."""


class _PyBuffer(ctypes.Structure):
    """`Py_buffer` of the C API of Python."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


_RECORDS_RO = 0x1C
"""`PyBUF_RECORDS_RO`: requests any layout; the memory need not be writable."""

_get_buffer = ctypes.pythonapi.PyObject_GetBuffer
_get_buffer.argtypes = [ctypes.py_object, ctypes.POINTER(_PyBuffer), ctypes.c_int]
_get_buffer.restype = ctypes.c_int
_release_buffer = ctypes.pythonapi.PyBuffer_Release
_release_buffer.argtypes = [ctypes.POINTER(_PyBuffer)]
_release_buffer.restype = None
_from_memory = ctypes.pythonapi.PyMemoryView_FromMemory
_from_memory.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
_from_memory.restype = ctypes.py_object
_WRITABLE = 0x200


def find(array: Any) -> HostArray | None:
    """Finds the memory of a host array. Returns None if the object is not an array.

    Raises:
        TypeError: The element type is not supported.
        BufferError: The array does not give access to its memory.
    """
    try:
        view = memoryview(array)
    except (TypeError, ValueError):
        # Some NumPy types have no format in the buffer protocol.
        return _by_interface(array)
    return _by_buffer(view)


def plain(array: Any, shape: Shape, of: DType) -> memoryview | None:
    """Returns a view of an array if it is writable, contiguous, and of the given shape and type; otherwise None."""
    try:
        view = memoryview(array)
    except (TypeError, ValueError):
        return None
    is_plain = view.shape == shape and view.c_contiguous and not view.readonly
    return view if is_plain and of_format(view.format, view.itemsize) is of else None


def _by_interface(array: Any) -> HostArray | None:
    interface = getattr(array, "__array_interface__", None)
    if interface is None:
        return None
    place = interface.get("data")
    if place.__class__ is not tuple:
        # `data` may also be an object with a buffer. The array then supports the buffer protocol itself.
        return None
    of = of_typestr(interface["typestr"])
    if of is None:
        # A type of another package, such as `bfloat16`, has no type string. NumPy knows its name.
        of = dtype(getattr(array, "dtype", interface["typestr"]))
    shape = interface["shape"]
    strides = interface.get("strides") or _layout.contiguous(shape, of.itemsize)
    return HostArray(place[0], shape, strides, of, place[1], array)


def _by_buffer(view: memoryview) -> HostArray:
    of = of_format(view.format, view.itemsize)
    if of is None:
        raise TypeError(f"elements of the format {view.format!r} are not supported")
    if view.suboffsets:
        raise BufferError("arrays with suboffsets (arrays of pointers to rows) are not supported")
    assert view.shape is not None and view.strides is not None
    return HostArray(address_of(view), view.shape, view.strides, of, view.readonly, view)


def address_of(view: bytes | bytearray | memoryview) -> int:
    """Returns the address of the first element. It is valid while the object lives and a `bytearray` is not resized."""
    try:
        # The fast path, which works for most objects.
        return ctypes.addressof(ctypes.c_char.from_buffer(view))
    except (TypeError, ValueError):
        # The memory is read-only, not contiguous, or empty.
        pass
    found = _PyBuffer()
    _get_buffer(view, found, _RECORDS_RO)
    # Released at once: the caller keeps the object itself alive.
    _release_buffer(found)
    return found.buf or 0


def bytes_at(address: int, size: int) -> memoryview:
    """Returns a view of the bytes at an address. The view does not keep the memory alive."""
    view: memoryview = _from_memory(address, size, _WRITABLE)
    return view


def owned(address: int, size: int, owner: object) -> ctypes.Array[ctypes.c_char]:
    """Returns a ctypes array over the bytes at an address. The array, and each view of it, keeps the owner alive."""
    block = (ctypes.c_char * size).from_address(address)
    block.owner = owner  # type: ignore[attr-defined]
    return block


def move(to: int, source: int, size: int) -> None:
    """Copies bytes. The ranges may overlap."""
    ctypes.memmove(to, source, size)


_PATTERN = 1 << 16
"""The largest part of a fill that is written from a repeated element, in bytes. The rest is copied from it."""


def fill(to: int, item: bytes, size: int) -> None:
    """Repeats an element in memory whose size is a multiple of its own."""
    done = min(size, _PATTERN)
    ctypes.memmove(to, item * (done // len(item)), done)
    while done < size:
        length = min(done, size - done)
        ctypes.memmove(to + done, to, length)
        done += length


_UNITS: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FEW = 8
"""Up to this many units per piece, slice assignment is faster than one call per piece."""


def copy_runs(to: int, source: int, runs: Runs) -> None:
    """Copies contiguous pieces. Source and destination must not overlap.

    Args:
        to: The address of the first element of the destination.
        source: The address of the first element of the source.
        runs: The pieces.
    """
    length, shape, to_strides, from_strides = runs
    if not shape:
        ctypes.memmove(to, source, length)
        return
    # Slice assignment of memory views copies all pieces of a row at once. It needs a unit that divides all strides.
    unit = gcd(8, length, *to_strides, *from_strides)
    if length // unit <= _FEW:
        _copy_rows(to, source, _layout.with_longest_last(runs), unit)
        return
    for there, here in zip(_layout.places(shape, to_strides), _layout.places(shape, from_strides)):
        ctypes.memmove(to + there, source + here, length)


def _copy_rows(to: int, source: int, runs: Runs, unit: int) -> None:
    length, shape, to_strides, from_strides = runs
    count, to_step, from_step = shape[-1], to_strides[-1] // unit, from_strides[-1] // unit
    to_units, to_first = _units(to, shape, to_strides, length, unit)
    from_units, from_first = _units(source, shape, from_strides, length, unit)
    rows = zip(_layout.places(shape[:-1], to_strides[:-1]), _layout.places(shape[:-1], from_strides[:-1]))
    for there, here in rows:
        there, here = there // unit + to_first, here // unit + from_first
        for part in range(length // unit):
            if from_step:
                row = from_units[_row(here + part, from_step, count)]
            else:
                row = _repeated(from_units[here + part : here + part + 1], count)
            to_units[_row(there + part, to_step, count)] = row


def _units(address: int, shape: Shape, strides: Shape, length: int, unit: int) -> tuple[memoryview, int]:
    begin, end = _layout.span(shape, strides, length)
    return bytes_at(address + begin, end - begin).cast(_UNITS[unit]), -begin // unit


def _repeated(unit: memoryview, count: int) -> memoryview:
    return memoryview(unit.tobytes() * count).cast(_UNITS[unit.itemsize])


def _row(first: int, step: int, count: int) -> slice:
    stop = first + step * count
    # A negative stop would count from the end, so it is replaced by None.
    return slice(first, None if stop < 0 else stop, step)
