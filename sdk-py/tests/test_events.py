"""Events: recording, querying and waiting."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tenon
from support import PATIENCE, Gate, Program
from tenon._native import functions


def test_an_event_that_was_never_recorded_is_done(device: tenon.Device) -> None:
    event = tenon.Event()
    assert event.device is device
    assert event.query()
    event.synchronize()


def test_event_is_done_when_the_stream_has_passed_it(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    gate.hold(stream)
    event = stream.record_event()
    later = stream.record_event(tenon.Event("cpu:0"))
    assert not event.query()
    with pytest.raises(TimeoutError, match=r"<tenon\.Event 0x[0-9a-f]+ on cpu:0> is not done after 0\.001 s"):
        event.synchronize(timeout=0.001)
    gate.open()
    later.synchronize(timeout=PATIENCE)
    assert event.query()


def test_record_without_a_stream_uses_the_current_one(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    gate.hold(stream)
    with stream:
        event = device.create_event().record()
    assert not event.query()
    # The default stream has nothing to wait for.
    device.create_event().record().synchronize(timeout=PATIENCE)
    gate.open()
    event.synchronize()


def test_event_can_be_waited_for_by_another_thread(stream: tenon.Stream, gate: Gate) -> None:
    gate.hold(stream)
    event = stream.record_event()
    seen: list[bool] = []

    def wait() -> None:
        event.synchronize()
        seen.append(event.query())

    thread = threading.Thread(target=wait)
    thread.start()
    gate.open()
    thread.join(PATIENCE)
    assert seen == [True]


def test_event_outlives_its_stream(device: tenon.Device, gate: Gate) -> None:
    stream = device.create_stream()
    gate.hold(stream)
    event = stream.record_event()
    del stream
    assert not event.query()
    gate.open()
    event.synchronize()


def test_elapsed_time_is_in_order(device: tenon.Device, stream: tenon.Stream) -> None:
    start, end = stream.record_event(), stream.record_event()
    stream.synchronize()
    assert start.elapsed_time(end) >= 0
    assert end.elapsed_time(start) == -start.elapsed_time(end)
    assert start.elapsed_time(end) == functions.event_elapsed_time(device.handle, start.handle, end.handle) / 1e6


def test_elapsed_time_needs_events_that_are_done(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    start, never = stream.record_event(), device.create_event()
    start.synchronize()
    with pytest.raises(tenon.DeviceError, match="never recorded"):
        start.elapsed_time(never)
    gate.hold(stream)
    end = stream.record_event()
    with pytest.raises(tenon.DeviceError, match="not reached yet"):
        start.elapsed_time(end)
    gate.open()
    wrong: Any = stream
    with pytest.raises(TypeError, match=r"end must be a tenon\.Event, not"):
        start.elapsed_time(wrong)


def test_closed_event_is_an_error(device: tenon.Device) -> None:
    with device.create_event() as event:
        assert not event.closed
        assert event.handle
    assert event.closed
    event.close()
    assert repr(event) == "<tenon.Event on cpu:0, closed>"
    other = device.create_event()
    for use in (
        event.query,
        event.synchronize,
        event.record,
        lambda: device.default_stream.wait_event(event),
        lambda: other.elapsed_time(event),
    ):
        with pytest.raises(tenon.InvalidHandleError, match="cpu:0: the event is closed"):
            use()


def test_wrong_argument_types_are_errors(device: tenon.Device) -> None:
    stream, event = device.create_stream(), device.create_event()
    wrong: Any
    for wrong in (0, "cpu:0", device, event):
        with pytest.raises(TypeError, match=r"stream must be a tenon\.Stream, not"):
            event.record(wrong)
        with pytest.raises(TypeError, match=r"other must be a tenon\.Stream, not"):
            stream.wait_stream(wrong)
    for wrong in (0, "cpu:0", device, stream):
        with pytest.raises(TypeError, match=r"event must be a tenon\.Event, not"):
            stream.wait_event(wrong)
        with pytest.raises(TypeError, match=r"event must be a tenon\.Event, not"):
            stream.record_event(wrong)


def test_close_in_a_callback_is_refused(device: tenon.Device, stream: tenon.Stream) -> None:
    event = device.create_event()
    reported: list[BaseException] = []

    def close() -> None:
        try:
            event.close()
        except tenon.BusyError as error:
            reported.append(error)

    stream.add_callback(close)
    stream.synchronize()
    assert len(reported) == 1
    assert not event.closed
    assert event.query()


def test_objects_of_different_devices_are_an_error(program: Program) -> None:
    done = program(
        """
        import tenon
        devices = tenon.devices()
        one, other = devices[0], devices[1]
        for use in (
            lambda: one.create_event().record(other.default_stream),
            lambda: one.default_stream.wait_event(other.create_event()),
            lambda: one.default_stream.wait_stream(other.default_stream),
        ):
            try:
                use()
            except tenon.InvalidArgumentError as error:
                print(error)
        """,
        TENON_CPU_DEVICES="2",
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "cpu:0: the stream belongs to cpu:1, but the event belongs to cpu:0",
        "cpu:0: the event belongs to cpu:1, but the stream belongs to cpu:0",
        "cpu:0: the other stream belongs to cpu:1, but the stream belongs to cpu:0",
    ]
