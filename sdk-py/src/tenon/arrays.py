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
    """A buffer with undefined content.

    Args:
        shape: The length of each dimension; a number stands for one dimension.
        dtype: The type of the elements.
        device: The device, or its name; None: that of the stream, or the current one.
        stream: The stream that uses it first; None: the current one of the device. Others wait for it by themselves.

    Raises:
        OutOfMemoryError: The device has not so much memory.
        ValueError: A length is negative, or there are more bytes than addresses.
    """
    return Buffer(shape, dtype, device, stream)


def zeros(
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """A buffer of zeros. With a stream they are queued on it. The parameters are those of `empty`."""
    return full(shape, 0, dtype, device, stream)


def full(
    shape: ShapeLike,
    value: Number,
    dtype: DTypeLike = "float32",
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """A buffer with one value everywhere. With a stream it is queued. The parameters are those of `empty`.

    Raises:
        TypeError: The value is of the wrong kind for the type.
    """
    buffer = Buffer(shape, dtype, device, stream)
    buffer.fill(value, stream)
    return buffer


def pinned(shape: ShapeLike, dtype: DTypeLike = "float32", device: Device | str | None = None) -> Buffer:
    """An array in pinned memory of the host, with undefined content. Queued copies from and to it need not wait.

    `numpy(copy=False)` gives the NumPy array over it.

    Raises:
        UnsupportedError: The device has no pinned memory.
        OutOfMemoryError: There is not so much.
    """
    return Buffer(shape, dtype, device, space="pinned")


def unified(shape: ShapeLike, dtype: DTypeLike = "float32", device: Device | str | None = None) -> Buffer:
    """An array in memory that host and device reach at the same address, with undefined content.

    Copies take it for memory of the host. Who sees whose writes when is up to the device; after
    `Device.synchronize` both see the same.

    Raises:
        UnsupportedError: The device has no unified memory.
        OutOfMemoryError: There is not so much.
    """
    return Buffer(shape, dtype, device, space="unified")


def from_dlpack(array: Any, /, *, device: Device | str | None = None, copy: bool | None = None) -> Buffer:
    """A buffer of an array of another framework's.

    Args:
        array: Anything with `__dlpack__` and `__dlpack_device__`.
        device: The device in whose memory the elements are wanted: those of an array on the host are copied there, and
            those of an array on a device that DLPack has no number for are taken to be there. None: they stay where
            they are, which is the host or one of this package's devices.
        copy: True: always a copy; False: never; None: where there is no other way.

    Raises:
        BufferError: The elements are somewhere else, or of another type; or a copy is needed and not wanted.
        TypeError: The object does not have DLPack.
    """
    wanted = None if device is None else resolve(device)
    buffer = dlpack.ask(array, wanted or resolve(None), on_device=wanted is not None)
    is_there = wanted is None or (buffer.device is wanted and buffer.space == "device")
    if is_there and not copy:
        return buffer
    if copy is False:
        raise BufferError(f"the array is not in the memory of {buffer.device.name}, and a copy is not wanted")
    return buffer.copy() if wanted is None else Buffer.from_array(buffer, wanted)
