"""Addresses of Python's own memory.

The functions need no device. An address is a number, and does not keep the object alive: keep the array or the bytes
alive as long as the address is used. The module also keeps the last object of each thread, because programs take the
address of a temporary object and copy from it in the next line.
"""

from __future__ import annotations

import ctypes
import threading
import traceback
from collections.abc import Callable
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

from ._call import absent, arity, contents, parse_failed
from ._message import leave

if TYPE_CHECKING:
    import numpy as np

__getattr__ = absent(__name__)
__dir__ = contents(globals())

_INVALID_PARAM = 100000

_DTYPES = {
    0: "bool", 1: "int8", 2: "uint8", 3: "int16", 4: "uint16", 5: "int32", 6: "uint32", 7: "int64", 8: "uint64",
    11: "float32", 12: "float64", 23: "float16",
}  # fmt: skip
"""The types of elements, by the numbers that NumPy has for them in C."""

_LONGEST = (1 << 31) - 1
"""The maximum number of bytes that ctypes copies at once."""

_asked = threading.local()
"""The object whose address each thread took last."""


def numpy_to_ptr(*args: Any) -> int:
    """numpy_to_ptr(array) -> ptr

    Gets the address of an array's first element.

    The elements are placed by the strides of the array; ``numpy_contiguous_to_ptr`` makes them contiguous.

    Raises:
        TypeError: It is not a NumPy array.
    """
    arity(1, args)
    (array,) = args
    address: int = _array_interface(array)["data"][0]
    _asked.last = array
    return address


def numpy_contiguous_to_ptr(*args: Any) -> tuple[int, Any]:
    """numpy_contiguous_to_ptr(array) -> (ptr, array)

    Gets the address of an array with contiguous elements, in C order.

    Returns:
        ptr: The address.
        array: The array of the address: the same array, or a copy if it was not contiguous. Keep it alive as long as
            the address is used.

    Raises:
        TypeError: It is not a NumPy array.
    """
    arity(1, args)
    (array,) = args
    if _array_interface(array)["strides"] is not None:
        array = array.copy(order="C")
    return numpy_to_ptr(array), array


def _array_interface(array: Any) -> dict[str, Any]:
    found = getattr(array, "__array_interface__", None)
    if not isinstance(found, dict):
        raise TypeError(f"a NumPy array is expected, not {type(array).__name__}")
    return found


def ptr_to_numpy(*args: Any) -> np.ndarray[Any, Any]:
    """ptr_to_numpy(ptr, shape, npy_type) -> array

    Returns a view of host memory as an array.

    The array does not copy the memory or keep it alive.

    Args:
        ptr: Address of the first element, on the host.
        shape: A tuple of lengths.
        npy_type: Type of an element as NumPy numbers it in C: 0 bool, 1 int8, 2 uint8, 3 int16, 4 uint16,
            5 int32, 6 uint32, 7 int64, 8 uint64, 11 float32, 12 float64, 23 float16.

    Raises:
        TypeError: The shape is not a tuple of lengths, or the type does not exist.
        ValueError: The address is null.
        ImportError: NumPy is not installed.
    """
    arity(3, args)
    pointer, shape, code = args
    try:
        pointer, code = index(pointer), index(code)
        lengths = [index(length) for length in shape]
    except TypeError:
        raise parse_failed(ptr_to_numpy) from None
    if not isinstance(shape, tuple) or min(lengths, default=0) < 0 or code not in _DTYPES:
        raise parse_failed(ptr_to_numpy)
    try:
        import numpy as np
    except ImportError:
        raise ImportError("acl.util.ptr_to_numpy needs NumPy: pip install numpy") from None
    dtype: np.dtype[Any] = np.dtype(_DTYPES[code])
    size = prod(lengths) * dtype.itemsize
    memory = (ctypes.c_uint8 * size).from_address(_address(pointer))
    array: np.ndarray[Any, Any] = np.frombuffer(memoryview(memory), dtype=dtype).reshape(lengths)
    return array


def bytes_to_ptr(*args: Any) -> int:
    """bytes_to_ptr(data) -> ptr

    Gets the address of the content of ``bytes``.

    A write there changes an object that Python treats as immutable. Programs do this to receive data without a copy;
    do it only with ``bytes`` that were created for that and that no other code uses.

    Raises:
        TypeError: It is not ``bytes``.
    """
    arity(1, args)
    (data,) = args
    if not isinstance(data, bytes):
        raise parse_failed(bytes_to_ptr)
    _asked.last = data
    return ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value or 0


