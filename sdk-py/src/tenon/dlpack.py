"""Zero-copy exchange of arrays with other frameworks through DLPack, versioned (1.0 and newer) and unversioned.

A consumer may call the deleter at any time: while an exception is pending, in a thread unknown to Python, or after the
interpreter has ended. No Python code may run there. So the deleter is a function of the C library that clears the first
word of the DLPack structure. Later calls that create, close or wait for objects detect the cleared word and release the
memory.
"""

from __future__ import annotations

import ctypes
import sys
from collections import deque
from ctypes import c_int, c_int64, c_size_t, c_uint64, c_void_p, py_object, sizeof
from typing import TYPE_CHECKING, Any

from tenon import _host, _layout, copies
from tenon import buffer as _buffer
from tenon._dlpack_layout import (
    CPU,
    EXT_DEV,
    ON_HOST,
    VERSION,
    Managed,
    ManagedVersioned,
    describe,
    device_of,
    shape_and_strides,
)
from tenon._lifecycle import resources
from tenon._memory import Borrowed, Export, reclaims
from tenon.dtype import of_dlpack

if TYPE_CHECKING:
    from typing_extensions import CapsuleType

    from tenon.buffer import Buffer
    from tenon.device import Device

_READ_ONLY = 1
_COPIED = 2


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)

_python = ctypes.PyDLL(None)
"""The functions of the interpreter. Other packages set the types of those in `ctypes.pythonapi`."""
_capsule_new = _python.PyCapsule_New
_capsule_new.argtypes = [c_void_p, c_void_p, c_void_p]
_capsule_new.restype = py_object
_capsule_is = _python.PyCapsule_IsValid
_capsule_is.argtypes = [py_object, c_void_p]
_capsule_is.restype = c_int
_capsule_get = _python.PyCapsule_GetPointer
_capsule_get.argtypes = [py_object, c_void_p]
_capsule_get.restype = c_void_p
_capsule_rename = _python.PyCapsule_SetName
_capsule_rename.argtypes = [py_object, c_void_p]
_capsule_rename.restype = c_int

_c = ctypes.CDLL(None)
_c.malloc.argtypes = [c_size_t]
_c.malloc.restype = c_void_p
_c.free.argtypes = [c_void_p]
_c.free.restype = None
_c.strdup.argtypes = [ctypes.c_char_p]
_c.strdup.restype = c_void_p
# A capsule does not copy its name and may outlive this module, so the names are never freed.
_UNVERSIONED = _c.strdup(b"dltensor")
_VERSIONED = _c.strdup(b"dltensor_versioned")
_USED_UNVERSIONED = _c.strdup(b"used_dltensor")
_USED_VERSIONED = _c.strdup(b"used_dltensor_versioned")
_EMPTY_SIGNALS = 128
"""The number of bytes that `sigemptyset` clears: one word to 128 bytes, depending on the C library."""
_give_back = ctypes.cast(_c.sigemptyset, c_void_p).value


class _Lent:
    """An exported array and its DLPack structure, which is allocated with `malloc`."""

    __slots__ = ("address", "buffer", "capsule", "export")

    own_references = 2
    """The reference count of a capsule without other owners: the attribute, and the argument of `getrefcount`."""

    def __init__(self, buffer: Buffer, *, versioned: bool, copied: bool, in_capsule: bool = True) -> None:
        shape = buffer.shape
        kind = ManagedVersioned if versioned else Managed
        numbers = max(sizeof(kind), _EMPTY_SIGNALS)
        address = _c.malloc(numbers + 2 * len(shape) * 8)
        if not address:
            raise MemoryError("there is no memory for the DLPack structure")
        self.address: int = address
        self.buffer = buffer
        self.export = Export(buffer._memory)
        lengths = (c_int64 * len(shape)).from_address(address + numbers)
        steps = (c_int64 * len(shape)).from_address(address + numbers + len(shape) * 8)
        managed = kind.from_address(address)
        describe(buffer, managed.tensor, lengths, steps)
        # The deleter does not use the context, but PaddlePaddle calls the deleter only if there is one.
        managed.context = address
        managed.deleter = _give_back
        if isinstance(managed, ManagedVersioned):
            managed.major, managed.minor = VERSION
            managed.flags = _READ_ONLY * buffer.readonly | _COPIED * copied
        self.capsule: Any = None
        if in_capsule:
            self.capsule = _capsule_new(address, _VERSIONED if versioned else _UNVERSIONED, None)

    def is_back(self) -> bool:
        """Returns True if no consumer uses the array any more."""
        if not c_uint64.from_address(self.address).value:
            return True
        if self.capsule is None:
            return False
        if not (_capsule_is(self.capsule, _UNVERSIONED) or _capsule_is(self.capsule, _VERSIONED)):
            # A consumer has renamed the capsule and will call the deleter.
            self.capsule = None
            return False
        return sys.getrefcount(self.capsule) == _Lent.own_references

    def end(self) -> None:
        """Releases the buffer and the structure."""
        self.capsule = None
        _c.free(self.address)


