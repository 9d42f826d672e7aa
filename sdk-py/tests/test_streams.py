"""Streams: order, callbacks, waits and release."""

from __future__ import annotations

import copy
import gc
import sys
import threading
import weakref
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

import tenon
from support import PATIENCE, Gate, Program
from tenon._lifecycle import resources
from tenon._native import functions
from tenon._native.types import Status


def test_work_runs_in_order(device: tenon.Device, stream: tenon.Stream) -> None:
    seen: list[int] = []
    for number in range(100):
        stream.add_callback(seen.append, number)
    stream.synchronize()
    assert seen == list(range(100))


def test_a_callback_runs_in_a_thread_of_the_device(stream: tenon.Stream) -> None:
    seen: list[int] = []
    stream.add_callback(lambda: seen.append(threading.get_ident()))
    stream.synchronize()
    assert seen != [threading.get_ident()]


def test_query_is_false_while_work_is_pending(stream: tenon.Stream, gate: Gate) -> None:
    assert stream.query()
    gate.hold(stream)
    assert not stream.query()
    gate.open()
    stream.synchronize()
    assert stream.query()


def test_wait_has_a_timeout(stream: tenon.Stream, gate: Gate) -> None:
    gate.hold(stream)
    with pytest.raises(TimeoutError, match="is not done after 0 s"):
        stream.synchronize(timeout=0)
    gate.open()
    stream.synchronize(timeout=PATIENCE)