def ptr_to_bytes(*args: Any) -> bytes:
    """ptr_to_bytes(ptr, size) -> data

    Copies memory of the host into new ``bytes``.

    Args:
        ptr: The address.
        size: Length in bytes.

    Raises:
        TypeError: One of them is not a number.
        ValueError: The address is null, or the length is negative.
        OverflowError: The length exceeds 2^31 - 1 bytes, or the address 64 bits.
    """
    arity(2, args)
    try:
        pointer, size = map(index, args)
    except TypeError:
        raise parse_failed(ptr_to_bytes) from None
    if size < 0:
        raise ValueError("the size is negative")
    if size > _LONGEST:
        raise OverflowError(f"acl.util.ptr_to_bytes: {size} is not in the range from 0 to {_LONGEST}")
    return ctypes.string_at(_address(pointer), size)


def _address(pointer: int) -> int:
    if not -1 << 63 <= pointer < 1 << 64:
        raise OverflowError(f"{pointer:#x} has more than 64 bits, so it is no address")
    address = pointer & (1 << 64) - 1
    if address == 0:
        raise ValueError("the address is null")
    return address


class _Worker(threading.Thread):
    """A thread that stays alive after its function has returned, until it is released, so that its id stays unique.

    It does not delay the end of the process.
    """

    def __init__(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> None:
        super().__init__(daemon=True, name="acl.util.start_thread")
        self._work = [(function, arguments)]
        self._returned = threading.Event()
        self._let_go = threading.Event()
        self._failure: BaseException | None = None

    def run(self) -> None:
        function, arguments = self._work.pop()
        try:
            function(*arguments)
        except BaseException as failure:  # noqa: BLE001 - the caller that stops the thread gets it
            # The thread may never be stopped, so the failure is also printed.
            traceback.print_exception(type(failure), failure, failure.__traceback__)
            self._failure = failure
        del function, arguments
        self._returned.set()
        self._let_go.wait()

    def finish(self) -> BaseException | None:
        """Waits for the function, ends the thread, and returns the exception that the function raised."""
        self._returned.wait()
        self._let_go.set()
        self.join()
        return self._failure


_workers: dict[int, _Worker] = {}


def start_thread(*args: Any) -> tuple[int, int]:
    """start_thread(function, args_list) -> (thread_id, ret)

    Starts a thread.

    An exception of the function is printed when it occurs, and raised again by ``stop_thread``.

    Args:
        function: The function to run. It is called with the list as its argument, or without one if the list is None.
        args_list: A list, any other object, or None.

    Returns:
        thread_id: Number of the thread, as ``acl.rt.subscribe_report`` takes it.
        ret: 0.

    Raises:
        TypeError: The function cannot be called.
    """
    arity(2, args)
    function, arguments = args
    if not callable(function):
        raise TypeError("parameter must be callable")
    worker = _Worker(function, () if arguments is None else (arguments,))
    worker.start()
    number = worker.ident or 0
    _workers[number] = worker
    return number, 0


def stop_thread(*args: Any) -> int:
    """stop_thread(thread_id) -> ret

    Waits for the end of a thread.

    It does not make the thread end: its function has to return. Other Python threads can run during the wait.

    Args:
        thread_id: A number that ``start_thread`` returned.

    Returns:
        ret: 0 on success. 100000 ``ACL_ERROR_INVALID_PARAM``: there is no such thread, or it was already stopped.

    Raises:
        RuntimeError: The function of the thread raised an exception, which is the cause of this one.
    """
    arity(1, args)
    try:
        number = index(args[0])
    except TypeError:
        raise parse_failed(stop_thread) from None
    worker = None if number == threading.get_ident() else _workers.pop(number, None)
    if worker is None:
        leave(f"acl.util.stop_thread: {number} is the calling thread, or not a running thread of start_thread")
        return _INVALID_PARAM
    failure = worker.finish()
    if failure is not None:
        raise RuntimeError(f"the function of thread {number} failed: {failure!r}") from failure
    return 0