_lent: dict[int, _Lent] = {}
"""Exported arrays by the address of their structure."""
_round: deque[int] = deque()
"""The same addresses, in the order in which they are checked."""
_AT_ONCE = 8
"""The number of exports checked per call of `drain`, so that many long-lived exports cost little."""


def _look(count: int) -> bool:
    """Checks up to `count` exports and releases returned ones. Returns True if none are left."""
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


def export(buffer: Buffer, max_version: tuple[int, int] | None, *, copied: bool) -> CapsuleType:
    """Returns a capsule for a buffer.

    Raises:
        BufferError: A stride is not a multiple of the element size; or the memory is read-only, which DLPack before 1.0
            cannot express.
    """
    versioned = max_version is not None and max_version[0] >= 1
    if buffer.readonly and not versioned:
        raise BufferError("the memory is read-only, which versions before DLPack 1.0 cannot express")
    lent = _Lent(buffer, versioned=versioned, copied=copied)
    # This reference must exist before the export is in `_round`: otherwise the export would count as returned.
    capsule: CapsuleType = lent.capsule
    _keep(lent)
    return capsule


def lend(buffer: Buffer) -> int:
    """Returns the address of a versioned DLPack structure for a buffer. The caller has to call its deleter."""
    lent = _Lent(buffer, versioned=True, copied=False, in_capsule=False)
    _keep(lent)
    return lent.address


def _keep(lent: _Lent) -> None:
    """Keeps an exported array until its consumer returns it."""
    _lent[lent.address] = lent
    _round.append(lent.address)
    if len(_round) == 1:
        session = lent.buffer.device._session
        resources.release_later(resources.Release(session, _look_at_all, lambda: _look(_AT_ONCE), is_memory=False))
    else:
        _look(1)


