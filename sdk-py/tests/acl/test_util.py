"""`acl.util`: addresses of Python memory, and Python views of addresses."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import acl
from support import Program, silent

util: Any = acl.util
"""The same module, typed as `Any` for calls that a type checker would reject."""

CODES = [
    (0, np.bool_), (1, np.int8), (2, np.uint8), (3, np.int16), (4, np.uint16), (5, np.int32),
    (6, np.uint32), (7, np.int64), (8, np.uint64), (11, np.float32), (12, np.float64), (23, np.float16),
]  # fmt: skip


def test_the_address_of_an_array() -> None:
    array = np.arange(6, dtype=np.int32)
    assert acl.util.numpy_to_ptr(array) == array.ctypes.data
    assert acl.util.numpy_to_ptr(array[2:]) == array.ctypes.data + 8
    with pytest.raises(TypeError):
        util.numpy_to_ptr([1, 2, 3])


def test_array_that_is_not_contiguous_is_copied() -> None:
    array = np.arange(12).reshape(3, 4)
    pointer, same = acl.util.numpy_contiguous_to_ptr(array)
    assert (pointer, same is array) == (array.ctypes.data, True)
    pointer, copy = acl.util.numpy_contiguous_to_ptr(array.T)
    assert pointer == copy.ctypes.data != array.ctypes.data
    assert (copy == array.T).all()


@pytest.mark.parametrize(("code", "dtype"), CODES)
def test_a_view_of_an_address(code: int, dtype: type) -> None:
    array: NDArray[Any] = np.arange(6).astype(dtype).reshape(2, 3)
    view = acl.util.ptr_to_numpy(array.ctypes.data, (2, 3), code)
    assert (view.dtype, view.shape) == (array.dtype, (2, 3))
    assert (view == array).all()
    view[1, 2] = 0
    assert array[1, 2] == 0, "it is the same memory"


def test_invalid_views() -> None:
    with pytest.raises(TypeError):
        util.ptr_to_numpy(1, [2], 5)
    with pytest.raises(TypeError):
        acl.util.ptr_to_numpy(8, (2,), 99)


def test_bytes_and_addresses() -> None:
    data = b"some bytes of a program"
    pointer = acl.util.bytes_to_ptr(data)
    assert acl.util.ptr_to_bytes(pointer, len(data)) == data
    assert acl.util.ptr_to_bytes(pointer + 5, 5) == b"bytes"
    target = bytes(bytearray(16))
    ctypes.memset(acl.util.bytes_to_ptr(target), 7, 16)
    assert target == b"\x07" * 16, "samples write into bytes"
    with pytest.raises(TypeError):
        util.bytes_to_ptr("text")


def test_numpy_numbers_are_accepted() -> None:
    array = np.arange(6, dtype=np.int32)
    pointer, two, three = np.uint64(array.ctypes.data), np.int64(2), np.int16(3)
    view = util.ptr_to_numpy(pointer, (two, three), np.int8(5))
    assert (view == array.reshape(2, 3)).all()
    assert util.ptr_to_bytes(pointer, np.int32(4)) == bytes(4)
    tid, ret = util.start_thread(int, None)
    assert (ret, util.stop_thread(np.uint64(tid))) == (0, 0)


@pytest.mark.parametrize("wrong", [1.0, np.float32(1), None, "1", [1]], ids=repr)
def test_object_that_is_not_a_number_is_an_error(wrong: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: util.ptr_to_bytes(wrong, 1),
        lambda: util.ptr_to_bytes(1, wrong),
        lambda: util.ptr_to_numpy(wrong, (1,), 1),
        lambda: util.ptr_to_numpy(1, (wrong,), 1),
        lambda: util.ptr_to_numpy(1, wrong, 1),
        lambda: util.ptr_to_numpy(1, (1,), wrong),
        lambda: util.ptr_to_numpy(1, (-1,), 1),
        lambda: util.stop_thread(wrong),
    ]
    for call in calls:
        with pytest.raises(TypeError, match=r"^acl\.util\.\w+ args parse failed$"):
            call()


def test_temporary_lives_until_the_next_address(program: Program) -> None:
    """Memory of this size returns to the system with its owner, and a later read ends the process."""
    done = program("""
        import numpy, weakref, acl
        size = 8 << 20
        pointer = acl.util.bytes_to_ptr(bytes(size))
        print(acl.util.ptr_to_bytes(pointer, size) == bytes(size))
        pointer = acl.util.numpy_to_ptr(numpy.ones(size, "uint8"))
        print(acl.util.ptr_to_bytes(pointer, size) == bytes([1]) * size)
        array = numpy.zeros(3)
        alive = weakref.ref(array)
        acl.util.numpy_to_ptr(array)
        del array
        before = alive() is not None
        acl.util.bytes_to_ptr(b"next")
        print(before, alive())
    """)
    assert silent(done, "True\nTrue\nTrue None")


def test_half_precision() -> None:
    for number in (0.0, 1.0, -2.5, 65504.0, 6e-8):
        bits = acl.float_to_float16(number)
        assert bits == int(np.float16(number).view(np.uint16))
        assert acl.float16_to_float(bits) == float(np.float16(number))
