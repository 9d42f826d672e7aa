"""Memory: allocation, refused calls, and all kinds of copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import acl

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)
INVALID_PARAM = 100000
RT_PARAM_INVALID = 107000
FEATURE_NOT_SUPPORTED = 207000


def address(array: NDArray[Any]) -> int:
    pointer = array.ctypes.data
    assert isinstance(pointer, int)
    return pointer


def to_device(array: NDArray[Any]) -> int:
    pointer, ret = acl.rt.malloc(array.nbytes, 0)
    assert ret == 0
    assert acl.rt.memcpy(pointer, array.nbytes, address(array), array.nbytes, HOST_TO_DEVICE) == 0
    return pointer


def to_host(pointer: int, like: NDArray[Any]) -> NDArray[Any]:
    array = np.empty_like(like)
    assert acl.rt.memcpy(address(array), array.nbytes, pointer, array.nbytes, DEVICE_TO_HOST) == 0
    return array


def test_memory_is_freed_once(device: int) -> None:
    pointer, _ = acl.rt.malloc(64, 0)
    assert acl.rt.free(pointer) == 0
    assert acl.rt.free(pointer) != 0
    host, _ = acl.rt.malloc_host(64)
    assert acl.rt.free_host(host) == 0
    assert acl.rt.free_host(host) != 0


def test_allocation_larger_than_the_memory_fails(device: int) -> None:
    pointer, ret = acl.rt.malloc(1 << 60, 0)
    assert (pointer, ret) == (0, 207001) or (pointer, ret) == (0, 207018)
    pointer, ret = acl.rt.malloc((1 << 64) - 1, 0)
    assert pointer == 0
    assert ret != 0


def test_copy_to_the_device_and_back(device: int) -> None:
    array = np.arange(1000, dtype=np.int32)
    first = to_device(array)
    second, _ = acl.rt.malloc(array.nbytes, 0)
    assert acl.rt.memcpy(second, array.nbytes, first, array.nbytes, DEVICE_TO_DEVICE) == 0
    assert (to_host(second, array) == array).all()
    other = np.zeros_like(array)
    assert acl.rt.memcpy(address(other), other.nbytes, address(array), array.nbytes, HOST_TO_HOST) == 0
    assert (other == array).all()
    other[:] = 0
    assert acl.rt.memcpy(address(other), other.nbytes, second, array.nbytes, DEFAULT) == 0
    assert (other == array).all()
    assert acl.rt.free(first) == acl.rt.free(second) == 0


def test_copy_larger_than_the_destination_fails(device: int) -> None:
    array = np.zeros(16, dtype=np.uint8)
    pointer = to_device(array)
    assert acl.rt.memcpy(pointer, 8, address(array), 16, HOST_TO_DEVICE) == RT_PARAM_INVALID
    assert acl.rt.memcpy(0, 16, address(array), 16, HOST_TO_DEVICE) == INVALID_PARAM
    assert acl.rt.memcpy(pointer, 16, 0, 16, HOST_TO_DEVICE) == INVALID_PARAM
    assert acl.rt.memcpy(pointer, 16, address(array), 0, HOST_TO_DEVICE) == 0
    assert acl.rt.memcpy(pointer, 16, address(array), 16, 99) != 0
    assert acl.rt.free(pointer) == 0


def test_bytes_are_set(device: int, stream: int) -> None:
    array = np.zeros(256, dtype=np.uint8)
    pointer = to_device(array)
    assert acl.rt.memset(pointer, 256, 0xAB, 100) == 0
    assert acl.rt.memset_async(pointer + 100, 156, 0x17, 50, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    array[:100], array[100:150] = 0xAB, 0x17
    assert (to_host(pointer, array) == array).all()
    assert acl.rt.memset(pointer, 10, 0, 11) != 0
    assert acl.rt.free(pointer) == 0


def test_rows_are_copied(device: int, stream: int) -> None:
    """Rows of 5 bytes out of rows of 8, into rows of 6."""
    source = np.arange(32, dtype=np.uint8).reshape(4, 8)
    target = np.zeros((4, 6), dtype=np.uint8)
    memory = to_device(target)
    assert acl.rt.memcpy2d(memory, 6, address(source), 8, 5, 4, HOST_TO_DEVICE) == 0
    target[:, :5] = source[:, :5]
    assert (to_host(memory, target) == target).all()
    back = np.zeros((4, 8), dtype=np.uint8)
    copied = acl.rt.memcpy2d_async(address(back), 8, memory, 6, 5, 4, DEVICE_TO_HOST, stream)
    assert copied == acl.rt.synchronize_stream(stream) == 0
    assert (back[:, :5] == source[:, :5]).all()
    assert (back[:, 5:] == 0).all()
    assert acl.rt.memcpy2d(memory, 4, address(source), 8, 5, 4, HOST_TO_DEVICE) != 0, "rows overlap"
    assert acl.rt.free(memory) == 0


def test_many_copies(device: int, stream: int) -> None:
    """As benchmark programs do: a thousand rounds through one pair of buffers."""
    array = np.random.default_rng(7).integers(0, 255, 4096, dtype=np.uint8)
    host, _ = acl.rt.malloc_host(array.nbytes)
    memory, _ = acl.rt.malloc(array.nbytes, 2)
    view = acl.util.ptr_to_numpy(host, array.shape, 2)
    for number in range(1000):
        view[:] = array + np.uint8(number % 251)
        assert acl.rt.memcpy_async(memory, 4096, host, 4096, HOST_TO_DEVICE, stream) == 0
        assert acl.rt.synchronize_stream(stream) == 0
        view[:] = 0
        assert acl.rt.memcpy_async(host, 4096, memory, 4096, DEVICE_TO_HOST, stream) == 0
        assert acl.rt.synchronize_stream(stream) == 0
        assert (view == array + np.uint8(number % 251)).all()
    assert acl.rt.free(memory) == acl.rt.free_host(host) == 0
