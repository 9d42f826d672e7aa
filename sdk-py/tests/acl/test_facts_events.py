"""Events: kinds, the three queries, times, and calls that a kind does not support."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

import acl

COMPLETE, NOT_READY = 0, 1
RECORDED, NOT_RECORDED = 1, 0
INVALID_PARAM = 100000
FEATURE_NOT_SUPPORTED = 207000
INVALID_HANDLE = 107017
TIMESTAMP_INVALID = 107006
TIMESTAMP_REVERSAL = 107007
STREAM_TIMEOUT, EVENT_TIMEOUT = 507046, 507047
INTERNAL = 507000

SYNC, CAPTURE_STREAM_PROGRESS, TIME_LINE, DEVICE_USE_ONLY, EXTERNAL, IPC = 1, 2, 8, 0x10, 0x20, 0x40


class Hold:
    """A separate stream that is blocked in a callback until `open` is called."""

    def __init__(self) -> None:
        self.stream, ret = acl.rt.create_stream()
        assert ret == 0
        context, _ = acl.rt.get_context()
        self._opened = threading.Event()
        self._tid, ret = acl.util.start_thread(self._serve, [context])
        assert ret == acl.rt.subscribe_report(self._tid, self.stream) == 0

    def shut(self) -> None:
        self._opened.clear()
        assert acl.rt.launch_callback(lambda _: self._opened.wait(), None, 1, self.stream) == 0

    def open(self) -> None:
        self._opened.set()

    def close(self) -> None:
        self.open()
        assert acl.rt.synchronize_stream(self.stream) == acl.rt.unsubscribe_report(self._tid, self.stream) == 0
        assert acl.util.stop_thread(self._tid) == acl.rt.destroy_stream(self.stream) == 0

    def _serve(self, arguments: list[int]) -> None:
        assert acl.rt.set_context(arguments[0]) == 0
        # The thread starts before it is subscribed, and ends after it is unsubscribed.
        while acl.rt.process_report(10) == 107012:
            pass
        while acl.rt.process_report(10) != 107012:
            pass


@pytest.fixture
def hold(device: int) -> Iterator[Hold]:
    hold = Hold()
    yield hold
    hold.close()


Make = Callable[[], "tuple[int, int]"]

MAKES: dict[str, Make] = {"plain": acl.rt.create_event, "flag": lambda: acl.rt.create_event_with_flag(SYNC | TIME_LINE)}
EX: dict[str, Make] = {"ex": lambda: acl.rt.create_event_ex_with_flag(SYNC | TIME_LINE)}


@pytest.mark.parametrize("kind", MAKES)
def test_queries_before_and_after_an_event(hold: Hold, kind: str) -> None:
    event, ret = MAKES[kind]()
    assert ret == 0
    hold.shut()
    assert acl.rt.record_event(event, hold.stream) == 0
    assert acl.rt.query_event(event) == (NOT_READY, 0)
    assert acl.rt.query_event_status(event) == (NOT_RECORDED, 0)
    assert acl.rt.synchronize_event_with_timeout(event, 1) == EVENT_TIMEOUT
    assert acl.rt.stream_query(hold.stream) == (NOT_READY, 0)
    assert acl.rt.synchronize_stream_with_timeout(hold.stream, 1) == STREAM_TIMEOUT
    hold.open()
    assert acl.rt.synchronize_event(event) == acl.rt.synchronize_event_with_timeout(event, -1) == 0
    assert acl.rt.query_event(event) == (COMPLETE, 0)
    assert acl.rt.query_event_status(event) == (RECORDED, 0)
    assert acl.rt.synchronize_stream(hold.stream) == 0
    assert acl.rt.stream_query(hold.stream) == (COMPLETE, 0)
    assert acl.rt.destroy_event(event) == 0


@pytest.mark.parametrize("kind", MAKES)
def test_query_event_wait_status_reports_pending_waits(hold: Hold, stream: int, kind: str) -> None:
    event, _ = MAKES[kind]()
    hold.shut()
    assert acl.rt.record_event(event, hold.stream) == acl.rt.stream_wait_event(stream, event) == 0
    assert acl.rt.query_event_wait_status(event) == (NOT_READY, 0)
    assert acl.rt.stream_query(stream) == (NOT_READY, 0)
    hold.open()
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.query_event_wait_status(event) == (COMPLETE, 0)
    assert acl.rt.destroy_event(event) == 0


def test_recorded_event_can_be_recorded_again(hold: Hold) -> None:
    event, ret = EX["ex"]()
    assert ret == 0
    assert acl.rt.query_event_status(event) == (RECORDED, 0), "there is nothing to wait for"
    assert acl.rt.synchronize_event(event) == 0
    for _ in range(3):
        hold.shut()
        assert acl.rt.record_event(event, hold.stream) == 0
        assert acl.rt.query_event_status(event) == (NOT_RECORDED, 0)
        hold.open()
        assert acl.rt.synchronize_event(event) == 0
        assert acl.rt.query_event_status(event) == (RECORDED, 0)
    assert acl.rt.query_event(event)[1] == FEATURE_NOT_SUPPORTED
    assert acl.rt.query_event_wait_status(event)[1] == FEATURE_NOT_SUPPORTED
    assert acl.rt.destroy_event(event) == 0


def test_events_of_all_kinds_can_be_reset(stream: int) -> None:
    plain, _ = acl.rt.create_event()
    assert acl.rt.record_event(plain, stream) == acl.rt.reset_event(plain, stream) == 0
    synchronous, _ = acl.rt.create_event_with_flag(SYNC)
    assert acl.rt.record_event(synchronous, stream) == acl.rt.reset_event(synchronous, stream) == 0
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.destroy_event(plain) == acl.rt.destroy_event(synchronous) == 0


def test_destroy_event_does_not_wait(hold: Hold, stream: int) -> None:
    event, _ = acl.rt.create_event()
    hold.shut()
    assert acl.rt.record_event(event, hold.stream) == acl.rt.stream_wait_event(stream, event) == 0
    assert acl.rt.destroy_event(event) == 0, "it came back while the stream is held"
    assert acl.rt.stream_query(stream) == (NOT_READY, 0)
    hold.open()
    assert acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.destroy_event(event) == acl.rt.record_event(event, stream) == INVALID_HANDLE
    assert acl.rt.destroy_event(0) == INVALID_PARAM


@pytest.mark.parametrize("kind", [*MAKES, *EX])
def test_elapsed_time_and_timestamps(hold: Hold, kind: str) -> None:
    make = {**MAKES, **EX}[kind]
    (start, _), (end, _) = make(), make()
    assert acl.rt.event_elapsed_time(start, end) == (0.0, INTERNAL), "neither was recorded"
    before = time.monotonic_ns()
    assert acl.rt.record_event(start, hold.stream) == 0
    hold.shut()
    assert acl.rt.record_event(end, hold.stream) == 0
    assert acl.rt.event_elapsed_time(start, end) == (0.0, TIMESTAMP_INVALID), "the end is not complete"
    hold.open()
    assert acl.rt.synchronize_stream(hold.stream) == 0
    after = time.monotonic_ns()
    elapsed, ret = acl.rt.event_elapsed_time(start, end)
    (first, _), (second, _) = acl.rt.event_get_timestamp(start), acl.rt.event_get_timestamp(end)
    assert (ret, type(elapsed), elapsed >= 0) == (0, float, True)
    # The device measures the time between events; timestamps are of the host's clock.
    assert elapsed <= (after - before) / 1e6, "milliseconds"
    assert second >= first, "microseconds"
    if elapsed > 0:
        assert acl.rt.event_elapsed_time(end, start)[1] == TIMESTAMP_REVERSAL
    assert acl.rt.destroy_event(start) == acl.rt.destroy_event(end) == 0


def test_event_on_an_idle_stream_is_complete_at_once(stream: int) -> None:
    """The event uses the clock of the system, so its time is between the times read before and after."""
    event, _ = acl.rt.create_event()
    for _ in range(100):
        before = time.monotonic_ns() // 1000
        assert acl.rt.record_event(event, stream) == 0
        after = time.monotonic_ns() // 1000
        assert acl.rt.synchronize_event(event) == 0
        recorded, ret = acl.rt.event_get_timestamp(event)
        assert ret == 0
        assert before <= recorded <= after
    assert acl.rt.destroy_event(event) == 0


def test_events_without_timestamps(stream: int) -> None:
    (start, _), (end, _) = (acl.rt.create_event_with_flag(SYNC) for _ in range(2))
    for event in (start, end):
        assert acl.rt.record_event(event, stream) == acl.rt.synchronize_event(event) == 0
    assert acl.rt.event_elapsed_time(start, end)[1] == TIMESTAMP_INVALID
    assert acl.rt.destroy_event(start) == acl.rt.destroy_event(end) == 0


@pytest.mark.parametrize("make", [acl.rt.create_event_with_flag, acl.rt.create_event_ex_with_flag])
@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (SYNC, 0),
        (CAPTURE_STREAM_PROGRESS, 0),
        (TIME_LINE, 0),
        (SYNC | CAPTURE_STREAM_PROGRESS | TIME_LINE, 0),
        (EXTERNAL, 0),
        (DEVICE_USE_ONLY, FEATURE_NOT_SUPPORTED),
        (IPC, 0),
        (0, INVALID_PARAM),
        (4, INVALID_PARAM),
    ],
)
def test_flags(device: int, make: Callable[[int], tuple[int, int]], flags: int, expected: int) -> None:
    event, ret = make(flags)
    assert ret == expected
    assert (event != 0) == (ret == 0)
    assert ret != 0 or acl.rt.destroy_event(event) == 0


def test_waits_have_timeouts(stream: int) -> None:
    event, _ = acl.rt.create_event()
    assert acl.rt.record_event(event, stream) == 0
    assert [acl.rt.synchronize_event_with_timeout(event, limit) for limit in (-1, 5000)] == [0, 0]
    assert [acl.rt.synchronize_event_with_timeout(event, limit) for limit in (0, -2)] == [INVALID_PARAM] * 2
    assert acl.rt.destroy_event(event) == 0


def test_event_without_a_record_blocks_no_stream(stream: int) -> None:
    event, _ = acl.rt.create_event()
    assert acl.rt.stream_wait_event(stream, event) == acl.rt.synchronize_stream(stream) == 0
    assert acl.rt.synchronize_event(event) == 0
    assert acl.rt.query_event_wait_status(event) == (COMPLETE, 0)
    assert acl.rt.destroy_event(event) == 0


def test_events_have_a_limit(device: int) -> None:
    free, ret = acl.rt.get_event_avail_num()
    assert ret == 0
    events = [acl.rt.create_event()[0] for _ in range(free)]
    assert acl.rt.get_event_avail_num() == (0, 0)
    assert acl.rt.create_event() == (0, 207007)
    numbers = {acl.rt.get_event_id(event)[0] for event in events}
    assert len(numbers) == free
    assert {acl.rt.destroy_event(event) for event in events} == {0}
    assert acl.rt.get_event_avail_num() == (free, 0)
