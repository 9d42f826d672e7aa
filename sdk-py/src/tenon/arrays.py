"""Functions that make buffers."""

from __future__ import annotations

from math import ceil, isfinite
from typing import TYPE_CHECKING, Any

from tenon import dlpack
from tenon._arguments import expect
from tenon.buffer import Buffer
from tenon.device import resolve
from tenon.dtype import dtype as dtype_of
from tenon.stream import Stream

if TYPE_CHECKING:
    from tenon._layout import ShapeLike
    from tenon.device import Device
    from tenon.dtype import DTypeLike, Number


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


def ones(
    shape: ShapeLike,
    dtype: DTypeLike = "float32",
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """Allocates a buffer filled with ones.

    The parameters are those of `empty`. With a stream, the fill is queued on it.
    """
    return full(shape, 1, dtype, device, stream)


def empty_like(buffer: Buffer, dtype: DTypeLike | None = None, stream: Stream | None = None) -> Buffer:
    """Allocates a buffer with the shape and the device of another one, with undefined content.

    Args:
        buffer: The other buffer.
        dtype: The element type. None: that of the other buffer.
        stream: The stream that uses the new buffer first. None: the current stream of the device.
    """
    expect(buffer, Buffer, "buffer")
    return Buffer(buffer.shape, buffer.dtype if dtype is None else dtype, buffer.device, stream)


def full_like(buffer: Buffer, value: Number, dtype: DTypeLike | None = None, stream: Stream | None = None) -> Buffer:
    """Allocates a buffer with the shape and the device of another one, with all elements set to one value.

    The other parameters are those of `empty_like`. With a stream, the fill is queued on it.
    """
    filled = empty_like(buffer, dtype, stream)
    filled.fill(value, stream)
    return filled


def zeros_like(buffer: Buffer, dtype: DTypeLike | None = None, stream: Stream | None = None) -> Buffer:
    """Allocates a buffer with the shape and the device of another one, filled with zeros.

    The parameters are those of `empty_like`. With a stream, the fill is queued on it.
    """
    return full_like(buffer, 0, dtype, stream)


def ones_like(buffer: Buffer, dtype: DTypeLike | None = None, stream: Stream | None = None) -> Buffer:
    """Allocates a buffer with the shape and the device of another one, filled with ones.

    The parameters are those of `empty_like`. With a stream, the fill is queued on it.
    """
    return full_like(buffer, 1, dtype, stream)


def array(
    array: Any,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """Copies an array, a number or nested lists of numbers to a new buffer.

    The same as `Buffer.from_array`, with the order of parameters of NumPy's `array`. Elements of an array are not
    converted to another type.
    """
    return Buffer.from_array(array, device, stream, dtype=dtype)


def asarray(
    array: Any,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """Returns a buffer in device memory unchanged; copies anything else as `array` does.

    A buffer is copied if it is in host memory or on another device than the requested one.

    Raises:
        TypeError: `array` is an array with elements of another type than `dtype`.
    """
    if stream is None:
        wanted = None if device is None else resolve(device)
    else:
        expect(stream, Stream, "stream")
        wanted = stream.device
    if (
        isinstance(array, Buffer)
        and array.space == "device"
        and (wanted is None or array.device is wanted)
        and (dtype is None or array.dtype is dtype_of(dtype))
    ):
        return array
    return Buffer.from_array(array, device, stream, dtype=dtype)


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: DTypeLike | None = None,
    device: Device | str | None = None,
    stream: Stream | None = None,
) -> Buffer:
    """Makes a buffer with the numbers from `start` to `stop`, without `stop`: `start`, `start + step`, and so on.

    Args:
        start: The first number. If it is the only one, it is `stop`, and the first number is 0.
        stop: The end of the numbers.
        step: The distance between two numbers.
        dtype: The element type. None: `int64` if all three are integers, otherwise `float64`, as in NumPy.
        device: The device or its name. None: the device of the stream, or the current device.
        stream: The stream on which the copy is queued. None: the copy is done when this returns.

    Raises:
        ValueError: `step` is 0, or a number is not finite.
    """
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("the step of arange must not be 0")
    numbers: list[Number]
    if isinstance(start, int) and isinstance(stop, int) and isinstance(step, int):
        numbers = list(range(start, stop, step))
    elif isfinite(start) and isfinite(stop) and isfinite(step):
        # The last number may reach `stop` by rounding, as in NumPy.
        numbers = [start + number * step for number in range(max(0, ceil((stop - start) / step)))]
        dtype = "float64" if dtype is None else dtype
    else:
        raise ValueError(f"arange needs finite numbers, not {start}, {stop} and {step}")
    return Buffer.from_array(numbers, device, stream, dtype="int64" if dtype is None else dtype)


def pinned(shape: ShapeLike, dtype: DTypeLike = "float32", device: Device | str | None = None) -> Buffer:
    """Allocates a buffer in pinned host memory, with undefined content.

    Queued copies from and to pinned memory do not block. On a device without pinned memory it is ordinary host
    memory, so copies may block. `numpy(copy=False)` returns a NumPy array that shares the
    memory.

    Raises:
        UnsupportedError: The device can only free pinned memory.
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

    The buffer is read-only if the array is, and if the framework cannot say, as before DLPack 1.0. `copy()` makes one
    that can be written.

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