def answer(
    buffer: Buffer,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> CapsuleType:
    """Implements `Buffer.__dlpack__`."""
    memory = buffer._memory
    memory.check()
    here = device_of(buffer)
    wanted = here if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
    if wanted != here and (copy is False or wanted != (CPU, 0)):
        raise BufferError(f"the elements are on {buffer.device.name}, not on the DLPack device {wanted}")
    if wanted != here and not buffer.host_accessible:
        return export(_on_the_host(buffer), max_version, copied=True)
    if copy:
        return export(buffer.copy(), max_version, copied=True)
    if buffer.host_accessible:
        if stream is not None:
            raise BufferError("stream must be None for host memory")
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
    """An imported array. Its deleter is called when the last reference is dropped."""

    __slots__ = ("address", "give_back")

    def __init__(self, address: int, deleter: int | None) -> None:
        self.address = address
        # Created now, because module globals may be cleared at interpreter exit.
        self.give_back = _Deleter(deleter) if deleter else None

    def __del__(self) -> None:
        if self.give_back is not None:
            self.give_back(self.address)


def ask(array: Any, device: Device, *, on_device: bool) -> Buffer:
    """Creates a buffer from an array that supports DLPack, without a copy. The parameters are those of `take`.

    Raises:
        TypeError: The array does not support DLPack.
        BufferError: `take` or the `__dlpack__` of the array raised it.
    """
    if not hasattr(array, "__dlpack__"):
        raise TypeError(f"{type(array).__name__} does not support DLPack: it has no __dlpack__")
    try:
        capsule = array.__dlpack__(max_version=VERSION)
    except TypeError:
        # Producers before DLPack 1.0 do not have this parameter.
        capsule = array.__dlpack__()
    return take(
        capsule, device, on_device=on_device, writable=bool(_capsule_is(capsule, _UNVERSIONED)) and _is_writable(array)
    )


def _is_writable(array: Any) -> bool:
    """Returns True if an array says by another interface that its memory may be written."""
    try:
        interface = getattr(array, "__array_interface__", None)
    except BufferError:
        # The host cannot access the memory.
        return False
    data = interface.get("data") if isinstance(interface, dict) else None
    return isinstance(data, tuple) and len(data) == 2 and data[1] is False


def take(capsule: Any, device: Device, *, on_device: bool, writable: bool = False) -> Buffer:
    """Creates a buffer from a capsule, without a copy. Consumes the capsule.

    Args:
        capsule: The capsule.
        device: The device of the buffer.
        on_device: True: an array with device type `kDLExtDev` is in the memory of `device`.
        writable: True: memory of a capsule before DLPack 1.0, which cannot say that it is read-only, may be written.

    Raises:
        BufferError: The array is neither on the host nor on that device, or its type or DLPack version is not
            supported.
    """
    kind: type[Managed | ManagedVersioned]
    if _capsule_is(capsule, _VERSIONED):
        kind, name, used = ManagedVersioned, _VERSIONED, _USED_VERSIONED
    elif _capsule_is(capsule, _UNVERSIONED):
        kind, name, used = Managed, _UNVERSIONED, _USED_UNVERSIONED
    else:
        raise BufferError("the object is not a DLPack capsule, or it is already consumed")
    address = _capsule_get(capsule, name)
    own = _lent.get(address)
    if own is not None:
        # The capsule contains a buffer of this package, so it need not be consumed.
        return own.buffer[...]
    buffer = _own(kind.from_address(address), device, on_device=on_device, writable=writable)
    # From here on, the buffer calls the deleter.
    _capsule_rename(capsule, used)
    return buffer


def take_address(address: int, device: Device) -> Buffer:
    """Creates a buffer from the address of a versioned DLPack structure, and takes it over.

    Raises:
        BufferError: As for `take`. The structure still belongs to the caller.
    """
    own = _lent.get(address)
    if own is None:
        return _own(ManagedVersioned.from_address(address), device, on_device=False)
    buffer = own.buffer[...]
    # As the deleter does.
    c_uint64.from_address(address).value = 0
    return buffer


def _own(managed: Managed | ManagedVersioned, device: Device, *, on_device: bool, writable: bool = False) -> Buffer:
    """Creates a buffer that calls the deleter of a DLPack structure. See `take`."""
    # Without a version there are no flags. The memory may be that of an immutable array, as of JAX.
    flags = 0 if writable else _READ_ONLY
    if isinstance(managed, ManagedVersioned):
        flags = managed.flags
        if managed.major != VERSION[0]:
            # The layout of the other fields is unknown, so the structure stays with its owner.
            raise BufferError(
                f"the array uses DLPack {managed.major}.{managed.minor}; supported is {VERSION[0]}.{VERSION[1]}"
            )
    tensor = managed.tensor
    if not (tensor.device.type in ON_HOST or (on_device and tensor.device.type == EXT_DEV)):
        raise BufferError(f"the array is on a device of DLPack type {tensor.device.type}, not on the host")
    of = of_dlpack(tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes)
    shape, strides = shape_and_strides(tensor, of.itemsize)
    begin, end = _layout.span(shape, strides, of.itemsize)
    first = (tensor.data or 0) + tensor.byte_offset
    owner = _Taken(ctypes.addressof(managed), managed.deleter)
    elsewhere = tensor.device.type not in ON_HOST
    memory = Borrowed(device, first + begin, end - begin, owner, on_device=elsewhere)
    return _buffer.Buffer._of(memory, first, shape, strides, of, bool(flags & _READ_ONLY))
