"""Memory and copies: the error code of each invalid call, and kinds of copies that must match the addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import acl
from support import Program

HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, DEFAULT = range(5)
HOST_TO_BUF_TO_DEVICE, INNER_DEVICE, INTER_DEVICE = 5, 6, 7
INVALID_PARAM = 100000
RT_PARAM_INVALID = 107000
FEATURE_NOT_SUPPORTED = 207000
SIZE = 256


class Memory(NamedTuple):
    """Two allocations on the device, pinned memory, and memory of the program."""

    first: int
    second: int
    pinned: int
    plain: int


@pytest.fixture
def memory(device: int) -> Iterator[Memory]:
    plain = np.zeros(SIZE, dtype=np.uint8)
    made = [acl.rt.malloc(SIZE, 0), acl.rt.malloc(SIZE, 0), acl.rt.malloc_host(SIZE)]
    assert [ret for _, ret in made] == [0, 0, 0]
    first, second, pinned = (pointer for pointer, _ in made)
    yield Memory(first, second, pinned, plain.ctypes.data)
    assert acl.rt.free(first) == acl.rt.free(second) == acl.rt.free_host(pinned) == 0


def fill(address: int, value: int) -> None:
    data = np.full(SIZE, value, dtype=np.uint8)
    assert acl.rt.memcpy(address, SIZE, data.ctypes.data, SIZE, DEFAULT) == 0


def content(address: int) -> bytes:
    data = np.zeros(SIZE, dtype=np.uint8)
    assert acl.rt.memcpy(data.ctypes.data, SIZE, address, SIZE, DEFAULT) == 0
    return data.tobytes()


PATHS = [
    (HOST_TO_HOST, "plain", "pinned"),
    (HOST_TO_HOST, "pinned", "plain"),
    (HOST_TO_DEVICE, "first", "plain"),
    (HOST_TO_DEVICE, "first", "pinned"),
    (HOST_TO_BUF_TO_DEVICE, "first", "pinned"),
    (DEVICE_TO_HOST, "plain", "first"),
    (DEVICE_TO_HOST, "pinned", "first"),
    (DEVICE_TO_DEVICE, "second", "first"),
    (INNER_DEVICE, "second", "first"),
    (DEFAULT, "first", "plain"),
    (DEFAULT, "plain", "first"),
    (DEFAULT, "second", "first"),
    (DEFAULT, "plain", "pinned"),
]


@pytest.mark.parametrize(("kind", "to", "source"), PATHS)
def test_copy_of_every_kind(memory: Memory, kind: int, to: str, source: str) -> None:
    dst, src = getattr(memory, to), getattr(memory, source)
    fill(src, 7)
    fill(dst, 0)
    assert acl.rt.memcpy(dst, SIZE, src, SIZE, kind) == 0
    assert content(dst) == b"\7" * SIZE
    fill(src, 9)
    ret = acl.rt.memcpy_async(dst, SIZE, src, SIZE, kind, 0)
    if {to, source} == {"plain", "pinned"}:
        assert ret == FEATURE_NOT_SUPPORTED
    else:
        assert ret == acl.rt.synchronize_stream(0) == 0
        assert content(dst) == b"\x09" * SIZE


@pytest.mark.parametrize("kind", [HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE])
def test_addresses_determine_the_direction(memory: Memory, kind: int) -> None:
    fill(memory.first, 3)
    fill(memory.second, 0)
    assert acl.rt.memcpy(memory.second, SIZE, memory.first, SIZE, kind) == 0
    assert content(memory.second) == b"\3" * SIZE


@pytest.mark.parametrize("kind", [-1, 8, 99])
def test_unknown_kind_is_refused(memory: Memory, kind: int) -> None:
    assert acl.rt.memcpy(memory.first, SIZE, memory.plain, SIZE, kind) != 0
    assert acl.rt.memcpy_async(memory.first, SIZE, memory.plain, SIZE, kind, 0) != 0
    assert acl.rt.memcpy2d(memory.first, 16, memory.plain, 16, 16, 4, kind) != 0


Call = Callable[[int, int, int, int], int]
"""Arguments of a copy: destination, its size, source, length."""

COPIES: list[Any] = [
    pytest.param(lambda dst, room, src, count: acl.rt.memcpy(dst, room, src, count, HOST_TO_DEVICE), id="memcpy"),
    pytest.param(
        lambda dst, room, src, count: acl.rt.memcpy_async(dst, room, src, count, HOST_TO_DEVICE, 0), id="memcpy_async"
    ),
]


@pytest.mark.parametrize("copy", COPIES)
def test_invalid_copies(memory: Memory, copy: Call) -> None:
    first, plain = memory.first, memory.plain
    assert copy(0, SIZE, plain, SIZE) == copy(first, SIZE, 0, SIZE) == INVALID_PARAM
    assert copy(first, SIZE - 1, plain, SIZE) == RT_PARAM_INVALID, "more than there is room for"
    assert copy(first, SIZE, plain, 0) == 0, "nothing to copy"
    assert acl.rt.synchronize_stream(0) == 0


FILLS: list[Any] = [
    pytest.param(lambda dst, room, count: acl.rt.memset(dst, room, 1, count), id="memset"),
    pytest.param(lambda dst, room, count: acl.rt.memset_async(dst, room, 1, count, 0), id="memset_async"),
]


@pytest.mark.parametrize("fill_some", FILLS)
def test_invalid_fills(memory: Memory, fill_some: Callable[[int, int, int], int]) -> None:
    assert fill_some(0, SIZE, SIZE) == INVALID_PARAM
    assert fill_some(memory.first, SIZE - 1, SIZE) == RT_PARAM_INVALID
    assert fill_some(memory.first, SIZE, 0) == 0
    assert acl.rt.synchronize_stream(0) == 0


def test_a_fill_takes_the_lowest_byte(memory: Memory) -> None:
    assert acl.rt.memset(memory.first, SIZE, 0x1FF, SIZE) == 0
    assert content(memory.first) == b"\xff" * SIZE
    assert acl.rt.memset(memory.first, SIZE, -2, SIZE) == 0
    assert content(memory.first) == b"\xfe" * SIZE


ALLOCATIONS: list[Any] = [acl.rt.malloc, acl.rt.malloc_align32, acl.rt.malloc_cached]


@pytest.mark.parametrize("allocate", ALLOCATIONS)
@pytest.mark.parametrize("policy", [0, 1, 2, 3, 4, 5, 6, 7, 0x100, 0x1000])
def test_allocation_with_every_policy(
    device: int, allocate: Callable[[int, int], tuple[int, int]], policy: int
) -> None:
    pointers = []
    for size in (1, 31, 32, 33, 100, 4096):
        pointer, ret = allocate(size, policy)
        assert (ret, pointer % 64, pointer > 0) == (0, 0, True)
        assert acl.rt.memset(pointer, size, 5, size) == 0
        pointers.append(pointer)
    assert len(set(pointers)) == len(pointers)
    assert [acl.rt.free(pointer) for pointer in pointers] == [0] * len(pointers)
    assert allocate(0, policy) == (0, INVALID_PARAM)


def test_each_kind_of_memory_has_its_own_free_function(memory: Memory) -> None:
    assert acl.rt.free(memory.pinned) != 0
    assert acl.rt.free_host(memory.first) != 0
    assert acl.rt.free(memory.plain) != 0
    assert acl.rt.free(memory.first + 1) != 0
    assert acl.rt.free(0) == acl.rt.free_host(0) == INVALID_PARAM


@pytest.mark.parametrize("attribute", range(6))
def test_memory_info(device: int, attribute: int) -> None:
    free, total, ret = acl.rt.get_mem_info(attribute)
    assert (ret, 0 <= free <= total) == (0, True)


def test_destroying_a_stream_waits_for_it(memory: Memory) -> None:
    size = 1 << 22
    large, _ = acl.rt.malloc(size, 0)
    stream, _ = acl.rt.create_stream()
    for value in range(10):
        assert acl.rt.memset_async(large, size, value, size, stream) == 0
    assert acl.rt.memcpy_async(memory.pinned, SIZE, large + size - SIZE, SIZE, DEVICE_TO_HOST, stream) == 0
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.util.ptr_to_bytes(memory.pinned, SIZE) == b"\x09" * SIZE
    assert acl.rt.free(large) == 0


def test_copy_from_pageable_memory_reads_it_before_it_returns(memory: Memory, stream: int) -> None:
    """A program may reuse its memory at once: the copy is complete when the call returns."""
    data = np.empty(SIZE, dtype=np.uint8)
    for value in range(50):
        data[:] = value
        target = memory.first if value % 2 else memory.second
        assert acl.rt.memcpy_async(target, SIZE, data.ctypes.data, SIZE, HOST_TO_DEVICE, stream) == 0
        data[:] = 255
        assert acl.rt.synchronize_stream(stream) == 0
        assert content(target) == bytes([value]) * SIZE


def test_registered_memory(device: int, stream: int) -> None:
    data = np.arange(4096, dtype=np.uint8)
    address = data.ctypes.data
    seen, ret = acl.rt.host_register(address, data.nbytes, 0)
    assert (ret, seen != 0) == (0, True)
    memory, _ = acl.rt.malloc(data.nbytes, 0)
    assert acl.rt.memcpy_async(memory, data.nbytes, address, data.nbytes, HOST_TO_DEVICE, stream) == 0
    assert acl.rt.synchronize_stream(stream) == acl.rt.host_unregister(address) == 0
    assert acl.rt.host_unregister(address) != 0
    assert acl.rt.free(memory) == 0


def test_virtual_memory_takes_the_documented_dict(device: int) -> None:
    wishes = {
        "handleType": 0,
        "allocationType": 0,
        "memAttr": 4,
        "location": {"id": 0, "type": 1},
        "reserve": 0,
    }
    unit, ret = acl.rt.mem_get_allocation_granularity(wishes, 0)
    assert (ret, unit > 0) == (0, True)
    handle, ret = acl.rt.malloc_physical(unit, wishes, 0)
    address, reserved = acl.rt.reserve_mem_address(unit, 0, 0, 1)
    assert ret == reserved == acl.rt.map_mem(address, unit, 0, handle, 0) == 0
    assert acl.rt.memset(address, unit, 1, unit) == 0
    assert acl.rt.unmap_mem(address) == acl.rt.free_physical(handle) == acl.rt.release_mem_address(address) == 0


@pytest.mark.parametrize("wishes", [{}, {"numAttrs": 1, "attrs": [{"attr": 1, "value": {"moduleId": 3}}]}])
def test_memory_with_a_documented_configuration(device: int, wishes: dict[str, Any]) -> None:
    pointer, ret = acl.rt.malloc_with_cfg(64, 0, wishes)
    assert ret == acl.rt.free(pointer) == 0
    host, ret = acl.rt.malloc_host_with_cfg(64, wishes)
    assert ret == acl.rt.free_host(host) == 0


def test_copy_between_devices_needs_peer_access(program: Program) -> None:
    done = program(
        """
        import acl
        assert acl.rt.set_device(1) == 0
        there, ret = acl.rt.malloc(64, 0)
        assert acl.rt.memset(there, 64, 6, 64) == 0
        assert acl.rt.set_device(0) == 0
        here, ret = acl.rt.malloc(64, 0)
        print(acl.rt.device_can_access_peer(0, 1), acl.rt.device_peer_access_status(0, 1))
        print(acl.rt.device_enable_peer_access(1, 0), acl.rt.device_peer_access_status(0, 1))
        print(acl.rt.memcpy(here, 64, there, 64, 3), acl.rt.device_enable_peer_access(0, 0) != 0)
        host, ret = acl.rt.malloc_host(64)
        print(acl.rt.memcpy(host, 64, here, 64, 2), acl.util.ptr_to_bytes(host, 64) == bytes([6]) * 64)
        print(acl.rt.device_disable_peer_access(1), acl.rt.device_disable_peer_access(1) != 0)
        """,
        TENON_CPU_DEVICES="2",
    )
    expected = "(1, 0) (0, 0)\n0 (1, 0)\n0 True\n0 True\n0 True\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
