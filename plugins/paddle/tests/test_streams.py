"""`paddle.device`'s streams and events on the device, in every release's own way."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest

from host import is_on, name, normal, of_release, place

STREAMS = {
    "of the current device": lambda: paddle.device.Stream(),
    "of a name": lambda: paddle.device.Stream(name()),
    "of a place": lambda: paddle.device.Stream(place()),
}


def work() -> Any:
    """Keeps a stream busy for a moment."""
    x = paddle.to_tensor(normal(256, 256))
    for _ in range(8):
        x = paddle.matmul(x, x)
        x = x / x.abs().max()
    return x


@pytest.mark.parametrize("made", STREAMS)
def test_a_stream_is_waited_for(made: str) -> None:
    stream = STREAMS[made]()
    with paddle.device.stream_guard(stream):
        work()
    stream.synchronize()
    assert stream.query()


def test_a_stream_of_the_other_device() -> None:
    stream = paddle.device.Stream(name(1))
    assert str(stream.device) == f"Place({name(1)})"
    stream.synchronize()
    assert stream.query()


def test_an_event_is_waited_for() -> None:
    stream, event = paddle.device.Stream(), paddle.device.Event()
    with paddle.device.stream_guard(stream):
        work()
    event.record(stream)
    event.synchronize()
    assert event.query()
    assert stream.query()


def test_an_event_that_was_never_recorded_is_over() -> None:
    event = paddle.device.Event()
    assert event.query()
    event.synchronize()


def test_an_event_is_recorded_again_and_again() -> None:
    stream, event = paddle.device.Stream(), paddle.device.Event()
    for _ in range(20):
        event.record(stream)
    event.synchronize()
    assert event.query()


def test_a_recorded_event_comes_from_its_stream() -> None:
    event = paddle.device.current_stream().record_event()
    event.synchronize()
    assert event.query()
    given = paddle.device.Event()
    assert paddle.device.Stream().record_event(given) is given


def test_streams_wait_for_events_and_for_each_other() -> None:
    first, second = paddle.device.Stream(), paddle.device.Stream()
    with paddle.device.stream_guard(first):
        x = work()
        event = first.record_event()
    second.wait_event(event)
    with paddle.device.stream_guard(second):
        y = x + 1
    third = paddle.device.Stream()
    third.wait_stream(second)
    with paddle.device.stream_guard(third):
        z = y * 2
    third.synchronize()
    assert first.query()
    assert second.query()
    np.testing.assert_allclose(z.numpy(), (x.numpy() + 1) * 2, rtol=1e-6)


def test_a_ring_of_streams_keeps_order() -> None:
    # Each stream adds to what the one before it left, so a lost wait would lose a number.
    streams = [paddle.device.Stream() for _ in range(4)]
    total = paddle.zeros([1 << 16])
    paddle.device.synchronize()
    for step in range(40):
        stream = streams[step % 4]
        stream.wait_stream(streams[(step - 1) % 4])
        with paddle.device.stream_guard(stream):
            total = total + step
    paddle.device.synchronize()
    assert (total.numpy() == sum(range(40))).all()


def test_the_current_stream_is_the_guards() -> None:
    def current() -> Any:
        return paddle.device.current_stream().stream_base

    stream, before = paddle.device.Stream(), current()
    with paddle.device.stream_guard(stream):
        assert current() is stream.stream_base
    assert current() is before
    previous = paddle.device.set_stream(stream)
    assert previous.stream_base is before
    assert current() is stream.stream_base
    paddle.device.set_stream(previous)
    assert current() is before


def test_a_guard_is_left_with_an_error() -> None:
    before = paddle.device.current_stream().stream_base
    with pytest.raises(KeyError), paddle.device.stream_guard(paddle.device.Stream()):
        raise KeyError
    assert paddle.device.current_stream().stream_base is before


def test_results_do_not_depend_on_the_stream() -> None:
    wanted = work().numpy()
    for _ in range(5):
        stream = paddle.device.Stream()
        with paddle.device.stream_guard(stream):
            mine = work()
        stream.synchronize()
        np.testing.assert_array_equal(mine.numpy(), wanted)


def test_devices_are_waited_for() -> None:
    work()
    paddle.device.synchronize()
    paddle.device.synchronize(name(1))
    paddle.device.synchronize(place(0))
    assert paddle.device.current_stream().query()


def test_many_streams_come_and_go() -> None:
    for _ in range(200):
        stream = paddle.device.Stream()
        stream.record_event().synchronize()
    assert is_on(paddle.ones([1]))


# Since 3.3 an event belongs to the current device, and its first argument is another.
EVENT_OF_A_DEVICE = {(2, 6): None, (3, 3): TypeError}


@pytest.mark.parametrize("device", [name(1), place(1)], ids=["name", "place"])
def test_an_event_of_a_named_device(device: Any) -> None:
    refusal = of_release(EVENT_OF_A_DEVICE)
    if refusal:
        with pytest.raises(refusal):
            paddle.device.Event(device)
    else:
        event = paddle.device.Event(device)
        event.record(paddle.device.Stream(device))
        event.synchronize()
        assert event.query()


def test_the_time_between_events() -> None:
    first, last = (paddle.device.Event(enable_timing=True) for _ in range(2))
    first.record()
    last.record()
    last.synchronize()
    # The device table has no such function, so Paddle cannot ask; 2.6 makes up an answer.
    if of_release({(2, 6): True, (3, 0): False}):
        assert first.elapsed_time(last) == 0
    else:
        with pytest.raises(AttributeError):
            first.elapsed_time(last)
