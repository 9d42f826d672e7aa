"""Contexts, streams and events in one thread and in several."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import acl

INVALID_PARAM = 100000
CONTEXT_NULL = 107002
STREAM_CONTEXT = 107003


def test_new_thread_has_no_current_context(device: int) -> None:
    def elsewhere() -> list[object]:
        found: list[object] = [acl.rt.get_context(), acl.rt.create_stream(), acl.rt.malloc(8, 0)]
        found.append(acl.rt.set_device(0))
        found.append(acl.rt.get_context()[1])
        found.append(acl.rt.reset_device(0))
        return found

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(elsewhere).result()
    assert found == [(0, CONTEXT_NULL), (0, CONTEXT_NULL), (0, CONTEXT_NULL), 0, 0, 0]


def test_threads_share_the_default_context(device: int) -> None:
    mine, ret = acl.rt.get_context()
    assert ret == 0

    def elsewhere() -> int:
        assert acl.rt.set_context(mine) == 0
        theirs, ret = acl.rt.get_context()
        assert ret == 0
        return theirs

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(elsewhere).result() == mine


def test_streams_belong_to_their_context(device: int) -> None:
    first, ret = acl.rt.create_context(0)
    assert ret == 0
    stream, ret = acl.rt.create_stream()
    assert ret == 0
    second, ret = acl.rt.create_context(0)
    assert ret == 0
    assert acl.rt.synchronize_stream(stream) == STREAM_CONTEXT
    assert acl.rt.set_context(first) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.destroy_context(second) == acl.rt.destroy_context(first) == 0
    assert acl.rt.malloc(8, 0) == (0, CONTEXT_NULL), "the current context was destroyed"
    assert acl.rt.set_context(first) != 0
    assert acl.rt.set_context(0) == INVALID_PARAM


def test_destroyed_stream_is_an_invalid_handle(device: int) -> None:
    stream, _ = acl.rt.create_stream_with_config(0, 1)
    assert acl.rt.stream_query(stream) == (0, 0)
    assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.synchronize_stream(stream) != 0
    assert acl.rt.destroy_stream(stream) != 0
    assert acl.rt.destroy_stream_force(stream) != 0


def test_settings_of_a_stream_are_dicts(device: int, stream: int) -> None:
    for attr, name in ((1, "failureMode"), (2, "overflowSwitch"), (3, "userCustomTag")):
        assert acl.rt.set_stream_attribute(stream, attr, {name: 1}) == 0
        assert acl.rt.get_stream_attribute(stream, attr) == ({name: 1}, 0)
    value, ret = acl.rt.get_stream_attribute(stream, 99)
    assert (value, ret != 0) == ({}, True)


def test_waits_have_timeouts(device: int, stream: int) -> None:
    for wrong in (0, -2):
        assert acl.rt.synchronize_stream_with_timeout(stream, wrong) == INVALID_PARAM
    for right in (-1, 1000):
        assert acl.rt.synchronize_stream_with_timeout(stream, right) == 0


def test_events_order_streams(device: int) -> None:
    """A consumer copies after the event of a producer; the argument order is (stream, event)."""
    size = 1 << 20
    producer, _ = acl.rt.create_stream()
    consumer, _ = acl.rt.create_stream()
    filled, _ = acl.rt.create_event()
    first, _ = acl.rt.malloc(size, 0)
    second, _ = acl.rt.malloc(size, 0)
    out = np.empty(size, dtype=np.uint8)
    for value in range(1, 20):
        assert acl.rt.memset_async(first, size, value, size, producer) == 0
        assert acl.rt.record_event(filled, producer) == 0
        assert acl.rt.stream_wait_event(consumer, filled) == 0
        assert acl.rt.memcpy_async(second, size, first, size, 3, consumer) == 0
        assert acl.rt.synchronize_stream(consumer) == 0
        assert acl.rt.memcpy(out.ctypes.data, size, second, size, 2) == 0
        assert (out == value).all()
    assert acl.rt.synchronize_event(filled) == 0
    assert acl.rt.query_event(filled) == (0, 0), "complete is 0 here"
    assert acl.rt.query_event_status(filled) == (1, 0), "and 1 here"
    assert acl.rt.destroy_event(filled) == 0
    assert acl.rt.query_event(filled)[1] != 0
    for pointer in (first, second):
        assert acl.rt.free(pointer) == 0
    assert acl.rt.destroy_stream(producer) == acl.rt.destroy_stream(consumer) == 0


def test_time_passes_between_events(device: int, stream: int) -> None:
    size = 1 << 22
    memory, _ = acl.rt.malloc(size, 0)
    start, _ = acl.rt.create_event_with_flag(8)
    end, _ = acl.rt.create_event_with_flag(8)
    assert acl.rt.event_elapsed_time(start, end)[1] != 0, "neither is recorded"
    assert acl.rt.record_event(start, stream) == 0
    assert acl.rt.memset_async(memory, size, 1, size, stream) == 0
    assert acl.rt.record_event(end, stream) == 0
    assert acl.rt.synchronize_event(end) == 0
    milliseconds, ret = acl.rt.event_elapsed_time(start, end)
    assert (ret, type(milliseconds)) == (0, float)
    assert milliseconds > 0
    assert acl.rt.destroy_event(start) == acl.rt.destroy_event(end) == acl.rt.free(memory) == 0


def test_threads_use_separate_streams(device: int) -> None:
    context, _ = acl.rt.get_context()
    barrier = threading.Barrier(8)

    def work(number: int) -> bool:
        assert acl.rt.set_context(context) == 0
        stream, ret = acl.rt.create_stream()
        assert ret == 0
        barrier.wait()
        right = True
        for round_ in range(50):
            array = np.full(1000, number * 1000 + round_, dtype=np.int64)
            memory, ret = acl.rt.malloc(array.nbytes, 0)
            assert ret == 0
            size = array.nbytes
            assert acl.rt.memcpy_async(memory, size, array.ctypes.data, size, 1, stream) == 0
            back = np.zeros_like(array)
            assert acl.rt.memcpy_async(back.ctypes.data, size, memory, size, 2, stream) == 0
            assert acl.rt.synchronize_stream(stream) == 0
            right &= bool((back == array).all())
            assert acl.rt.free(memory) == 0
        assert acl.rt.destroy_stream(stream) == 0
        return right

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_wait_releases_the_gil(device: int, stream: int) -> None:
    """`synchronize_stream` waits for a callback in another Python thread, so it must release the GIL."""
    ran = threading.Event()
    subscribed = threading.Event()
    over = threading.Event()

    def serve(_: object) -> None:
        subscribed.wait()
        while not over.is_set():
            acl.rt.process_report(100)

    tid, ret = acl.util.start_thread(serve, [None])
    assert ret == 0
    assert acl.rt.subscribe_report(tid, stream) == 0
    subscribed.set()
    assert acl.rt.launch_callback(lambda _: ran.set(), None, 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert ran.is_set()
    over.set()
    assert acl.util.stop_thread(tid) == 0
    assert acl.rt.unsubscribe_report(tid, stream) == 0
