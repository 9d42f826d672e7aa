"""Events: marks in a stream that others can wait for."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tenon import _arguments, _handled, _lifetime, _running, _wait
from tenon._native import functions
from tenon.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Generator
    from types import TracebackType
    from typing import Any

    from tenon.device import Device
    from tenon.stream import Stream


class Event(_handled.Handled):
    """A mark in a stream, which is done once the stream has passed it.

    An event that was never recorded counts as done. It can be waited for by a thread (`synchronize`), by a stream
    (`Stream.wait_event`), and by a task (`await event`). It is given back when the last reference goes, at `close`, or
    at the end of a `with`; streams that wait for it keep waiting for what they saw.

    Threads:
        Any thread may use any event.
    """

    __slots__ = ()

    _kind = "Event"

    def __init__(self, device: Device | str | None = None) -> None:
        """Makes an event.

        Args:
            device: The device, or its name; None: the current one.

        Raises:
            DeviceError: The device can make no further event.
        """
        from tenon.device import resolve

        self._device = resolve(device)
        native = self._device.handle
        self._handle = functions.create_event(native)
        self._own(self._device._session, partial(functions.destroy_event, native, self._handle))

    def record(self, stream: Stream | None = None) -> Event:
        """Puts the event into a stream: it is done when all work that was queued there before is done.

        The call does not wait. Recording again moves the event.

        Args:
            stream: The stream, of the same device; None: the current one of the device.

        Returns:
            The event itself.

        Raises:
            InvalidArgumentError: The stream is of another device.
        """
        if stream is None:
            stream = self._device.current_stream
        elif isinstance(stream, Event) or getattr(stream, "device", None) is not self._device:
            raise _wrong_stream(stream, self._device)
        functions.record_event(self._device.handle, stream.handle, self.handle)
        return self

    def query(self) -> bool:
        """Whether it is done. Does not wait, unless the device has no way to tell."""
        return functions.query_event(self._device.handle, self.handle)

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until the event is done. In the main thread Ctrl-C ends the wait.

        Args:
            timeout: Seconds at most; None: however long it takes.

        Raises:
            TimeoutError: It has taken longer.
            DeviceError: Work before the event failed.
        """
        session, handle = self._device._session, self._handle
        native = session.handle
        if (
            timeout is None
            and native
            and handle is not None
            and session.can_query
            and not _running.calling_back
            and functions.query_event(native, handle)
        ):
            # Most often there is nothing to wait for, but a failure may have to be told.
            functions.synchronize_event(native, handle)
        else:
            handles = self._device.handle, self.handle
            query = functions.query_event if session.can_query else None
            _wait.wait(self, query, functions.synchronize_event, handles, timeout)
        if _lifetime.deferred:
            _lifetime.drain()

    def __await__(self) -> Generator[Any, None, None]:
        """Waits in a task, without blocking the loop and without a thread.

        Raises:
            DeviceError: Work before the event failed.
        """
        handles = self._device.handle, self.handle
        # The event itself is part of it: it must not be given back while a task waits.
        return self._awaited(handles).__await__()

    async def _awaited(self, handles: tuple[int, int]) -> None:
        query = functions.query_event if self._device._session.can_query else None
        await _wait.wait_async(query, functions.synchronize_event, handles)

    def close(self) -> None:
        """Gives the event back; does nothing if it is closed.

        Raises:
            BusyError: This is a stream's callback; the event stays open.
        """
        if self.closed:
            return
        _running.refuse_in_callback()
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
    """The exception for a stream of another device. Raises `TypeError` for what is no stream."""
    from tenon.stream import Stream

    _arguments.expect(stream, Stream, "stream")
    return other_device("stream", stream.device, "event", own)


def other_device(what: str, device: Device, whose: str, own: Device) -> InvalidArgumentError:
    """The exception for two things that have to be of one device."""
    return InvalidArgumentError(f"the {what} is of {device.name}, but the {whose} of {own.name}", device=own.name)
