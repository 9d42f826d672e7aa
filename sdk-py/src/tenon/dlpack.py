"""Arrays to and from other frameworks without a copy, by DLPack, in its versions from before 1.0 and since.

A consumer may give an array back at any time: with an exception on its way, in a thread that Python
does not know, after the interpreter has ended. Nothing written in Python may run there. So what is
called is a function of the C library that empties the first word of the array's description, and
whoever next makes, closes or waits for something sees that and lets the memory go.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from ctypes import (
    POINTER,
    Structure,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
    pythonapi,
    sizeof,
)
from typing import TYPE_CHECKING, Any

from tenon import _host, _layout, _lifetime, copies
from tenon import buffer as _buffer
from tenon._memory import Borrowed, Export, reclaims
from tenon.dtype import of_dlpack

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

    from tenon.buffer import Buffer
    from tenon.device import Device

CPU = 1
CUDA_HOST = 3
ROCM_HOST = 11
EXT_DEV = 12
"""A device for which DLPack has no number of its own."""
_ON_HOST = (CPU, CUDA_HOST, ROCM_HOST)

VERSION = (1, 1)
"""The newest that is written and read."""

_READ_ONLY = 1
_COPIED = 2


class _Device(Structure):
    _fields_ = (("type", c_int), ("id", c_int32))


class _DataType(Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class _Tensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", _Device),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class _Managed(Structure):
    _fields_ = (("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p))


class _ManagedVersioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    )


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)

_capsule_new = pythonapi.PyCapsule_New
_capsule_new.argtypes = [c_void_p, c_void_p, c_void_p]
_capsule_new.restype = py_object
_capsule_is = pythonapi.PyCapsule_IsValid
_capsule_is.argtypes = [py_object, c_void_p]
_capsule_is.restype = c_int
_capsule_get = pythonapi.PyCapsule_GetPointer
_capsule_get.argtypes = [py_object, c_void_p]
_capsule_get.restype = c_void_p
_capsule_rename = pythonapi.PyCapsule_SetName
_capsule_rename.argtypes = [py_object, c_void_p]
_capsule_rename.restype = c_int

_c = ctypes.CDLL(None)
_c.malloc.argtypes = [c_size_t]
_c.malloc.restype = c_void_p
_c.free.argtypes = [c_void_p]
_c.free.restype = None
_c.strdup.argtypes = [ctypes.c_char_p]
_c.strdup.restype = c_void_p
# A capsule does not copy its name, and may outlive this module.
_UNVERSIONED = _c.strdup(b"dltensor")
_VERSIONED = _c.strdup(b"dltensor_versioned")
_USED_UNVERSIONED = _c.strdup(b"used_dltensor")
_USED_VERSIONED = _c.strdup(b"used_dltensor_versioned")
_EMPTY_SIGNALS = 128
"""How many bytes `sigemptyset` clears, in the C libraries that there are; one word at least."""
_give_back = ctypes.cast(_c.sigemptyset, c_void_p).value


class _Lent:
    """An array that was handed out, with its description, which is memory of the C library."""

    __slots__ = ("address", "buffer", "capsule", "export")

    own_references = 2
    """What is counted for a capsule that nobody else has: the attribute, and the argument of the question."""

    def __init__(self, buffer: Buffer, *, versioned: bool, copied: bool) -> None:
        shape, strides = buffer.shape, buffer.strides
        itemsize = buffer.dtype.itemsize
        kind = _ManagedVersioned if versioned else _Managed
        numbers = max(sizeof(kind), _EMPTY_SIGNALS)
        address = _c.malloc(numbers + 2 * len(shape) * 8)
        if not address:
            raise MemoryError("there is no memory to describe an array")
        self.address = address
        self.buffer = buffer
        self.export = Export(buffer._memory)
        lengths = (c_int64 * len(shape)).from_address(address + numbers)
        lengths[:] = list(shape)
        steps = (c_int64 * len(shape)).from_address(address + numbers + len(shape) * 8)
        steps[:] = [stride // itemsize for stride in strides]
        managed = kind.from_address(address)
        tensor = managed.tensor
        # What has no elements needs no address; but none would look as if it had been given back.
        tensor.data = buffer.ptr or itemsize
        tensor.device.type, tensor.device.id = device_of(buffer)
        tensor.ndim = len(shape)
        tensor.dtype.code, tensor.dtype.bits = buffer.dtype.code, 8 * itemsize
        tensor.dtype.lanes = 1
        tensor.shape, tensor.strides = lengths, steps
        tensor.byte_offset = 0
        # Nothing here needs one; but PaddlePaddle gives an array back only if it has one.
        managed.context = address
        managed.deleter = _give_back
        if isinstance(managed, _ManagedVersioned):
            managed.major, managed.minor = VERSION
            managed.flags = _READ_ONLY * buffer.readonly | _COPIED * copied
        self.capsule: Any = _capsule_new(address, _VERSIONED if versioned else _UNVERSIONED, None)

    def is_back(self) -> bool:
        """Whether nobody has it any more."""
        if not c_uint64.from_address(self.address).value:
            return True
        if self.capsule is None:
            return False
        if not (_capsule_is(self.capsule, _UNVERSIONED) or _capsule_is(self.capsule, _VERSIONED)):
            # Somebody has taken the array out of it, and gives it back.
            self.capsule = None
            return False
        return sys.getrefcount(self.capsule) == _Lent.own_references

    def end(self) -> None:
        """Lets the memory go."""
        self.capsule = None
        _c.free(self.address)


_lent: dict[int, _Lent] = {}
"""By the address of the description."""
_round: deque[int] = deque()
"""The same addresses, in the order in which they are looked at."""
_AT_ONCE = 8
"""How many are looked at each time something is made, so that many that stay cost little."""


def _look(count: int) -> bool:
    """Looks at some arrays, and answers whether none is lent any more."""
    for _ in range(min(count, len(_round))):
        try:
            address = _round.popleft()
        except IndexError:
            break
        lent = _lent[address]
        if lent.is_back():
            del _lent[address]
            lent.end()
        else:
            _round.append(address)
    return not _round


@reclaims
def _look_at_all() -> None:
    _look(len(_round))


def device_of(buffer: Buffer) -> tuple[int, int]:
    """The device of a buffer, as DLPack counts."""
    return (CPU, 0) if buffer.host_accessible else (EXT_DEV, buffer.device.ordinal)


def export(buffer: Buffer, max_version: tuple[int, int] | None, *, copied: bool) -> CapsuleType:
    """A capsule with a buffer in it.

    Raises:
        BufferError: A stride is no multiple of the element, or the memory is read-only and the consumer cannot be told.
    """
    itemsize = buffer.dtype.itemsize
    if any(stride % itemsize for stride in buffer.strides):
        raise BufferError("DLPack counts strides in elements, and these are no whole number of them")
    versioned = max_version is not None and max_version[0] >= 1
    if buffer.readonly and not versioned:
        raise BufferError("the memory is read-only, which only DLPack 1.0 and newer can tell")
    lent = _Lent(buffer, versioned=versioned, copied=copied)
    # Held from here on: once it is among those that are looked at, it would be taken for one that nobody has.
    capsule: CapsuleType = lent.capsule
    _lent[lent.address] = lent
    _round.append(lent.address)
    if len(_round) == 1:
        session = buffer.device._session
        _lifetime.release_later(_lifetime.Release(session, _look_at_all, lambda: _look(_AT_ONCE), is_memory=False))
    else:
        _look(1)
    return capsule


def answer(
    buffer: Buffer,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> CapsuleType:
    """What `Buffer.__dlpack__` says."""
    memory = buffer._memory
    memory.check()
    here = device_of(buffer)
    wanted = here if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if wanted != here and (copy is False or wanted != (CPU, 0)):
        raise BufferError(f"the elements are on {buffer.device.name}, and not on the device {wanted}")
    if wanted != here and not buffer.host_accessible:
        return export(_on_the_host(buffer), max_version, copied=True)
    if copy:
        return export(buffer.copy(), max_version, copied=True)
    if buffer.host_accessible:
        if stream is not None:
            raise BufferError("the host has no streams: stream must be None")
        memory.uses.settle()
    elif stream != -1:
        memory.uses.order_before(stream or 0)
    return export(buffer, max_version, copied=False)


def _on_the_host(buffer: Buffer) -> Buffer:
    room = bytearray(buffer.nbytes)
    memory = Borrowed(buffer.device, _host.address_of(room), buffer.nbytes, room)
    strides = _layout.contiguous(buffer.shape, buffer.itemsize)
    copied = _buffer.Buffer._of(memory, memory.address, buffer.shape, strides, buffer.dtype)
    copies.copy(copied, buffer, None)
    return copied


class _Taken:
    """An array of somebody else's, which is given back with the last reference."""

    __slots__ = ("address", "give_back")

    def __init__(self, address: int, deleter: int | None) -> None:
        self.address = address
        # Made now, because names of modules may be gone when the interpreter ends.
        self.give_back = _Deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self.give_back is not None:
            self.give_back(self.address)


