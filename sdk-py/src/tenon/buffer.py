"""Buffers: arrays in device memory, in pinned or unified memory, or in borrowed host memory."""

from __future__ import annotations

import importlib
import sys
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, cast

from tenon import _arguments, _dlpack_layout, _foreign, _layout, _operators, _shown, copies, dlpack, dlpack_exchange
from tenon._memory import Borrowed, Memory, Passing
from tenon._operators import Arithmetic
from tenon.device import resolve
from tenon.dtype import dtype as _dtype_of
from tenon.dtype import import_numpy, is_number, to_numpy
from tenon.stream import Stream

if TYPE_CHECKING:
    import builtins
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    import numpy
    from typing_extensions import CapsuleType

    from tenon._layout import Key, Shape, ShapeLike
    from tenon._memory import Space
    from tenon.device import Device
    from tenon.dtype import DType, DTypeLike, Number


class Buffer(Arithmetic):
    """An array of elements of one type, with a shape and strides.

    `tenon.empty`, `zeros`, `full` and `Buffer.from_array` create buffers in device memory. `tenon.pinned`
    and `unified` create buffers in host memory that the device can access directly. `tenon.from_dlpack`
    creates a buffer from memory of another framework.

    A buffer is indexed with numbers, slices, `...` and None, as in NumPy. The result is a buffer that
    shares the memory, even for a single element. The memory stays allocated while a buffer or an array
    of another package refers to it; `close` frees it at once.

    A copy or fill without a stream waits for the streams that use the memory and returns when it is
    done. With a stream it is queued. The caller orders work on several streams by events, with one
    exception: other streams wait automatically for the stream on which the memory was allocated.

    `x + 1`, `-x`, `x @ y`, `x < y` and the like call the functions of `tenon.ops`. `==` compares identity:
    `tenon.ops.equal` compares elements. A buffer with a single element converts to that element by `bool`,
    `int`, `float` and `complex`.

    Threads:
        Any thread may use any buffer. The program must synchronise reads and writes of the same elements.
    """

    __slots__ = (
        "__weakref__",
        "_contiguous",
        "_dtype",
        "_memory",
        "_nbytes",
        "_ptr",
        "_readonly",
        "_shape",
        "_strides",
    )

    _memory: Memory | Borrowed | Passing
    _ptr: int
    _shape: Shape
    _strides: Shape
    _dtype: DType
    _readonly: bool
    _contiguous: bool
    _nbytes: int

    __dlpack_c_exchange_api__: ClassVar[CapsuleType] = dlpack_exchange.capsule()
    """The functions of DLPack 1.3 with which libraries in C exchange buffers without calling `__dlpack__`."""

    # Keeps NumPy operators from treating a buffer as a sequence and iterating over its elements.
    __array_ufunc__ = None

    def __init__(
        self,
        shape: ShapeLike,
        dtype: DTypeLike = "float32",
        device: Device | str | None = None,
        stream: Stream | None = None,
        *,
        space: Space = "device",
    ) -> None:
        """Allocates a buffer with undefined content. See `tenon.empty`."""
        of = _dtype_of(dtype)
        lengths = _layout.shape_of(shape, of.itemsize)
        if space not in _SPACES:
            raise ValueError(f"the space of a buffer must be one of {', '.join(_SPACES)}, not {space!r}")
        if stream is not None:
            _arguments.expect(stream, Stream, "stream")
            found = stream.device
            if device is not None and resolve(device) is not found:
                raise ValueError(f"the stream belongs to {found.name}, not to {resolve(device).name}")
        else:
            found = resolve(device)
        if space != "device":
            stream = None
        elif stream is None:
            stream = found.current_stream
        size = prod(lengths) * of.itemsize
        memory = Memory(found, size, space, stream)
        self._memory = memory
        self._ptr = memory.address
        self._shape = lengths
        self._strides = _layout.contiguous(lengths, of.itemsize)
        self._dtype = of
        self._readonly = False
        self._contiguous = True
        self._nbytes = size

    @classmethod
    def _of(
        cls,
        memory: Memory | Borrowed | Passing,
        ptr: int,
        shape: Shape,
        strides: Shape,
        of: DType,
        readonly: bool = False,
        contiguous: bool = False,
    ) -> Buffer:
        """Creates a buffer over existing memory. `contiguous=True` skips the check of the strides."""
        buffer = object.__new__(cls)
        buffer._memory = memory
        buffer._ptr = ptr
        buffer._shape = shape
        buffer._strides = strides
        buffer._dtype = of
        buffer._readonly = readonly
        buffer._contiguous = contiguous or _layout.is_contiguous(shape, strides, of.itemsize)
        buffer._nbytes = prod(shape) * of.itemsize
        return buffer

    @classmethod
    def from_array(
        cls,
        array: Any,
        device: Device | str | None = None,
        stream: Stream | None = None,
        *,
        dtype: DTypeLike | None = None,
    ) -> Buffer:
        """Creates a buffer on a device with the elements of an array.

        Args:
            array: An object with `__array_interface__`, the buffer protocol or DLPack, such as a NumPy array; a number;
                or nested lists of numbers.
            device: The device or its name. None: the device of the stream, or the current device.
            stream: The stream on which the copy is queued. None: the copy is done when this returns.
            dtype: The element type for numbers. None: chosen as NumPy does. If `array` is an array, it must have this
                type.

        Raises:
            TypeError: `array` is not an array, or its element type is not supported.
            OutOfMemoryError: The device does not have enough memory.
        """
        of = None if dtype is None else _dtype_of(dtype)
        if stream is not None:
            _arguments.expect(stream, Stream, "stream")
        near = resolve(device) if stream is None else stream.device
        source = array if isinstance(array, Buffer) else _foreign.source(array, of, near)
        if of is not None and source._dtype is not of:
            raise TypeError(f"the array has elements of type {source._dtype}, not {of}")
        buffer = cls(source._shape, source._dtype, device, stream)
        copies.copy(buffer, source, stream)
        return buffer

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements in each dimension."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The distance between adjacent elements in each dimension, in bytes."""
        return self._strides

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._nbytes // self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        """The size of an element in bytes."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The total size of the elements in bytes, without gaps between them."""
        return self._nbytes

    @property
    def device(self) -> Device:
        """The device that owns the memory or can access it."""
        return self._memory.device

    @property
    def space(self) -> Space:
        """The kind of memory: `device`, `pinned`, `unified`, or `host` for borrowed host memory."""
        return self._memory.space

    @property
    def host_accessible(self) -> bool:
        """True if the host can access the memory by address."""
        return self._memory.host_accessible

    @property
    def readonly(self) -> bool:
        """True if the buffer must not be written: it borrows memory that its owner marked read-only."""
        return self._readonly

    @property
    def is_contiguous(self) -> bool:
        """True if the elements are contiguous in row-major (C) order."""
        return self._contiguous

    @property
    def ptr(self) -> int:
        """The address of the first element, for native functions.

        Before work on a stream uses the address, call `record_stream`.

        Raises:
            InvalidHandleError: The buffer is closed.
        """
        self._memory.check()
        return self._ptr

    @property
    def closed(self) -> bool:
        """True if the memory was freed."""
        return self._memory.closed

    @property
    def _extent(self) -> tuple[int, int]:
        """The begin and end address of the elements."""
        if self._contiguous:
            return self._ptr, self._ptr + self._nbytes
        begin, end = _layout.span(self._shape, self._strides, self._dtype.itemsize)
        return self._ptr + begin, self._ptr + end

    # Views

    def __getitem__(self, key: Key) -> Buffer:
        """Returns a view of some of the elements.

        Raises:
            IndexError: An index is out of range, or there are too many indices.
            TypeError: The index is a list, an array or a mask.
        """
        self._memory.check()
        if key.__class__ in _ALONG_THE_FIRST and self._shape:
            return self._first(key)
        offset, (shape, strides) = _layout.indexed(self._shape, self._strides, key)
        return Buffer._of(self._memory, self._ptr + offset, shape, strides, self._dtype, self._readonly)

    def _first(self, key: Any) -> Buffer:
        """Returns a view of one or more rows; the fast path for an integer or a slice."""
        length, stride = self._shape[0], self._strides[0]
        shape, strides = self._shape[1:], self._strides[1:]
        if key.__class__ is int:
            if not -length <= key < length:
                raise IndexError(_layout.out_of_range(key, length, 0))
            offset, contiguous = key % length * stride, self._contiguous
        else:
            start, stop, step = key.indices(length)
            count = len(range(start, stop, step))
            shape, strides = (count, *shape), (step * stride, *strides)
            offset, contiguous = start * stride, step == 1 and self._contiguous
        if 0 in shape:
            offset = 0
        return Buffer._of(self._memory, self._ptr + offset, shape, strides, self._dtype, self._readonly, contiguous)

    def __bool__(self) -> bool:
        # Without this, Python would use `__len__`, and the result would not depend on the elements.
        if self.size != 1:
            raise ValueError(f"a buffer of {self.size} elements has no truth value: use size, or item() of one element")
        return bool(self.item())

    # Without these, `int` and `float` would parse the bytes of the buffer as text.

    def __int__(self) -> int:
        return int(cast("Any", self.item()))

    def __float__(self) -> float:
        return float(cast("Any", self.item()))

    def __complex__(self) -> complex:
        return complex(self.item())

    # Rows compare by identity, so `in` would always return False.
    __contains__ = None

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("a buffer of zero dimensions has no length")
        return self._shape[0]

    def __iter__(self) -> Iterator[Buffer]:
        return (self[place] for place in range(len(self)))

    def reshape(self, *shape: ShapeLike) -> Buffer:
        """Returns a view with another shape. One length may be -1 and is then computed.

        Raises:
            ValueError: The number of elements differs, or the elements would have to be moved. In the second case
                call `contiguous` first, which makes a copy.
        """
        wanted = cast("Sequence[int]", shape[0] if len(shape) == 1 else shape)
        layout = _layout.reshaped(self._shape, self._strides, self._dtype.itemsize, wanted)
        if layout is None:
            raise ValueError(
                f"the elements of shape {self._shape} would have to be moved for the shape {wanted}: "
                "call contiguous() first"
            )
        return self._viewed(*layout)

    def ravel(self) -> Buffer:
        """Returns a view with one dimension. Raises the same exceptions as `reshape`."""
        return self.reshape(-1)

    flat = property(ravel, doc="The same as `ravel()`.")

    def transpose(self, *axes: ShapeLike) -> Buffer:
        """Returns a view with permuted dimensions. Without arguments, the order is reversed.

        Raises:
            TypeError: An axis is not an integer.
            ValueError: The axes do not contain each dimension once.
        """
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return self._viewed(*_layout.transposed(self._shape, self._strides, cast("Sequence[int]", order)))

    T = property(transpose, doc="The same as `transpose()`.")

    def view(self, dtype: DTypeLike) -> Buffer:
        """Returns a view of the same bytes with another element type.

        If the element size differs, the length of the last dimension changes.

        Raises:
            ValueError: The last dimension is not contiguous, or its size is not a multiple of the new element size.
        """
        of = _dtype_of(dtype)
        have, wanted = self._dtype.itemsize, of.itemsize
        if have == wanted:
            return self._viewed(self._shape, self._strides, of)
        return self._viewed(*_layout.resized(self._shape, self._strides, have, wanted, of.name), of)

    def _viewed(self, shape: Shape, strides: Shape, of: DType | None = None) -> Buffer:
        self._memory.check()
        return Buffer._of(self._memory, self._ptr, shape, strides, of or self._dtype, self._readonly)

    # Copies

    def empty_like(self, stream: Stream | None = None) -> Buffer:
        """Allocates a contiguous buffer of the same shape and type in the same space.

        If this buffer borrows host memory, the new buffer is in device memory.
        """
        space: Space = "device" if self.space == "host" else self.space
        return Buffer(self._shape, self._dtype, self.device, _stream_of(self.device, stream), space=space)

    def copy(self, stream: Stream | None = None) -> Buffer:
        """Copies the elements to a new contiguous buffer, which `empty_like` allocates."""
        copied = self.empty_like(stream)
        copies.copy(copied, self, stream)
        return copied

    def contiguous(self, stream: Stream | None = None) -> Buffer:
        """Returns the buffer itself if it is contiguous, otherwise a copy."""
        return self if self._contiguous else self.copy(stream)

    def to(self, device: Device | str, stream: Stream | None = None) -> Buffer:
        """Returns the buffer itself if it is in the memory of that device, otherwise a copy there."""
        wanted = resolve(device)
        if self.device is wanted and self.space == "device":
            return self
        copied = Buffer(self._shape, self._dtype, wanted, _stream_of(wanted, stream))
        copies.copy(copied, self, stream)
        return copied

    def copy_from(self, array: Any, stream: Stream | None = None) -> None:
        """Copies the elements of an array into this buffer.

        Host memory that a queued copy reads stays allocated until the copy is done; the program must not change it
        before. A queued copy between pinned memory and the device does not block. With other host memory, the call may
        block until the stream reaches the copy.

        Args:
            array: A buffer, or an object that `from_array` accepts, of the same shape and type.
            stream: The stream on which the copy is queued, of the device of either side. None: the copy is done when
                this returns.

        Raises:
            ValueError: The shapes differ, this buffer is read-only, or the stream belongs to another device.
            TypeError: The element types differ.
            DeviceError: The copy failed, or work that it waited for failed.
        """
        if isinstance(array, Buffer):
            copies.copy(self, array, stream)
        elif stream is not None or not copies.between_host(self, array, upload=True):
            copies.copy(self, _foreign.source(array, self._dtype, self.device), stream)

    def copy_to(self, array: Any, stream: Stream | None = None) -> None:
        """Copies the elements into an array. Host memory that a queued copy writes stays allocated until it is done.

        Args:
            array: A buffer or a writable array, of the same shape and type.
            stream: As for `copy_from`. The content of the array is undefined until the copy is done.

        Raises:
            ValueError, TypeError, DeviceError: As for `copy_from`.
        """
        if isinstance(array, Buffer):
            copies.copy(array, self, stream)
        elif stream is not None or not copies.between_host(self, array, upload=False):
            to = _foreign.as_buffer(array, self.device)
            if to is None:
                raise TypeError(f"{type(array).__name__} is not a writable array")
            copies.copy(to, self, stream)

    def fill(self, value: Number, stream: Stream | None = None) -> None:
        """Sets all elements to a value.

        Raises:
            TypeError: The value has the wrong kind, such as a float for an integer type.
            ValueError: The value is out of range, or the memory is read-only.
        """
        copies.fill(self, self._dtype.pack([value]), stream)

    def __setitem__(self, key: Key, value: Any) -> None:
        """Assigns an array or a number to some of the elements. The assignment is done when this returns."""
        part = self if key is Ellipsis else self[key]
        if is_number(value):
            part.fill(value)
        else:
            part.copy_from(value)

    def record_stream(self, stream: Stream) -> None:
        """Announces that work on a stream, such as a kernel, will use the memory by address.

        Call it before the work is queued. The memory is then not reused before that work is done, and copies without a
        stream wait for the work.
        """
        _arguments.expect(stream, Stream, "stream")
        self._memory.check()
        self._memory.uses.begin(stream)

    # To the host

    def numpy(self, *, copy: bool = True) -> numpy.ndarray[Any, Any]:
        """Returns a NumPy array of the elements.

        Args:
            copy: False: the array shares the memory, which must be accessible by the host. The caller must then wait
                for work that is queued later on a stream.

        Raises:
            ImportError: NumPy is not installed, or ml_dtypes is not installed and the type is `bfloat16`.
            BufferError: `copy` is False and the host cannot access the memory.
        """
        if not copy:
            return _shown.as_numpy(self)
        array: numpy.ndarray[Any, Any] = import_numpy().empty(self._shape, to_numpy(self._dtype))
        self.copy_to(array)
        return array

    def tolist(self) -> Any:
        """Returns the elements as nested lists of numbers, or as one number for a buffer of zero dimensions."""
        return _shown.as_list(self)

    def item(self) -> Number:
        """Returns the single element as a number.

        Raises:
            ValueError: The buffer does not have exactly one element.
        """
        if self.size != 1:
            raise ValueError(f"item() needs a buffer of one element, not of {self.size} elements")
        return cast("Number", self.reshape(()).tolist())

    def memoryview(self) -> builtins.memoryview:
        """Returns a `memoryview` that shares the memory.

        From Python 3.12 on, `memoryview(buffer)` does the same.

        Raises:
            BufferError: The host cannot access the memory; or the elements are not contiguous; or `memoryview` does not
                support the element type: `bfloat16`, `complex64`, `complex128`, and `float16` before Python 3.12.
        """
        return _shown.as_memoryview(self)

    def __buffer__(self, flags: int) -> builtins.memoryview:
        """Implements the buffer protocol (PEP 688) for Python 3.12 and newer."""
        if self._readonly and flags & 1:
            raise BufferError("the memory is read-only")
        view = self.memoryview()
        if view.ndim != self.ndim:
            raise BufferError("memoryview does not support this shape")
        return view

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The array interface, from which NumPy creates an array that shares the memory.

        Raises:
            BufferError: The host cannot access the memory, or NumPy does not have the element type.
        """
        return _shown.array_interface(self)

    @property
    def __numpy_dtype__(self) -> Any:
        """The NumPy type of the elements, for `numpy.dtype(buffer)`. NumPy before 2.4 does not read it."""
        return self._dtype.dtype

    def __jax_array__(self) -> Any:
        """Returns a JAX array with a copy of the elements: JAX's arrays never change, and a buffer may."""
        jax = importlib.import_module("jax.numpy")
        return jax.asarray(self.numpy())

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns the DLPack device: `kDLCPU` if the host can access the memory, otherwise `kDLExtDev`."""
        return _dlpack_layout.device_of(self)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Returns a DLPack capsule for `from_dlpack` of another framework.

        Args:
            stream: The native handle of the stream on which the consumer will use the elements. None: the default
                stream. -1: no synchronisation. For host memory, the elements are ready when this returns.
            max_version: The newest DLPack version that the consumer supports.
            dl_device: The device that the consumer requests. None: the device of the buffer. Copies are supported to
                the host only.
            copy: True: always copies. False: never copies. None: copies only if necessary.

        Raises:
            BufferError: The elements are on another device and a copy is not allowed or not supported; or DLPack cannot
                describe the buffer.
            InvalidHandleError: The buffer is closed.
        """
        return dlpack.answer(self, stream, max_version, dl_device, copy)

    # Lifetime

    def close(self) -> None:
        """Frees the memory after the work that uses it, and closes all buffers that share it.

        Does nothing if the buffer is closed already.

        Raises:
            BusyError: An array of another package, such as NumPy, refers to the memory. The buffer stays open.
        """
        self._memory.close()

    def __enter__(self) -> Buffer:
        self._memory.check()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        parts = [f"shape={self._shape}", f"dtype={self._dtype}"]
        if not self._contiguous:
            parts.append(f"strides={self._strides}")
        parts.append(f"device={self.device.name}")
        if self.space != "device":
            parts.append(f"space={self.space}")
        if self._readonly:
            parts.append("read-only")
        if self.closed:
            parts.append("closed")
        return f"<tenon.Buffer {', '.join(parts)}>"

    def __str__(self) -> str:
        """Returns the elements as text, as NumPy prints them. Waits for queued work.

        If the elements cannot be read, or are too many to be copied for this purpose, returns what `repr` does.
        """
        return _shown.as_text(self)

    def __copy__(self) -> Buffer:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Buffer:
        return self.copy()

    if not TYPE_CHECKING:  # Otherwise type checkers would accept every name.

        def __getattr__(self, name: str) -> Any:
            # Python calls this only for names that do not exist.
            hint = _ELSEWHERE.get(name) or _operators.hint(name)
            message = f"a Buffer has no attribute `{name}`" + (f": {hint}" if hint else "")
            raise AttributeError(message, **_named(name, self))

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("cannot pickle a Buffer: its memory belongs to this process. Pickle numpy() or tolist()")


