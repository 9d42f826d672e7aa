"""Streams: queues of work that a device runs in order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tenon import _arguments, _callbacks, _current, _handled, _lifetime, _running, _wait
from tenon._native import functions
from tenon.errors import Error
from tenon.event import Event, other_device

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from tenon.device import Device


class Stream(_handled.Handled):
    """A queue of work that a device runs in order.

    `with stream:` makes it the current stream of its device, and the device the current one, for the thread or the
    task; it does not close it. When the last reference goes, nobody waits: a stream that still has work is given back
    once that is done. `close` waits.

    Threads:
        Any thread may use any stream.
    """

    __slots__ = ()

    _kind = "Stream"

    def __init__(self, device: Device | str | None = None) -> None:
        """Makes a stream.

        Args:
            device: The device, or its name; None: the current one.

        Raises:
            DeviceError: The device can make no further stream.
        """
        from tenon.device import resolve

        self._device = resolve(device)
        session, native = self._device._session, self._device.handle
        if not session.can_query:
            # Nobody knows when streams that were dropped are done, so that whoever makes a new one waits for them.
            _lifetime.drain(session)
        handle = functions.create_stream(native)
        self._handle = handle
        # 0 where a device has its default stream only.
        session.streams.add(handle)
        self._own(
            session,
            partial(_destroy, session, native, handle),
            partial(_is_idle, session, native, handle),
        )

    def query(self) -> bool:
        """Whether all its work is done. Does not wait, unless the device has no way to tell."""
        return functions.query_stream(self._device.handle, self.handle)

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until all work that was queued before is done. In the main thread Ctrl-C ends the wait.

        Args:
            timeout: Seconds at most; None: however long it takes.

        Raises:
            TimeoutError: It has taken longer. The work goes on.
            DeviceError: Work on the stream failed.
        """
        session, handle = self._device._session, self._handle
        native = session.handle
        if (
            timeout is None
            and native
            and handle is not None
            and session.can_query
            and not _running.calling_back
            and functions.query_stream(native, handle)
        ):
            # Most often there is nothing to wait for, but a failure may have to be told.
            functions.synchronize_stream(native, handle)
        else:
            handles = self._device.handle, self.handle
            query = functions.query_stream if session.can_query else None
            _wait.wait(self, query, functions.synchronize_stream, handles, timeout)
        if _lifetime.deferred:
            _lifetime.drain()

    async def synchronize_async(self) -> None:
        """The same in a task, without blocking the loop. If the task is cancelled, the work goes on.

        Raises:
            DeviceError: Work on the stream failed.
        """
        handles = self._device.handle, self.handle
        query = functions.query_stream if self._device._session.can_query else None
        await _wait.wait_async(query, functions.synchronize_stream, handles)

    def wait_event(self, event: Event) -> None:
        """Makes work that is queued from now on wait for an event. The caller does not wait.

        Raises:
            InvalidArgumentError: The event is of another device.
        """
        _arguments.expect(event, Event, "event")
        if event.device is not self._device:
            raise other_device("event", event.device, "stream", self._device)
        functions.stream_wait_event(self._device.handle, self.handle, event.handle)

    def wait_stream(self, other: Stream) -> None:
        """Makes work that is queued from now on wait for what is queued on another stream now.

        Raises:
            InvalidArgumentError: The stream is of another device.
        """
        _arguments.expect(other, Stream, "other")
        if other.device is not self._device:
            raise other_device("other stream", other.device, "stream", self._device)
        with other.record_event() as event:
            self.wait_event(event)

    def record_event(self, event: Event | None = None) -> Event:
        """Puts an event into the stream.

        Args:
            event: The event, of the same device; None: a new one.

        Returns:
            The event.
        """
        if event is None:
            return Event(self._device).record(self)
        _arguments.expect(event, Event, "event")
        return event.record(self)

    def add_callback(self, function: Callable[..., object], *arguments: Any) -> None:
        """Queues a call of a function: it runs when all work before it is done, and work after it waits for it.

        It runs once, in a thread of the device. There it must not use a device, which raises `BusyError`: the device
        waits for it. What it raises goes to `sys.unraisablehook`, and the stream goes on. It and its arguments are let
        go when it has run.

        Args:
            function: What is called.
            arguments: What it is called with.

        Raises:
            TypeError: `function` cannot be called.
            UnsupportedError: The device calls nobody back.
        """
        if not callable(function):
            raise TypeError(f"function must be callable, not {type(function).__name__}")
        native = self._device.handle
        _callbacks.queue(self._device._session, self.handle, function, arguments, native)

    def close(self) -> None:
        """Waits for the stream's work and gives the stream back; does nothing if it is closed, or the default stream.

        Raises:
            DeviceError: Work on the stream failed. The stream is given back nevertheless.
            BusyError: This is a stream's callback; the stream stays open.
        """
        if self.closed:
            return
        _running.refuse_in_callback()
        release = self._take()
        if release is None:
            return
        try:
            try:
                self.synchronize()
            finally:
                # First, so that other threads are told that it is closed, and not that there is no such stream.
                self._handle = None
        except Error:
            release.now()
            raise
        except BaseException:
            # Ctrl-C ends the wait, so this must not begin another one.
            _lifetime.release_later(release)
            raise
        release.now()

    def __enter__(self) -> Stream:
        # Asking for the handle sees that it is open.
        _ = self.handle
        _current.enter(self._device, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _current.leave(self)


class DefaultStream(Stream):
    """The stream that a device has from the beginning, and that nobody closes."""

    __slots__ = ()

    def __init__(self, device: Device) -> None:
        self._device = device
        self._handle = 0

    @property
    def closed(self) -> bool:
        """Whether its device is closed."""
        return self._device.closed

    def close(self) -> None:
        """Does nothing."""

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<tenon.Stream default on {self._device.name}{state}>"


def _is_idle(session: _lifetime.Session, device: int, handle: int) -> bool:
    # A device that cannot tell would wait, so that its streams are left to whoever waits for the device.
    return session.can_query and functions.query_stream(device, handle)


def _destroy(session: _lifetime.Session, device: int, handle: int) -> None:
    if handle:
        session.streams.discard(handle)
    # Who asks for all streams may have seen this one before that line, but not after it.
    if session.asking and not session.ended:
        again = partial(_destroy, session, device, handle)
        _lifetime.release_later(_lifetime.Release(session, again, lambda: not session.asking, is_memory=False))
    else:
        functions.destroy_stream(device, handle)
