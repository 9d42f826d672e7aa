"""Events: points in a stream that threads, tasks and other streams can wait for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tenon import _arguments, _wait
from tenon._lifecycle import handled, process, resources
from tenon._native import functions
from tenon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType
    from typing import Any

    from tenon.device import Device
    from tenon.stream import Stream


class Event(handled.Handled):
    """A point in a stream. The event is done when all work before this point is done.

    An event that was never recorded counts as done. A thread waits for an event with `synchronize`, a stream with
    `Stream.wait_event`, a task with `await event`. The event is destroyed when the last reference is dropped, by
    `close`, or at the end of a `with`. A stream that already waits for it keeps waiting for the recorded point.

    Threads:
        Any thread may use any event.
    """

    __slots__ = ()

    _kind = "Event"

    def __init__(self, device: Device | str | None = None) -> None:
        """Creates an event.

        Args:
            device: The device or its name. None: the current device.

        Raises:
            DeviceError: The device cannot create another event.
        """
        from tenon.device import resolve

        self._device = resolve(device)
        native = self._device.handle
        self._handle = functions.create_event(native)
        self._own(self._device._session, partial(functions.destroy_event, native, self._handle))

    def record(self, stream: Stream | None = None) -> Event:
        """Records the event on a stream: it is done when all work queued there so far is done.

        The call does not wait. Recording again moves the event.

        Args:
            stream: A stream of the same device. None: the current stream of the device.

        Returns:
            The event itself.

        Raises:
            InvalidArgumentError: The stream belongs to another device.
        """
        if stream is None:
            stream = self._device.current_stream
        elif isinstance(stream, Event) or getattr(stream, "device", None) is not self._device:
            raise _wrong_stream(stream, self._device)
        functions.record_event(self._device.handle, stream.handle, self.handle)
        return self

    def query(self) -> bool:
        """Returns True if the event is done. Does not wait, unless the device has no query function."""
        return functions.query_event(self._device.handle, self.handle)

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until the event is done. In the main thread, Ctrl-C ends the wait.

        Args:
            timeout: The longest wait in seconds. None: no limit.

        Raises:
            TimeoutError: The event is not done after `timeout`.
            DeviceError: Work before the event failed.
        """
        session, handle = self._device._session, self._handle
        native = session.handle
        if (
            timeout is None
            and native
            and handle is not None
            and session.can_query
            and not process.calling_back
            and functions.query_event(native, handle)
        ):
            # Usually there is nothing to wait for, but a failure may have to be reported.
            functions.synchronize_event(native, handle)
        else:
            handles = self._device.handle, self.handle
            query = functions.query_event if session.can_query else None
            _wait.wait(self, query, functions.synchronize_event, handles, timeout)
        if resources.deferred:
            resources.drain()

    def elapsed_time(self, end: Event) -> float:
        """Returns the time from this event to a later one in milliseconds. The device measures it.

        The time is negative if `end` was done first, which is possible if the events are on different streams.

        Args:
            end: An event of the same device.

        Raises:
            InvalidArgumentError: `end` belongs to another device.
            DeviceError: One of the events is not done, or was never recorded.
            UnsupportedError: The device does not measure the time between events.
        """
        _arguments.expect(end, Event, "end")
        if end.device is not self._device:
            raise other_device("end event", end.device, "start event", self._device)
        return functions.event_elapsed_time(self._device.handle, self.handle, end.handle) / 1e6

    def __await__(self) -> Generator[Any, None, None]:
        """Waits in a task without blocking the event loop. Uses a thread only if the device has no query function.

        Raises:
            DeviceError: Work before the event failed.
        """
        handles = self._device.handle, self.handle
        # The coroutine refers to the event, so the event is not destroyed while a task waits.
        return self._awaited(handles).__await__()

    async def _awaited(self, handles: tuple[int, int]) -> None:
        query = functions.query_event if self._device._session.can_query else None
        await _wait.wait_async(query, functions.synchronize_event, handles)

    def close(self) -> None:
        """Destroys the event. Does nothing if it is closed.

        Raises:
            BusyError: The call comes from a stream callback. The event stays open.
        """
        if self.closed:
            return
        process.refuse_in_callback()
        release = self._take()
        self._handle = None
        if release is not None:
            release.now()

    def __enter__(self) -> Event:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _wrong_stream(stream: Any, own: Device) -> InvalidArgumentError:
    """Returns the exception for a stream of another device. Raises `TypeError` if `stream` is not a stream."""
    from tenon.stream import Stream

    _arguments.expect(stream, Stream, "stream")
    return other_device("stream", stream.device, "event", own)


def other_device(what: str, device: Device, whose: str, own: Device) -> InvalidArgumentError:
    """Returns the exception for two objects that must belong to the same device."""
    return InvalidArgumentError(
        f"the {what} belongs to {device.name}, but the {whose} belongs to {own.name}", device=own.name
    )