_ELSEWHERE = {
    **dict.fromkeys(("cpu", "get", "copy_to_host", "asnumpy"), "numpy() copies the elements to a NumPy array"),
    **dict.fromkeys(("cuda", "copy_to_device"), "to(device) copies the elements to a device"),
    **dict.fromkeys(("set", "copy_"), "copy_from() copies the elements of an array to the buffer"),
    **dict.fromkeys(("clone",), "copy() makes a copy on the same device"),
    **dict.fromkeys(("astype",), "tenon.ops.cast converts elements"),
    **dict.fromkeys(("numel",), "size is the number of elements"),
    **dict.fromkeys(("zero_",), "fill(0) sets all elements to 0"),
}
"""Names in other packages, and what a buffer has instead."""


def _named(name: str, owner: object) -> dict[str, Any]:
    """Returns the arguments that let Python 3.10 and later suggest a similar name."""
    return {"name": name, "obj": owner} if sys.version_info >= (3, 10) else {}


_SPACES = ("device", "pinned", "unified")
"""The spaces in which a buffer can be allocated."""
_ALONG_THE_FIRST = (int, slice)


def _stream_of(device: Device, stream: Stream | None) -> Stream | None:
    """Returns the stream to allocate on: `stream`, or None if it belongs to another device."""
    if stream is not None:
        _arguments.expect(stream, Stream, "stream")
        if stream.device is device:
            return stream
    return None
