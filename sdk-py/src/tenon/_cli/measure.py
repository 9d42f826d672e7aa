"""The measurements of `tenon bench`.

The generated functions are called directly, so that the results contain little overhead of Python.
"""

from __future__ import annotations

import ctypes
import statistics
from contextlib import ExitStack
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

import tenon
from tenon._native import core, functions

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

DIRECTIONS = {"h2d": "host to device", "d2h": "device to host", "d2d": "device to device"}

_SHORTEST_RUN = 0.002
"""The shortest run in seconds. It keeps the effects of clock resolution and interrupts small."""
_MOST_CALLS = 20_000
_SMALL, _LARGE = 4 << 10, 1 << 20


@dataclass(frozen=True)
class Time:
    """The duration of a piece of work in seconds."""

    median: float
    """The median of the runs."""
    fastest: float
    """The fastest run."""


class Bench:
    """A device under measurement, with its own stream."""

    def __init__(self, device: tenon.Device, repeat: int, pageable: bool) -> None:
        self._device = device.handle
        self._repeat = repeat
        self._pageable = pageable
        self._kept = ExitStack()
        self._stream = functions.create_stream(self._device)
        self._kept.callback(functions.destroy_stream, self._device, self._stream)
        self._event = functions.create_event(self._device)
        self._kept.callback(functions.destroy_event, self._device, self._event)

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._wait()
        self._kept.close()

    def _wait(self) -> None:
        functions.synchronize_stream(self._device, self._stream)

    def time(self, work: Callable[[], object]) -> Time | None:
        """Measures a piece of work. Returns None if the device does not support it."""
        try:
            work()
            self._wait()
            start = perf_counter()
            work()
            self._wait()
            calls = max(1, min(_MOST_CALLS, int(_SHORTEST_RUN / max(perf_counter() - start, 1e-7))))
            runs = [self._run(work, calls) for _ in range(self._repeat)]
        except (tenon.OutOfMemoryError, tenon.UnsupportedError):
            return None
        return Time(statistics.median(runs), min(runs))

    def _run(self, work: Callable[[], object], calls: int) -> float:
        start = perf_counter()
        for _ in range(calls):
            work()
        time = perf_counter() - start
        # Queued work does not count for this run, and must not delay the next one.
        self._wait()
        return time / calls

    def copy(self, direction: str, size: int) -> Time | None:
        """Measures a copy until it is complete. Returns None if there is not enough memory."""
        with ExitStack() as memory:
            try:
                source = self._host(memory, size) if direction == "h2d" else self._device_memory(memory, size)
                target = self._host(memory, size) if direction == "d2h" else self._device_memory(memory, size)
            except (tenon.OutOfMemoryError, tenon.UnsupportedError, MemoryError):
                return None
            queue = getattr(functions, f"async_memory_copy_{direction}")

            def work() -> None:
                queue(self._device, self._stream, target, source, size)
                self._wait()

            return self.time(work)

    def _device_memory(self, memory: ExitStack, size: int) -> int:
        address = functions.device_memory_allocate(self._device, size)
        memory.callback(functions.device_memory_deallocate, self._device, address, size)
        # Memory that was never written may not be backed by physical pages yet.
        functions.device_memory_set(self._device, address, 1, size)
        return address

    def _host(self, memory: ExitStack, size: int) -> int:
        if self._pageable:
            buffer = ctypes.create_string_buffer(size)
            # The callback keeps the buffer alive until the stack is closed.
            memory.callback(lambda: buffer)
            address = ctypes.addressof(buffer)
        else:
            address = functions.host_memory_allocate(self._device, size)
            memory.callback(functions.host_memory_deallocate, self._device, address, size)
        ctypes.memset(address, 1, size)
        return address

    @property
    def latencies(self) -> dict[str, Callable[[], object]]:
        """The calls whose latency is measured, by their title."""
        device, stream, event = self._device, self._stream, self._event
        pair = self._device_memory(self._kept, 2 * _SMALL)

        def wait_for_event() -> None:
            functions.record_event(device, stream, event)
            functions.synchronize_event(device, event)

        def allocate(size: int) -> Callable[[], object]:
            def work() -> None:
                address = functions.device_memory_allocate(device, size)
                functions.device_memory_deallocate(device, address, size)

            return work

        def allocate_from_pool(size: int) -> Callable[[], object]:
            def work() -> None:
                core.pool_free(device, core.pool_allocate(device, size, stream), stream)

            return work

        return {
            "a call from Python that does nothing": core.version,
            "queue a copy of 4 bytes": lambda: functions.async_memory_copy_d2d(device, stream, pair, pair + _SMALL, 4),
            "queue an event": lambda: functions.record_event(device, stream, event),
            "query an event": lambda: functions.query_event(device, event),
            "queue an event and wait for it": wait_for_event,
            "wait for a stream that is done": lambda: functions.synchronize_stream(device, stream),
            "allocate 4 KiB and give it back": allocate(_SMALL),
            "allocate 1 MiB and give it back": allocate(_LARGE),
            "the same from the pool, 4 KiB": allocate_from_pool(_SMALL),
            "the same from the pool, 1 MiB": allocate_from_pool(_LARGE),
        }
