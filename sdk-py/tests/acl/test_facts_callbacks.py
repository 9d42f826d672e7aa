"""Callbacks: subscription, error codes, and the end of a stream."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

import acl
from support import Program

NO_BLOCK, BLOCK = 0, 1
INVALID_PARAM = 100000
REPEAT_SUBSCRIBE = 100033
RT_PARAM_INVALID = 107000
STREAM_SUBSCRIBE = 107011
THREAD_SUBSCRIBE = 107012
NOT_REGISTERED = 107015
INVALID_HANDLE = 107017
REPORT_TIMEOUT = 507012

ME = threading.get_ident


@pytest.mark.parametrize("block", [NO_BLOCK, BLOCK])
def test_launch_needs_a_subscription(stream: int, block: int) -> None:
    assert acl.rt.launch_callback(print, None, block, stream) == NOT_REGISTERED
    assert acl.rt.launch_callback(print, None, block, 0) == NOT_REGISTERED
    assert acl.rt.subscribe_report(ME(), stream) == acl.rt.unsubscribe_report(ME(), stream) == 0
    assert acl.rt.launch_callback(print, None, block, stream) == NOT_REGISTERED, "also after it was"


def test_stream_has_at_most_one_subscribed_thread(stream: int) -> None:
    assert acl.rt.subscribe_report(ME(), stream) == 0
    assert acl.rt.subscribe_report(ME(), stream) == REPEAT_SUBSCRIBE
    assert acl.rt.subscribe_report(ME() + 1, stream) == REPEAT_SUBSCRIBE
    assert acl.rt.unsubscribe_report(ME() + 1, stream) == THREAD_SUBSCRIBE
    assert acl.rt.unsubscribe_report(ME(), stream) == 0
    assert acl.rt.unsubscribe_report(ME(), stream) == STREAM_SUBSCRIBE
    assert acl.rt.launch_callback(print, None, 2, stream) != 0


def test_thread_may_subscribe_to_several_streams(device: int) -> None:
    streams = [acl.rt.create_stream()[0] for _ in range(3)]
    seen: list[int] = []
    for stream in streams:
        assert acl.rt.subscribe_report(ME(), stream) == 0
    for number, stream in enumerate(streams):
        assert acl.rt.launch_callback(seen.append, number, BLOCK, stream) == 0
    while len(seen) < 3:
        assert acl.rt.process_report(5000) == 0
    assert sorted(seen) == [0, 1, 2]
    for stream in streams[:2]:
        assert acl.rt.unsubscribe_report(ME(), stream) == 0
    assert acl.rt.process_report(1) == REPORT_TIMEOUT, "one is left"
    assert acl.rt.unsubscribe_report(ME(), streams[2]) == 0
    assert acl.rt.process_report(1) == THREAD_SUBSCRIBE
    assert [acl.rt.destroy_stream(stream) for stream in streams] == [0, 0, 0]


def test_thread_may_subscribe_to_one_device_only(program: Program) -> None:
    done = program(
        f"""
        import acl, threading
        me = threading.get_ident()
        streams = []
        for device in (0, 1):
            assert acl.rt.set_device(device) == 0
            stream, ret = acl.rt.create_stream()
            streams.append(stream)
            print(acl.rt.subscribe_report(me, stream) == (0, {RT_PARAM_INVALID})[device])
        print(acl.rt.launch_callback(print, None, 0, streams[1]))
        """,
        TENON_CPU_DEVICES="2",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"True\nTrue\n{NOT_REGISTERED}\n", "")


def test_at_most_1024_threads_can_be_subscribed(device: int) -> None:
    streams = [acl.rt.create_stream()[0] for _ in range(1025)]
    rets = [acl.rt.subscribe_report(number, stream) for number, stream in enumerate(streams, start=1)]
    assert rets[:1024] == [0] * 1024
    assert rets[1024] != 0
    for stream in streams:
        assert acl.rt.destroy_stream(stream) == 0
    assert acl.rt.process_report(1) == THREAD_SUBSCRIBE


def test_timeout_must_be_positive_or_endless(stream: int) -> None:
    assert acl.rt.subscribe_report(ME(), stream) == 0
    assert [acl.rt.process_report(time) for time in (0, -2, 1)] == [INVALID_PARAM, INVALID_PARAM, REPORT_TIMEOUT]
    assert acl.rt.launch_callback(str, 0, NO_BLOCK, stream) == 0
    assert acl.rt.process_report(-1) == 0
    assert acl.rt.unsubscribe_report(ME(), stream) == 0


def test_stream_waits_only_for_blocking_callbacks(stream: int) -> None:
    memory, _ = acl.rt.malloc(1, 0)
    assert acl.rt.subscribe_report(ME(), stream) == 0
    assert acl.rt.launch_callback(str, 0, NO_BLOCK, stream) == 0
    assert acl.rt.memset_async(memory, 1, 1, 1, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0, "although the callback has not run yet"
    assert acl.rt.process_report(5000) == 0
    assert acl.rt.launch_callback(str, 0, BLOCK, stream) == 0
    assert acl.rt.memset_async(memory, 1, 2, 1, stream) == 0
    assert acl.rt.synchronize_stream_with_timeout(stream, 5) == 507046
    assert acl.rt.process_report(5000) == acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.unsubscribe_report(ME(), stream) == acl.rt.free(memory) == 0


def test_callback_has_the_context_of_its_thread(stream: int) -> None:
    """The function runs in the thread that processes reports, with its current context: none, at first."""
    context, _ = acl.rt.get_context()
    seen: list[object] = []
    subscribed = threading.Event()

    def serve() -> None:
        subscribed.wait()
        for _ in range(2):
            assert acl.rt.process_report(5000) == 0
            acl.rt.set_context(context)

    tid, ret = acl.util.start_thread(serve, None)
    assert ret == acl.rt.subscribe_report(tid, stream) == 0
    subscribed.set()
    for _ in range(2):
        acl.rt.launch_callback(lambda _: seen.append((ME(), acl.rt.get_context())), None, BLOCK, stream)
        assert acl.rt.synchronize_stream(stream) == 0
    assert acl.util.stop_thread(tid) == 0
    assert seen == [(tid, (0, 107002)), (tid, (context, 0))]
    assert acl.rt.unsubscribe_report(tid, stream) == 0


class Something:
    """An object that can be referenced weakly."""


def kept(launch: Callable[[object], int]) -> weakref.ref[Something]:
    something = Something()
    assert launch(something) == 0
    return weakref.ref(something)


def destroy_stream(stream: int) -> None:
    assert acl.rt.destroy_stream(stream) == 0


def destroy_stream_force(stream: int) -> None:
    assert acl.rt.destroy_stream_force(stream) == 0


def destroy_context(stream: int) -> None:
    context, _ = acl.rt.get_context()
    assert acl.rt.destroy_context(context) == 0


def reset_device_force(stream: int) -> None:
    assert acl.rt.reset_device_force(0) == 0


def unsubscribe(stream: int) -> None:
    assert acl.rt.unsubscribe_report(ME(), stream) == 0


def finalize(stream: int) -> None:
    assert acl.init() == acl.finalize() == 0


ENDS = [destroy_stream, destroy_stream_force, destroy_context, reset_device_force, unsubscribe, finalize]


@pytest.mark.parametrize(
    ("end", "is_default"),
    [
        *((end, False) for end in ENDS),
        *((end, True) for end in ENDS if end not in (destroy_stream, destroy_stream_force)),
    ],
)
def test_callback_that_never_ran_is_released_with_its_stream(end: Callable[[int], None], is_default: bool) -> None:
    """Neither function nor argument is kept once they cannot run any more."""
    assert acl.rt.set_device(0) == 0
    context, _ = acl.rt.create_context(0)
    stream = 0 if is_default else acl.rt.create_stream()[0]
    assert acl.rt.subscribe_report(ME(), stream) == 0
    arguments = kept(lambda something: acl.rt.launch_callback(str, something, NO_BLOCK, stream))
    functions = kept(lambda something: acl.rt.launch_callback(lambda _: str(something), None, NO_BLOCK, stream))
    gc.collect()
    assert arguments() is not None
    assert functions() is not None
    end(stream)
    gc.collect()
    assert arguments() is functions() is None
    assert acl.rt.process_report(1) == THREAD_SUBSCRIBE
    acl.rt.destroy_context(context)
    acl.rt.reset_device(0)


def test_failed_launch_releases_its_arguments(stream: int) -> None:
    refused: list[weakref.ref[Something]] = []
    for where in (stream, 0, 12345):
        something = Something()
        assert acl.rt.launch_callback(str, something, NO_BLOCK, where) != 0
        refused.append(weakref.ref(something))
        del something
    gc.collect()
    assert [reference() for reference in refused] == [None, None, None]


def test_ended_thread_is_unsubscribed(stream: int) -> None:
    with ThreadPoolExecutor(1) as pool:
        tid = pool.submit(ME).result()
        assert acl.rt.subscribe_report(tid, stream) == 0
        assert acl.rt.launch_callback(str, 0, BLOCK, stream) == 0
        assert pool.submit(acl.rt.process_report, 5000).result() == 0
    # The thread may still be ending. Callbacks launched until then are dropped at its end.
    while acl.rt.launch_callback(str, 0, BLOCK, stream) == 0:
        assert acl.rt.synchronize_stream(stream) == 0, "it does not wait for an ended thread"
    assert acl.rt.launch_callback(str, 0, BLOCK, stream) == NOT_REGISTERED
    assert acl.rt.synchronize_stream(stream) == 0


def test_start_thread_passes_its_argument_and_prints_exceptions(capfd: pytest.CaptureFixture[str]) -> None:
    """The function gets any argument unchanged. An exception is printed at once."""
    seen: list[object] = []
    for arguments in ([1, 2], (), 5, {"any": "object"}):
        tid, ret = acl.util.start_thread(seen.append, arguments)
        assert (type(tid), ret, acl.util.stop_thread(tid)) == (int, 0, 0)
    assert seen == [[1, 2], (), 5, {"any": "object"}]
    ended = threading.Event()

    def fail() -> None:
        ended.set()
        raise LookupError("what went wrong")

    tid, ret = acl.util.start_thread(fail, None)
    assert (ret, ended.wait(60)) == (0, True)
    with pytest.raises(RuntimeError, match="LookupError"):
        acl.util.stop_thread(tid)
    assert "what went wrong" in capfd.readouterr().err
