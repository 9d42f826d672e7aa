"""The arrays of a call as tensors of the host, with guards around their memory."""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.typing import DTypeLike, NDArray

from signatures import Size, constants

Array = NDArray[Any]

bfloat16 = np.dtype(ml_dtypes.bfloat16)

# A multiple of every element size and of cache lines.
_GUARD = 64
# Outputs begin with this byte: an element that is not written is seldom right by accident.
_UNSET = 0xA5

_NAMES = {np.dtype(bool): "bool", bfloat16: "bfloat16"}
_SIZED = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
_SIZED += ["float16", "float32", "float64", "complex64", "complex128"]
_NAMES |= {np.dtype(name): name for name in _SIZED}


def code_of(dtype: DTypeLike) -> int:
    """Returns the number of a data type."""
    return constants()[f"diopi_dtype_{_NAMES[np.dtype(dtype)]}"]


def _dtype_of(code: int) -> np.dtype[Any]:
    return next(dtype for dtype in _NAMES if code_of(dtype) == code)


def empty(shape: Sequence[int], dtype: DTypeLike, strides: Sequence[int] | None = None) -> Array:
    """Returns an array without set elements; the strides are in elements."""
    dtype = np.dtype(dtype)
    if strides is None:
        count = int(np.prod(shape, dtype=int))
    else:
        count = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        count = 0 if 0 in shape else count
    memory = np.full(count * dtype.itemsize, _UNSET, np.uint8).view(dtype)
    if strides is None:
        return memory.reshape(shape)
    steps = [step * dtype.itemsize for step in strides]
    return np.lib.stride_tricks.as_strided(memory, shape, steps)


@dataclass(frozen=True)
class Out:
    """A tensor for a result. The call returns it as an array."""

    shape: Sequence[int]
    dtype: DTypeLike
    strides: Sequence[int] | None = None


def like(array: Array, dtype: DTypeLike | None = None) -> Out:
    """Returns a tensor for a result with the shape of an array."""
    return Out(array.shape, array.dtype if dtype is None else dtype)


@dataclass
class _Memory:
    """Memory of the host that arrays share."""

    low: int
    high: int
    arrays: list[Array] = field(default_factory=list)
    written: list[Array] = field(default_factory=list)
    before: Array = field(default_factory=lambda: np.empty(0, np.uint8))
    handle: int | None = None

    def bytes_of(self, array: Array, memory: Array) -> Array:
        """Returns the bytes of the elements of an array, in a copy of the memory."""
        first = _GUARD + array.ctypes.data - self.low
        shape = (*array.shape, array.itemsize)
        return np.lib.stride_tricks.as_strided(memory[first:], shape, (*array.strides, 1))


class Tensors:
    """The tensors of one call."""

    def __init__(self, runtime: ctypes.CDLL) -> None:
        self._runtime = runtime
        self._memories: list[_Memory] = []
        self._handles: dict[int, int] = {}

    def __enter__(self) -> "Tensors":
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles.values():
            self._runtime.host_destroy_tensor(ctypes.c_void_p(handle))

    def place(self, arrays: Sequence[tuple[Array, bool]]) -> None:
        """Makes the tensors of arrays; `True`: the call may write to it.

        Arrays that overlap have common memory.
        """
        bounds = sorted((*byte_bounds(array), n) for n, (array, _) in enumerate(arrays))
        for low, high, number in bounds:
            array, is_written = arrays[number]
            low, high = (array.ctypes.data,) * 2 if array.size == 0 else (low, high)
            last = self._memories[-1] if self._memories else None
            if last is None or low >= last.high:
                last = _Memory(low, high)
                self._memories.append(last)
            last.high = max(last.high, high)
            last.arrays.append(array)
            if is_written:
                last.written.append(array)
        for memory in self._memories:
            self._make(memory)

    def _make(self, memory: _Memory) -> None:
        content = ctypes.string_at(memory.low, memory.high - memory.low)
        guard = bytes([0x5A]) * _GUARD
        memory.before = np.frombuffer(guard + content + guard, np.uint8)
        for array in memory.arrays:
            if id(array) in self._handles:
                continue
            offset, rest = divmod(_GUARD + array.ctypes.data - memory.low, array.itemsize)
            assert rest == 0, "an array is not aligned to its elements"
            shape = (ctypes.c_int64 * array.ndim)(*array.shape)
            steps = [step // array.itemsize for step in array.strides]
            handle = self._runtime.host_make_tensor(
                ctypes.c_void_p(memory.handle),
                code_of(array.dtype),
                constants()["diopi_device"],
                ctypes.c_uint64(len(memory.before)),
                ctypes.c_int64(offset),
                ctypes.c_int64(array.ndim),
                shape,
                (ctypes.c_int64 * array.ndim)(*steps),
            )
            self._handles[id(array)] = handle
            if memory.handle is None:
                memory.handle = handle
                source = ctypes.c_void_p(memory.before.ctypes.data)
                assert self._runtime.host_write(ctypes.c_void_p(handle), source) == 0

    def handle(self, array: Array) -> int:
        """Returns the handle of an array's tensor."""
        return self._handles[id(array)]

    def sparse(self, arrays: Sequence[Array | None]) -> int | None:
        """Makes the tensor of the first array sparse, and returns its handle."""
        handles = [None if array is None else self._handles[id(array)] for array in arrays]
        self._runtime.host_make_sparse(*map(ctypes.c_void_p, handles))
        return handles[0]

    def read(self) -> None:
        """Reads the arrays that the call may write to. Checks that nothing else has changed."""
        for memory in self._memories:
            after = self._content(memory.handle, len(memory.before))
            may_change = np.zeros(len(after), bool)
            for array in memory.written:
                if array.size:
                    memory.bytes_of(array, may_change)[...] = True
            changed = np.flatnonzero((after != memory.before) & ~may_change)
            if changed.size:
                what = "memory around an output" if memory.written else "an input"
                raise AssertionError(f"the call has changed {what}: byte {changed[0] - _GUARD}")
            for array in memory.written:
                if array.size:
                    elements = np.ascontiguousarray(memory.bytes_of(array, after))
                    array[...] = elements.view(array.dtype)[..., 0]

    def _content(self, handle: int | None, count: int) -> Array:
        content = np.empty(count, np.uint8)
        target = ctypes.c_void_p(content.ctypes.data)
        assert self._runtime.host_read(ctypes.c_void_p(handle), target) == 0
        return content

    def made(self, handle: int) -> Array:
        """Returns the content of a tensor that the library has made."""
        tensor = ctypes.c_void_p(handle)
        shape, strides = Size(), Size()
        code, offset, count = ctypes.c_int(), ctypes.c_int64(), ctypes.c_size_t()
        runtime = self._runtime
        for function, place in [
            (runtime.diopiGetTensorShape, shape),
            (runtime.diopiGetTensorStride, strides),
            (runtime.diopiGetTensorDtype, code),
            (runtime.diopiGetTensorStorageOffset, offset),
            (runtime.diopiGetTensorStorageNbytes, count),
        ]:
            assert function(tensor, ctypes.byref(place)) == 0
        dtype = _dtype_of(code.value)
        memory = self._content(handle, count.value).view(dtype)[offset.value :]
        numbers = [list((ctypes.c_int64 * it.len).from_address(it.data)) for it in (shape, strides)]
        steps = [step * dtype.itemsize for step in numbers[1]]
        return np.lib.stride_tricks.as_strided(memory, numbers[0], steps).copy(order="K")
