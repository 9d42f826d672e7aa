"""Host memory: finding where somebody's array lies, and moving its elements.

Everything goes by addresses, and whoever passes one keeps the memory alive meanwhile.
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
    """Where an array lies."""

    address: int
    """Of its first element."""
    shape: Shape
    strides: Shape
    """In bytes."""
    dtype: DType
    readonly: bool
    owner: object
    """Keeps the memory as it is."""


class _PyBuffer(ctypes.Structure):
    """What Python calls `Py_buffer`."""

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
"""Asks for an array as it is, which need not be writable."""

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
    """Where an array lies; None if the object is none.

    Raises:
        TypeError: Its type of elements is none of ours.
        BufferError: It does not show its memory.
    """
    try:
        view = memoryview(array)
    except (TypeError, ValueError):
        # NumPy has types that the buffer protocol has no name for.
        return _by_interface(array)
    return _by_buffer(view)


def plain(array: Any, shape: Shape, of: DType) -> memoryview | None:
    """A view of an array if it can be written, is of a shape and a type, and its elements lie one behind the other."""
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
        # The other form points to an object with a buffer, which the array has itself then.
        return None
    of = of_typestr(interface["typestr"])
    if of is None:
        # A type from another package, such as `bfloat16`, has a name only with NumPy.
        of = dtype(getattr(array, "dtype", interface["typestr"]))
    shape = interface["shape"]
    strides = interface.get("strides") or _layout.contiguous(shape, of.itemsize)
    return HostArray(place[0], shape, strides, of, place[1], array)


def _by_buffer(view: memoryview) -> HostArray:
    of = of_format(view.format, view.itemsize)
    if of is None:
        raise TypeError(f"elements of the format {view.format!r} have no type here")
    if view.suboffsets:
        raise BufferError("the array is an array of pointers to its rows")
    assert view.shape is not None and view.strides is not None
    return HostArray(address_of(view), view.shape, view.strides, of, view.readonly, view)


def address_of(view: bytes | bytearray | memoryview) -> int:
    """Where the first element is. Who keeps the object keeps the memory; a `bytearray` must not be resized."""
    try:
        # This is quick, and does for most.
        return ctypes.addressof(ctypes.c_char.from_buffer(view))
    except (TypeError, ValueError):
        # It cannot be written, or is not contiguous, or empty.
        pass
    found = _PyBuffer()
    _get_buffer(view, found, _RECORDS_RO)
    # The object itself is kept instead.
    _release_buffer(found)
    return found.buf or 0


def bytes_at(address: int, size: int) -> memoryview:
    """The bytes at an address, which nothing keeps alive."""
    view: memoryview = _from_memory(address, size, _WRITABLE)
    return view


def owned(address: int, size: int, owner: object) -> ctypes.Array[ctypes.c_char]:
    """The bytes at an address, as an object that keeps the owner alive, and is kept by who makes a view of it."""
    block = (ctypes.c_char * size).from_address(address)
    block.owner = owner  # type: ignore[attr-defined]
    return block


def move(to: int, source: int, size: int) -> None:
    """Copies bytes; the two may overlap."""
    ctypes.memmove(to, source, size)


_UNITS: dict[int, Literal["B", "H", "I", "Q"]] = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FEW = 8
"""Up to how many units for each piece slices are quicker than a call."""


def copy_runs(to: int, source: int, runs: Runs) -> None:
    """Copies pieces. The two sides do not overlap.

    Args:
        to: Address of the first element where it is copied to.
        source: The same where it is copied from.
        runs: The pieces.
    """
    length, shape, to_strides, from_strides = runs
    if not shape:
        ctypes.memmove(to, source, length)
        return
    # A memory view copies the pieces of a row without a call for each, in units that divide all that
    # is stepped over.
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
    # Before the first unit there is no number, but a stop that is left out.
    return slice(first, None if stop < 0 else stop, step)