def ask(array: Any, device: Device, *, on_device: bool) -> Buffer:
    """The buffer of an array that has DLPack, without a copy. The parameters are those of `take`.

    Raises:
        TypeError: It has not.
        BufferError: What `take` raises, or the array itself.
    """
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{type(array).__name__} has no __dlpack__")
    try:
        capsule = array.__dlpack__(max_version=VERSION)
    except TypeError:
        # It is from before version 1.0, and knows no such parameter.
        capsule = array.__dlpack__()
    return take(capsule, device, on_device=on_device)


def take(capsule: Any, device: Device, *, on_device: bool) -> Buffer:
    """The buffer in a capsule, without a copy. The capsule is used up.

    Args:
        capsule: The capsule.
        device: The device that the buffer is used with.
        on_device: Whether an array on a device without a number is one of that device.

    Raises:
        BufferError: It is not on the host or on that device, or of a type or a version that is none here.
    """
    if _capsule_is(capsule, _VERSIONED):
        address = _capsule_get(capsule, _VERSIONED)
        managed: Any = _ManagedVersioned.from_address(address)
        flags = managed.flags
        if managed.major != VERSION[0]:
            # Where the other fields are is not known; the capsule itself gives the array back.
            raise BufferError(
                f"the array is described by DLPack {managed.major}.{managed.minor}; here is {VERSION[0]}.{VERSION[1]}"
            )
        used = _USED_VERSIONED
    elif _capsule_is(capsule, _UNVERSIONED):
        address = _capsule_get(capsule, _UNVERSIONED)
        managed = _Managed.from_address(address)
        flags = 0
        used = _USED_UNVERSIONED
    else:
        raise BufferError("it is no capsule of DLPack's, or somebody has used it already")
    own = _lent.get(address)
    if own is not None:
        # It is one of this package's buffers, and nothing has to be taken out.
        return own.buffer[...]
    tensor = managed.tensor
    if not (tensor.device.type in _ON_HOST or (on_device and tensor.device.type == EXT_DEV)):
        raise BufferError(f"the array is on a device of DLPack's type {tensor.device.type}, not on the host")
    of = of_dlpack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
    shape = tuple(tensor.shape[: tensor.ndim])
    if tensor.strides:
        strides = tuple(step * of.itemsize for step in tensor.strides[: tensor.ndim])
    else:
        strides = _layout.contiguous(shape, of.itemsize)
    begin, end = _layout.span(shape, strides, of.itemsize)
    first = (tensor.data or 0) + tensor.byte_offset
    # From here on it is ours to give back, and nobody else's.
    _capsule_rename(capsule, used)
    owner = _Taken(address, managed.deleter)
    elsewhere = tensor.device.type not in _ON_HOST
    memory = Borrowed(device, first + begin, end - begin, owner, on_device=elsewhere)
    return _buffer.Buffer._of(memory, first, shape, strides, of, bool(flags & _READ_ONLY))
