"""DLPack's structures, and the layout of a buffer in them."""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import TYPE_CHECKING, Any

from tenon import _layout

if TYPE_CHECKING:
    from tenon.buffer import Buffer

CPU = 1
CUDA_HOST = 3
ROCM_HOST = 11
EXT_DEV = 12
"""The DLPack device type for devices without a type of their own, `kDLExtDev`."""
ON_HOST = (CPU, CUDA_HOST, ROCM_HOST)

VERSION = (1, 3)
"""The newest supported version."""

_MOST_DIMENSIONS = 64
"""The limit of Python's buffer protocol."""


class _Device(Structure):
    _fields_ = (("type", c_int), ("id", c_int32))


class _DataType(Structure):
    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


class Tensor(Structure):
    _fields_ = (
        ("data", c_void_p),
        ("device", _Device),
        ("ndim", c_int32),
        ("dtype", _DataType),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    )


class Managed(Structure):
    _fields_ = (("tensor", Tensor), ("context", c_void_p), ("deleter", c_void_p))


class ManagedVersioned(Structure):
    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", Tensor),
    )


def device_of(buffer: Buffer) -> tuple[int, int]:
    """Returns the DLPack device type and number of a buffer."""
    return (CPU, 0) if buffer.host_accessible else (EXT_DEV, buffer.device.ordinal)


def describe(buffer: Buffer, tensor: Tensor, lengths: Any, steps: Any) -> None:
    """Writes the layout of a buffer to a DLPack tensor.

    Args:
        buffer: The buffer.
        tensor: The tensor.
        lengths, steps: Room for the shape and the strides, which must live as long as the tensor.

    Raises:
        BufferError: A stride is not a multiple of the element size.
    """
    itemsize = buffer.dtype.itemsize
    if any(stride % itemsize for stride in buffer.strides):
        raise BufferError("DLPack needs strides that are a multiple of the element size")
    lengths[:] = list(buffer.shape)
    steps[:] = [stride // itemsize for stride in buffer.strides]
    # The first word must not be 0, even for an array without elements: 0 means that the consumer returned it.
    tensor.data = buffer.ptr or itemsize
    tensor.device.type, tensor.device.id = device_of(buffer)
    tensor.ndim = buffer.ndim
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = buffer.dtype.code, 8 * itemsize, 1
    tensor.shape, tensor.strides = lengths, steps
    tensor.byte_offset = 0


def shape_of(tensor: Tensor, itemsize: int) -> _layout.Shape:
    """Reads and checks the shape of a DLPack tensor.

    Raises:
        BufferError: The number of dimensions, a length or the size is invalid.
    """
    dimensions = tensor.ndim
    if not 0 <= dimensions <= _MOST_DIMENSIONS:
        raise BufferError(f"the array has {dimensions} dimensions; at most {_MOST_DIMENSIONS} are supported")
    if dimensions and not tensor.shape:
        raise BufferError(f"the array has {dimensions} dimensions but no shape")
    try:
        return _layout.shape_of(tuple(tensor.shape[:dimensions]), itemsize)
    except ValueError as error:
        raise BufferError(str(error)) from None


def shape_and_strides(tensor: Tensor, itemsize: int) -> _layout.Layout:
    """Reads and checks the layout that a producer states. Raises what `shape_of` does."""
    shape = shape_of(tensor, itemsize)
    if not tensor.strides:
        return _layout.Layout(shape, _layout.contiguous(shape, itemsize))
    strides = tuple(step * itemsize for step in tensor.strides[: len(shape)])
    begin, end = _layout.span(shape, strides, itemsize)
    if end - begin > _layout.LARGEST:
        raise BufferError(f"an array of shape {shape} with strides of {strides} bytes is too large")
    return _layout.Layout(shape, strides)