def test_a_stream_waits_for_an_event_of_another(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    seen: list[str] = []
    with device.create_event() as event:
        gate.hold(stream)
        stream.add_callback(seen.append, "first")
        stream.record_event(event)
        other = device.create_stream()
        other.wait_event(event)
        other.add_callback(seen.append, "second")
    third = tenon.Stream("cpu:0")
    third.wait_stream(other)
    third.add_callback(seen.append, "third")
    assert not third.query()
    gate.open()
    third.synchronize()
    assert seen == ["first", "second", "third"]


def test_close_waits_and_runs_once(device: tenon.Device, gate: Gate) -> None:
    stream = device.create_stream()
    seen: list[int] = []
    gate.hold(stream)
    stream.add_callback(seen.append, 1)
    threading.Timer(0.05, gate.open).start()
    stream.close()
    assert seen == [1]
    stream.close()
    assert stream.closed
    for use in (stream.query, stream.synchronize, stream.record_event, lambda: stream.add_callback(print)):
        with pytest.raises(tenon.InvalidHandleError, match="on cpu:0|cpu:0: the stream is closed"):
            use()
    with pytest.raises(tenon.InvalidHandleError), stream:
        pass
    assert repr(stream) == "<tenon.Stream on cpu:0, closed>"


def test_other_threads_see_it_closed_before_it_is_destroyed(
    device: tenon.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = device.create_stream()
    destroy = functions.destroy_stream
    reported = []

    def destroyed(native: int, handle: int) -> None:
        with pytest.raises(tenon.InvalidHandleError, match="cpu:0: the stream is closed"):
            stream.query()
        reported.append(handle)
        destroy(native, handle)

    with monkeypatch.context() as patched:
        patched.setattr(functions, "destroy_stream", destroyed)
        stream.close()
    assert len(reported) == 1


def test_concurrent_close_is_safe(device: tenon.Device) -> None:
    stream = device.create_stream()
    failures: list[BaseException] = []

    def close() -> None:
        try:
            stream.close()
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=close) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_dropped_stream_finishes_its_work(device: tenon.Device, gate: Gate) -> None:
    """Dropping a reference does not wait: a callback may need a lock that the thread holds."""
    stream = device.create_stream()
    native = stream.handle
    seen: list[int] = []
    gate.hold(stream)
    stream.add_callback(seen.append, 1)
    del stream
    assert native in device._session.streams
    gate.open()
    device.synchronize()
    assert seen == [1]
    assert native not in device._session.streams


def test_default_stream_stays_open_after_close(device: tenon.Device) -> None:
    stream = device.default_stream
    assert stream.handle == 0
    stream.close()
    assert not stream.closed
    assert stream.query()
    assert repr(stream) == "<tenon.Stream default on cpu:0>"


def test_copy_of_a_stream_is_an_error(stream: tenon.Stream) -> None:
    with pytest.raises(TypeError, match="cannot pickle or copy a Stream"):
        copy.copy(stream)


def test_callback_must_be_callable(stream: tenon.Stream) -> None:
    with pytest.raises(TypeError, match="function must be callable, not int"):
        stream.add_callback(1)  # type: ignore[arg-type]


class Thing:
    """An object that can be referenced weakly."""


def test_callback_and_its_arguments_are_released(stream: tenon.Stream) -> None:
    thing = Thing()
    watched = weakref.ref(thing)
    stream.add_callback(lambda _: None, thing)
    del thing
    stream.synchronize()
    # The stream is done when the callback has returned to the device, which is after the Python function.
    gc.collect()
    assert watched() is None


def test_callback_that_was_not_queued_is_released(device: tenon.Device) -> None:
    stream = device.create_stream()
    from tenon._native import functions

    functions.destroy_stream(device.handle, stream.handle)
    thing = Thing()
    watched = weakref.ref(thing)
    with pytest.raises(tenon.DeviceError):
        stream.add_callback(lambda _: None, thing)
    del thing
    assert watched() is None
    with pytest.raises(tenon.DeviceError):
        stream.close()


def failing(number: int) -> None:
    raise ArithmeticError(number)


def test_exception_is_passed_to_the_hook_and_the_stream_continues(
    stream: tenon.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[Any] = []
    monkeypatch.setattr(
        sys,
        "unraisablehook",
        lambda args: reported.append(
            SimpleNamespace(
                error=args.exc_value, kind=args.exc_type, origin=repr(args.object), trace=args.exc_traceback
            )
        ),
    )
    seen: list[int] = []
    stream.add_callback(failing, 7)
    stream.add_callback(seen.append, 1)
    stream.synchronize()
    assert seen == [1]
    (one,) = reported
    assert one.kind is ArithmeticError
    assert one.error.args == (7,)
    assert "failing" in one.origin
    assert "cpu:0" in one.origin
    functions = []
    trace = one.trace
    while trace:
        functions.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert functions[-1] == "failing"


def test_default_hook_prints_the_exception(program: Program) -> None:
    done = program(
        """
        import tenon
        def failing(number):
            raise ArithmeticError(number)
        stream = tenon.device("cpu:0").create_stream()
        stream.add_callback(failing, 7)
        stream.synchronize()
        """
    )
    assert done.returncode == 0
    assert "Exception ignored in: <callback <function failing" in done.stderr
    assert done.stderr.rstrip().endswith("ArithmeticError: 7")


def test_device_calls_in_a_callback_are_refused(device: tenon.Device, stream: tenon.Stream) -> None:
    event = device.create_event()
    other = device.create_stream()
    refused: list[str] = []
    uses: list[Callable[[], object]] = [
        stream.query,
        stream.synchronize,
        other.close,
        other.synchronize,
        event.query,
        event.synchronize,
        device.synchronize,
        device.close,
        device.create_event,
        lambda: tenon.Stream("cpu:0"),
        tenon.shutdown,
        tenon.devices,
        lambda: stream.add_callback(print),
    ]

    def callback() -> None:
        for use in uses:
            try:
                use()
            except tenon.BusyError as error:
                refused.append(str(error))

    stream.add_callback(callback)
    stream.synchronize()
    assert len(refused) == len(uses)
    assert all("callback must not call a device" in text for text in refused)
    assert other.query()
    assert not other.closed


def test_failure_of_an_idle_device_is_reported_by_a_wait(
    device: tenon.Device, stream: tenon.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed device is idle too, and only a wait reports the failure."""
    event = stream.record_event()
    device.synchronize()

    def fail(*_: int) -> NoReturn:
        raise tenon.DeviceError("it has failed", status=Status.FAILED)

    with monkeypatch.context() as failing:
        failing.setattr(functions, "synchronize_stream", fail)
        failing.setattr(functions, "synchronize_event", fail)
        for what in (stream, event):
            with pytest.raises(tenon.DeviceError, match="it has failed"):
                what.synchronize()


def test_object_dropped_in_a_callback_is_released_later(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    """The callback drops the last reference to a stream and an event, but nothing can be released there."""
    other = device.create_stream()
    native = other.handle
    gate.hold(stream)
    stream.add_callback(lambda *_: None, other, device.create_event())
    del other
    left: list[int] = []
    stream.add_callback(lambda: left.append(len(resources.deferred)))
    gate.open()
    stream.synchronize()
    assert left == [2]
    device.synchronize()
    assert native not in device._session.streams


def test_callback_and_thread_with_a_lock_do_not_deadlock(device: tenon.Device) -> None:
    """Drops a busy stream under a lock that its callback needs."""
    lock = threading.Lock()
    seen: list[int] = []

    def locked() -> None:
        with lock:
            seen.append(1)

    for _ in range(100):
        with lock:
            stream = device.create_stream()
            stream.add_callback(locked)
            cycle: list[Any] = [stream]
            cycle.append(cycle)
            del stream, cycle
            gc.collect()
    device.synchronize()
    assert len(seen) == 100
