"""Functions that make buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tenon import dlpack
from tenon.buffer import Buffer
from tenon.device import resolve

if TYPE_CHECKING:
    from tenon._layout import ShapeLike
    from tenon.device import Device
    from tenon.dtype import DTypeLike, Number
    from tenon.stream import Stream


def empty(
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """Allocates a buffer with undefined content.

    Args:
        shape: The length of each dimension. A single number means one dimension.
        dtype: The element type.
        device: The device or its name. None: the device of the stream, or the current device.
        stream: The stream that uses the buffer first. None: the current stream of the device. When another stream
            uses the buffer, it waits for this stream automatically.

    Raises:
        OutOfMemoryError: The device does not have enough memory.
        ValueError: A length is negative, or the size exceeds the address space.
    """
    return Buffer(shape, dtype, device, stream)


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """Allocates a buffer filled with zeros.

    The parameters are those of `empty`. With a stream, the fill is queued on it.
    """
    return full(shape, 0, dtype, device, stream)


def full(
    shape: ShapeLike,
    value: Number,
    dtype: DTypeLike = "float32",
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """Allocates a buffer with all elements set to one value.

    The other parameters are those of `empty`. With a stream, the fill is queued on it.

    Raises:
        TypeError: The value has the wrong kind for the element type.
    """
    buffer = Buffer(shape, dtype, device, stream)
    buffer.fill(value, stream)
    return buffer


def pinned(shape: ShapeLike, dtype: DTypeLike = "float32", device: Device | str | None = None) -> Buffer:
    """Allocates a buffer in pinned host memory, with undefined content.

    Queued copies from and to pinned memory do not block. `numpy(copy=False)` returns a NumPy array that shares the
    memory.

    Raises:
        UnsupportedError: The device has no pinned memory.
        OutOfMemoryError: There is not enough pinned memory.
    """
    return Buffer(shape, dtype, device, space="pinned")


def unified(shape: ShapeLike, dtype: DTypeLike = "float32", device: Device | str | None = None) -> Buffer:
    """Allocates a buffer in memory that host and device access at the same address, with undefined content.

    Copies treat it as host memory. The device determines when writes of one side become visible to the other; after
    `Device.synchronize` both sides see the same content.

    Raises:
        UnsupportedError: The device has no unified memory.
        OutOfMemoryError: There is not enough unified memory.
    """
    return Buffer(shape, dtype, device, space="unified")


def from_dlpack(array: Any, /, *, device: Device | str | None = None, copy: bool | None = None) -> Buffer:
    """Creates a buffer from an array of another framework, through DLPack.

    Args:
        array: Any object with `__dlpack__` and `__dlpack_device__`.
        device: The device that is to hold the elements. An array on the host is copied to it. An array on a device
            without a DLPack number is assumed to be on this device already. None: the elements stay where they are,
            which must be the host or a device of this package.
        copy: True: always copies. False: never copies. None: copies only if necessary.

    Raises:
        BufferError: The location or the type of the elements is not supported; or a copy is necessary and `copy` is
            False.
        TypeError: The object does not support DLPack.
    """
    wanted = None if device is None else resolve(device)
    buffer = dlpack.ask(array, wanted or resolve(None), on_device=wanted is not None)
    is_there = wanted is None or (buffer.device is wanted and buffer.space == "device")
    if is_there and not copy:
        return buffer
    if copy is False:
        raise BufferError(f"the array is not in the memory of {buffer.device.name}, and copy=False forbids a copy")
    return buffer.copy() if wanted is None else Buffer.from_array(buffer, wanted)
