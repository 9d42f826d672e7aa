"""The C exchange API of DLPack 1.3: functions with which libraries in C exchange buffers, without `__dlpack__`.

The functions in the table are those of libtenon, which call the functions here. A ctypes callback cannot return with an
exception set, so it reports the exception, and libtenon sets it.

The functions do not wait for streams, with one exception: memory that the host can access has no stream in DLPack, so
it is exported when the work that uses it is done. Other memory is used on the current stream of its device.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_int,
    c_int32,
    c_int64,
    c_void_p,
    cast,
    py_object,
)
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from tenon import _dlpack_layout, dlpack
from tenon import buffer as _buffer
from tenon._native.library import bind
from tenon.device import Device, resolve
from tenon.dtype import of_dlpack

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

    from tenon.buffer import Buffer

_python = ctypes.PyDLL(None)
_DONE = 1
"""The result of a callback. If a callback is interrupted before it can catch the exception, ctypes returns 0."""
_FAILED = 0


class _Raised(Structure):
    """An exception, as new references."""

    _fields_ = (("kind", c_void_p), ("value", c_void_p))


class _Text(Structure):
    """An error for a caller that may not know Python."""

    _fields_ = (("kind", c_char * 64), ("message", c_char * 960))


_shapes: WeakKeyDictionary[Buffer, Any] = WeakKeyDictionary()
"""The shapes and strides to which described tensors point."""


def _report(raised: int, error: BaseException) -> int:
    report = _Raised.from_address(raised)
    report.kind, report.value = id(type(error)), id(error)
    _python.Py_IncRef(py_object(type(error)))
    _python.Py_IncRef(py_object(error))
    return _FAILED


def _prepare(buffer: Any) -> None:
    """Makes the memory of a buffer ready for a consumer.

    Raises:
        TypeError: The object is not a buffer.
        InvalidHandleError: The buffer is closed.
    """
    if not isinstance(buffer, _buffer.Buffer):
        raise TypeError(f"expected a tenon.Buffer, not {type(buffer).__name__}")
    memory = buffer._memory
    memory.check()
    if buffer.host_accessible:
        memory.uses.settle()
    else:
        memory.uses.begin(buffer.device.current_stream)


def _device(type: int, number: int) -> Device:
    """Returns the device with which DLPack's type and number are meant.

    Raises:
        BufferError: It is a device of another package.
    """
    if type == _dlpack_layout.CPU:
        near = resolve(None)
        return near if near.info.host_accessible else Device("cpu", 0)
    if type == _dlpack_layout.EXT_DEV:
        return Device(resolve(None).type, number)
    raise BufferError(f"tenon has no devices of the DLPack type {type}")


def _allocate(prototype: int, out: int, text: int) -> int:
    try:
        wanted = _dlpack_layout.Tensor.from_address(prototype)
        of = of_dlpack(wanted.dtype.code, wanted.dtype.bits, wanted.dtype.lanes)
        device = _device(wanted.device.type, wanted.device.id)
        buffer = _buffer.Buffer(_dlpack_layout.shape_of(wanted, of.itemsize), of, device)
        _prepare(buffer)
        c_void_p.from_address(out).value = dlpack.lend(buffer)
    except BaseException as error:
        report = _Text.from_address(text)
        report.kind = type(error).__name__.encode()[:63]
        report.message = str(error).encode()[:959]
        return _FAILED
    return _DONE


def _export(buffer: Any, out: int, raised: int) -> int:
    try:
        _prepare(buffer)
        c_void_p.from_address(out).value = dlpack.lend(buffer)
    except BaseException as error:
        return _report(raised, error)
    return _DONE


def _import(tensor: int, out: int, raised: int) -> int:
    try:
        buffer = dlpack.take_address(tensor, resolve(None))
        _python.Py_IncRef(py_object(buffer))
        c_void_p.from_address(out).value = id(buffer)
    except BaseException as error:
        return _report(raised, error)
    return _DONE


def _describe(buffer: Any, out: int, raised: int) -> int:
    try:
        _prepare(buffer)
        if buffer.readonly:
            raise BufferError("the memory is read-only, which a DLTensor cannot express")
        numbers = _shapes.get(buffer)
        if numbers is None:
            numbers = _shapes[buffer] = [(c_int64 * buffer.ndim)() for _ in ("shape", "strides")]
        _dlpack_layout.describe(buffer, _dlpack_layout.Tensor.from_address(out), *numbers)
    except BaseException as error:
        return _report(raised, error)
    return _DONE


def _current_stream(type: int, number: int, out: int, raised: int) -> int:
    try:
        on_host = type in _dlpack_layout.ON_HOST
        c_void_p.from_address(out).value = None if on_host else _device(type, number).current_stream.handle
    except BaseException as error:
        return _report(raised, error)
    return _DONE


class _Functions(Structure):
    """The functions that libtenon calls."""

    _fields_ = (
        ("allocate", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
        ("export", CFUNCTYPE(c_int, py_object, c_void_p, c_void_p)),
        ("import_", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
        ("describe", CFUNCTYPE(c_int, py_object, c_void_p, c_void_p)),
        ("current_stream", CFUNCTYPE(c_int, c_int, c_int32, c_void_p, c_void_p)),
        ("set_exception", c_void_p),
        ("release", c_void_p),
    )


_kinds: Any = [field[1] for field in _Functions._fields_[:5]]
_callbacks = [
    kind(function) for kind, function in zip(_kinds, (_allocate, _export, _import, _describe, _current_stream))
]
# Consumers keep the table and may call it until the process ends.
_python.Py_IncRef(py_object(_callbacks))
_exchange = bind("tenon_dlpack_exchange", POINTER(_Functions), restype=c_void_p)


def capsule() -> CapsuleType:
    """Returns the capsule with the table, `Buffer.__dlpack_c_exchange_api__`."""
    addresses = (cast(function, c_void_p).value for function in (_python.PyErr_SetObject, _python.Py_DecRef))
    table = _exchange(_Functions(*_callbacks, *addresses))
    made: CapsuleType = dlpack._capsule_new(table, dlpack._c.strdup(b"dlpack_exchange_api"), None)
    return made
