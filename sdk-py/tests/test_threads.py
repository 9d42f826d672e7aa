"""Several threads that use the same objects or separate ones."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable

import tenon
from support import PATIENCE

THREADS = 8
ROUNDS = 200


def at_once(work: Callable[[int], None]) -> None:
    """Runs a function in several threads, and raises the first exception of any of them."""
    failures: list[BaseException] = []
    barrier = threading.Barrier(THREADS)

    def run(number: int) -> None:
        try:
            barrier.wait(PATIENCE)
            work(number)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    for failure in failures:
        raise failure


def test_threads_share_one_device_object() -> None:
    tenon.device("cpu:1").close()
    seen: list[tenon.Device] = []

    def open_it(_: int) -> None:
        device = tenon.Device("cpu", 1)
        device.synchronize()
        seen.append(device)

    at_once(open_it)
    assert len(set(map(id, seen))) == 1
    assert seen[0].plugin.open_devices >= 1
    plugin = seen[0].plugin
    before = plugin.open_devices
    seen[0].close()
    assert plugin.open_devices == before - 1


def test_threads_share_a_stream(device: tenon.Device, stream: tenon.Stream) -> None:
    seen: list[int] = []

    def use(number: int) -> None:
        for _ in range(ROUNDS):
            stream.add_callback(seen.append, number)
            event = stream.record_event()
            device.default_stream.wait_event(event)
            event.synchronize()

    at_once(use)
    assert sorted(seen) == sorted(list(range(THREADS)) * ROUNDS)


def test_threads_use_separate_streams_and_events(device: tenon.Device) -> None:
    def use(number: int) -> None:
        choose = random.Random(number)
        streams = [device.create_stream()]
        counted: list[int] = []
        queued = 0
        for _ in range(ROUNDS):
            stream = choose.choice(streams)
            with stream:
                assert tenon.current_stream() is stream
                event = device.create_event().record()
            choose.choice(streams).wait_event(event)
            stream.add_callback(counted.append, 1)
            queued += 1
            if choose.random() < 0.2:
                streams.append(device.create_stream())
            if len(streams) > 3:
                streams.pop(choose.randrange(3))
        device.synchronize()
        assert len(counted) == queued

    at_once(use)


def test_objects_may_be_dropped_by_another_thread(device: tenon.Device) -> None:
    before = len(device._session.live)
    shared: list[object] = []

    def use(_: int) -> None:
        for _ in range(ROUNDS):
            shared.append(device.create_event())
            shared.append(device.create_stream())
            del shared[: len(shared) // 2]

    at_once(use)
    shared.clear()
    device.synchronize()
    assert len(device._session.live) == before


def test_close_while_other_threads_use_the_device() -> None:
    """Each call either succeeds or raises because the device is closed."""
    device = tenon.device("cpu:1")
    device.synchronize()

    def use(number: int) -> None:
        for _ in range(ROUNDS):
            if number == 0:
                device.close()
                return
            try:
                with device.create_stream() as stream:
                    stream.record_event().synchronize()
            except tenon.InvalidHandleError:
                return
            except tenon.DeviceError as error:
                # The stream was destroyed between two calls of this thread.
                assert device.closed, error

    at_once(use)
    assert device.closed
