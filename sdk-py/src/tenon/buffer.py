"""Buffers: arrays in the memory of a device, in pinned or unified memory, or borrowed from the host."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, cast

from tenon import _arguments, _foreign, _layout, _shown, copies, dlpack
from tenon._memory import Borrowed, Memory, Passing
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


class Buffer:
    """An array of elements of one type, with a shape and strides.

    `tenon.empty`, `zeros`, `full` and `Buffer.from_array` make buffers in the memory of a device,
    `tenon.pinned` and `unified` in memory of the host that the device reaches by itself, and
    `tenon.from_dlpack` makes one of somebody else's memory.

    Numbers, slices, `...` and None index it, as in NumPy; what comes out is a buffer over the same
    memory, also for one element. The memory stays as long as a buffer or somebody's array over it
    does, and `close` gives it back at once.

    Copies and fills without a stream wait: for the streams that use the memory, and for themselves.
    With a stream they are queued. The order of several streams is the caller's, by events; only that
    on which the memory was allocated comes before the others by itself.

    A buffer is equal to itself alone: `tolist` or `numpy` give elements to compare. One with a single
    element is true, and a number, as that element is.

    Threads:
        Any thread may use any buffer. Who writes while another one reads is the program's to settle.
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

    # NumPy must not take it for a sequence and go through it one by one.
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
        """Allocates; the content is undefined. See `tenon.empty`."""
        of = _dtype_of(dtype)
        lengths = _layout.shape_of(shape, of.itemsize)
        if space not in _SPACES:
            raise ValueError(f"the space of a buffer is one of {', '.join(_SPACES)}, not {space!r}")
        if stream is not None:
            _arguments.expect(stream, Stream, "stream")
            found = stream.device
            if device is not None and resolve(device) is not found:
                raise ValueError(f"the stream is of {found.name}, not of {resolve(device).name}")
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
        """A buffer over memory that is there; it is contiguous also if that is only seen here."""
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
        """Makes a buffer on a device with the elements of an array.

        Args:
            array: Anything with `__array_interface__`, the buffer protocol or DLPack, such as a NumPy array; a number;
                or numbers in lists.
            device: The device, or its name; None: that of the stream, or the current one.
            stream: A stream on which the copy is queued; None: it is done when this returns.
            dtype: The type of elements for numbers, which is chosen as NumPy does if it is None. An array has to be of
                this type, if one is given.

        Raises:
            TypeError: It is no array, or its elements have no type here.
            OutOfMemoryError: The device has not so much memory.
        """
        of = None if dtype is None else _dtype_of(dtype)
        if stream is not None:
            _arguments.expect(stream, Stream, "stream")
        near = resolve(device) if stream is None else stream.device
        source = array if isinstance(array, Buffer) else _foreign.source(array, of, near)
        if of is not None and source._dtype is not of:
            raise TypeError(f"the array is of {source._dtype}, not {of}")
        buffer = cls(source._shape, source._dtype, device, stream)
        copies.copy(buffer, source, stream)
        return buffer

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements in each dimension."""
        return self._shape

    @property
    def strides(self) -> tuple[int, ...]:
        """How far it is from one element to the next in each dimension, in bytes."""
        return self._strides

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
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
        """Length of an element in bytes."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Length of all elements in bytes, without gaps between them."""
        return self._nbytes

    @property
    def device(self) -> Device:
        """The device whose memory it is, or that reaches it."""
        return self._memory.device

    @property
    def space(self) -> Space:
        """What memory it is: `device`, `pinned`, `unified`, or `host` where it is borrowed from the host."""
        return self._memory.space

    @property
    def host_accessible(self) -> bool:
        """Whether the host may read and write it by address."""
        return self._memory.host_accessible

    @property
    def readonly(self) -> bool:
        """Whether it must not be written, which is so of borrowed memory that its owner does not give for writing."""
        return self._readonly

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie one behind the other, the last index first, as in C."""
        return self._contiguous

    @property
    def ptr(self) -> int:
        """The address of the first element, for native functions. Whoever uses it calls `record_stream` for streams.

        Raises:
            InvalidHandleError: The buffer is closed.
        """
        self._memory.check()
        return self._ptr

    @property
    def closed(self) -> bool:
        """Whether its memory was given back."""
        return self._memory.closed

    @property
    def _extent(self) -> tuple[int, int]:
        """Where its memory begins and ends."""
        if self._contiguous:
            return self._ptr, self._ptr + self._nbytes
        begin, end = _layout.span(self._shape, self._strides, self._dtype.itemsize)
        return self._ptr + begin, self._ptr + end

    # Views

    def __getitem__(self, key: Key) -> Buffer:
        """A view of some of the elements.

        Raises:
            IndexError: A number is out of range, or there are too many.
            TypeError: A list, an array or a mask does not index a buffer.
        """
        self._memory.check()
        if key.__class__ in _ALONG_THE_FIRST and self._shape:
            return self._first(key)
        offset, (shape, strides) = _layout.indexed(self._shape, self._strides, key)
        return Buffer._of(self._memory, self._ptr + offset, shape, strides, self._dtype, self._readonly)

    def _first(self, key: Any) -> Buffer:
        """A view of some rows, or of one; quicker than any other index."""
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
        # By its length it would be true whatever is in it.
        if self.size != 1:
            raise ValueError(f"{self.size} elements are neither true nor false: ask for size, or for one item()")
        return bool(self.item())

    # Without these, numbers would be read from its bytes, as from a text.

    def __int__(self) -> int:
        return int(cast("Any", self.item()))

    def __float__(self) -> float:
        return float(cast("Any", self.item()))

    def __complex__(self) -> complex:
        return complex(self.item())

    # Rows are compared by identity, so that the answer would be no.
    __contains__ = None

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("a buffer without dimensions has no length")
        return self._shape[0]

    def __iter__(self) -> Iterator[Buffer]:
        return (self[place] for place in range(len(self)))

    def reshape(self, *shape: ShapeLike) -> Buffer:
        """A view in another shape, in which one -1 stands for what is left.

        Raises:
            ValueError: There are not as many elements; or they would have to be moved: `contiguous` makes a copy.
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
        """A view with one dimension. Raises what `reshape` does."""
        return self.reshape(-1)

    flat = property(ravel, doc="The same as `ravel()`.")

    def transpose(self, *axes: ShapeLike) -> Buffer:
        """A view with the dimensions in another order; without one, the other way round.

        Raises:
            TypeError: There is something else than numbers.
            ValueError: The order does not name each dimension once.
        """
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        return self._viewed(*_layout.transposed(self._shape, self._strides, cast("Sequence[int]", order)))

    T = property(transpose, doc="The same as `transpose()`.")

    def view(self, dtype: DTypeLike) -> Buffer:
        """The same bytes as elements of another type. The last dimension changes with the length of an element.

        Raises:
            ValueError: The last dimension is not contiguous, or no whole number of elements.
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
        """A contiguous buffer of the same shape and type in the same memory; if it is borrowed, in the device's."""
        space: Space = "device" if self.space == "host" else self.space
        return Buffer(self._shape, self._dtype, self.device, _stream_of(self.device, stream), space=space)

    def copy(self, stream: Stream | None = None) -> Buffer:
        """A contiguous buffer with the same elements, in memory as `empty_like` says."""
        copied = self.empty_like(stream)
        copies.copy(copied, self, stream)
        return copied

    def contiguous(self, stream: Stream | None = None) -> Buffer:
        """The buffer itself, if its elements lie one behind the other; else a copy."""
        return self if self._contiguous else self.copy(stream)

    def to(self, device: Device | str, stream: Stream | None = None) -> Buffer:
        """The buffer itself, if it is in memory of that device; else a copy there."""
        wanted = resolve(device)
        if self.device is wanted and self.space == "device":
            return self
        copied = Buffer(self._shape, self._dtype, wanted, _stream_of(wanted, stream))
        copies.copy(copied, self, stream)
        return copied

    def copy_from(self, array: Any, stream: Stream | None = None) -> None:
        """Copies the elements of an array into this one.

        Memory of the host that a queued copy reads is kept until the stream has passed; whoever changes it before may
        change what arrives. From and to pinned memory nothing waits. From other memory the call may wait until the
        stream has come to it.

        Args:
            array: A buffer, or what `from_array` takes, of the same shape and type.
            stream: The stream on which it is queued, of the device of either side; None: it is done when this returns.

        Raises:
            ValueError: The shapes differ, this one is read-only, or the stream is of another device.
            TypeError: The types of elements differ.
            DeviceError: The copy failed, or work that it waited for.
        """
        if isinstance(array, Buffer):
            copies.copy(self, array, stream)
        elif stream is not None or not copies.between_host(self, array, upload=True):
            copies.copy(self, _foreign.source(array, self._dtype, self.device), stream)

    def copy_to(self, array: Any, stream: Stream | None = None) -> None:
        """Copies the elements into an array. Memory of the host that a queued copy writes is kept, too.

        Args:
            array: A buffer, or an array that can be written, of the same shape and type.
            stream: As with `copy_from`. What is in the array before the stream has passed is undefined.

        Raises:
            ValueError, TypeError, DeviceError: As with `copy_from`.
        """
        if isinstance(array, Buffer):
            copies.copy(array, self, stream)
        elif stream is not None or not copies.between_host(self, array, upload=False):
            to = _foreign.as_buffer(array, self.device)
            if to is None:
                raise TypeError(f"{type(array).__name__} is no array that could be written")
            copies.copy(to, self, stream)

    def fill(self, value: Number, stream: Stream | None = None) -> None:
        """Writes a value to all elements.

        Raises:
            TypeError: The value is of the wrong kind, such as a float for integers.
            ValueError: It is out of range, or the memory is read-only.
        """
        copies.fill(self, self._dtype.pack([value]), stream)

    def __setitem__(self, key: Key, value: Any) -> None:
        """Copies an array, or a number, into some of the elements; done when it returns."""
        part = self if key is Ellipsis else self[key]
        if is_number(value):
            part.fill(value)
        else:
            part.copy_from(value)

    def record_stream(self, stream: Stream) -> None:
        """Tells that work on a stream, such as a kernel, is about to use the memory by its address.

        It is called before the work is queued. The memory is then not given to anybody else before the stream has
        passed, and copies without a stream wait for it.
        """
        _arguments.expect(stream, Stream, "stream")
        self._memory.check()
        self._memory.uses.begin(stream)

    # To the host

    def numpy(self, *, copy: bool = True) -> numpy.ndarray[Any, Any]:
        """A NumPy array of the elements.

        Args:
            copy: False: an array over the same memory, for which the memory has to be accessible by the host. What
                is queued later on a stream is then the caller's to wait for.

        Raises:
            ImportError: NumPy is not there; or, for `bfloat16`, the package ml_dtypes.
            BufferError: The host has no access, and `copy` is false.
        """
        if not copy:
            return _shown.as_numpy(self)
        array: numpy.ndarray[Any, Any] = import_numpy().empty(self._shape, to_numpy(self._dtype))
        self.copy_to(array)
        return array

    def tolist(self) -> Any:
        """The elements as numbers in lists, or as one number if there is no dimension."""
        return _shown.as_list(self)

    def item(self) -> Number:
        """The one element as a number.

        Raises:
            ValueError: There are none, or several.
        """
        if self.size != 1:
            raise ValueError(f"{self.size} elements are not one number")
        return cast("Number", self.reshape(()).tolist())

    def memoryview(self) -> builtins.memoryview:
        """A view of the elements for the buffer protocol, over the same memory.

        From Python 3.12 on `memoryview(buffer)` does the same.

        Raises:
            BufferError: The host has no access; or the elements are not contiguous, or of a type that the protocol has
                no name for: `bfloat16`, `complex64`, `complex128`, and `float16` before Python 3.12.
        """
        return _shown.as_memoryview(self)

    def __buffer__(self, flags: int) -> builtins.memoryview:
        """What `memoryview(buffer)` calls from Python 3.12 on."""
        if self._readonly and flags & 1:
            raise BufferError("the memory is read-only")
        view = self.memoryview()
        if view.ndim != self.ndim:
            raise BufferError("a memory view cannot have this shape")
        return view

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """What NumPy reads to make an array over the same memory.

        Raises:
            BufferError: The host has no access, or NumPy has no such type.
        """
        return _shown.array_interface(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The device in DLPack's numbers: the CPU where the host has access, else a device without a number."""
        return dlpack.device_of(self)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """A capsule for `from_dlpack` of another framework.

        Args:
            stream: The native handle of the stream on which the consumer will use the elements; None: the default
                stream; -1: nothing is waited for. On the host the elements are ready when this returns.
            max_version: The newest version that the consumer understands.
            dl_device: The device where the consumer wants them; None: where they are. A copy can be made to the host.
            copy: True: always a copy; False: never; None: where there is no other way.

        Raises:
            BufferError: They are not there where they are wanted, and a copy is not; or the consumer cannot be told
                what they are.
            InvalidHandleError: The buffer is closed.
        """
        return dlpack.answer(self, stream, max_version, dl_device, copy)

    # Life

    def close(self) -> None:
        """Gives the memory back, behind the work that uses it; buffers over it are closed. Does nothing if they are.

        Raises:
            BusyError: An array of somebody else's, such as NumPy's, points into the memory, which stays.
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

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("cannot pickle a Buffer: its memory is of this process. Pickle numpy() or tolist()")


_SPACES = ("device", "pinned", "unified")
"""Where memory is made."""
_ALONG_THE_FIRST = (int, slice)


def _stream_of(device: Device, stream: Stream | None) -> Stream | None:
    """The stream to allocate on, where the one of a copy may be of the other device."""
    if stream is not None:
        _arguments.expect(stream, Stream, "stream")
        if stream.device is device:
            return stream
    return None
