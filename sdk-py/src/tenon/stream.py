"""Streams: queues of work that a device runs in order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tenon import _arguments, _callbacks, _current, _wait
from tenon._lifecycle import handled, process, resources
from tenon._native import functions
from tenon.errors import Error
from tenon.event import Event, other_device

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType
    from typing import Any

    from tenon.device import Device


class Stream(handled.Handled):
    """A queue of work that a device runs in order.

    `with stream:` makes it the current stream of its device, and its device the current device, for the thread or task.
    It does not close the stream. Dropping the last reference does not block: a stream with pending work is destroyed
    after that work is done. `close` waits.

    Threads:
        Any thread may use any stream.
    """

    __slots__ = ()

    _kind = "Stream"

    def __init__(self, device: Device | str | None = None) -> None:
        """Creates a stream.

        Args:
            device: The device or its name. None: the current device.

        Raises:
            DeviceError: The device cannot create another stream.
        """
        from tenon.device import resolve

        self._device = resolve(device)
        session, native = self._device._session, self._device.handle
        if not session.can_query:
            # Without queries, only a wait shows that a dropped stream is done. So wait before creating another one.
            resources.drain(session)
        handle = functions.create_stream(native)
        self._handle = handle
        # The handle is 0 if the device supports only its default stream.
        session.streams.add(handle)
        self._own(
            session,
            partial(_destroy, session, native, handle),
            partial(_is_idle, session, native, handle),
        )

    def query(self) -> bool:
        """Returns True if all work on the stream is done. Does not wait, unless the device has no query function."""
        return functions.query_stream(self._device.handle, self.handle)

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until all work queued so far is done. In the main thread, Ctrl-C ends the wait.

        Args:
            timeout: The longest wait in seconds. None: no limit.

        Raises:
            TimeoutError: The work is not done after `timeout`. It continues.
            DeviceError: Work on the stream failed.
        """
        session, handle = self._device._session, self._handle
        native = session.handle
        if (
            timeout is None
            and native
            and handle is not None
            and session.can_query
            and not process.calling_back
            and functions.query_stream(native, handle)
        ):
            # Usually there is nothing to wait for, but a failure may have to be reported.
            functions.synchronize_stream(native, handle)
        else:
            handles = self._device.handle, self.handle
            query = functions.query_stream if session.can_query else None
            _wait.wait(self, query, functions.synchronize_stream, handles, timeout)
        if resources.deferred:
            resources.drain()

    async def synchronize_async(self) -> None:
        """Does the same as `synchronize` in a task, without blocking the event loop.

        If the task is cancelled, the work continues.

        Raises:
            DeviceError: Work on the stream failed.
        """
        handles = self._device.handle, self.handle
        query = functions.query_stream if self._device._session.can_query else None
        await _wait.wait_async(query, functions.synchronize_stream, handles)

    def wait_event(self, event: Event) -> None:
        """Makes work queued from now on wait for an event. The caller does not wait.

        Raises:
            InvalidArgumentError: The event belongs to another device.
        """
        _arguments.expect(event, Event, "event")
        if event.device is not self._device:
            raise other_device("event", event.device, "stream", self._device)
        functions.stream_wait_event(self._device.handle, self.handle, event.handle)

    def wait_stream(self, other: Stream) -> None:
        """Makes work queued from now on wait for all work queued on another stream so far.

        Raises:
            InvalidArgumentError: The other stream belongs to another device.
        """
        _arguments.expect(other, Stream, "other")
        if other.device is not self._device:
            raise other_device("other stream", other.device, "stream", self._device)
        with other.record_event() as event:
            self.wait_event(event)

    def record_event(self, event: Event | None = None) -> Event:
        """Records an event on the stream.

        Args:
            event: An event of the same device. None: a new event.

        Returns:
            The event.
        """
        if event is None:
            return Event(self._device).record(self)
        _arguments.expect(event, Event, "event")
        return event.record(self)

    def add_callback(self, function: Callable[..., object], *arguments: Any) -> None:
        """Queues a callback, which runs after all earlier work on the stream. Later work waits for the callback.

        The callback runs once, in a thread of the device. It must not use a device: the device waits for the callback,
        so each such call raises `BusyError`. Exceptions of the callback are passed to `sys.unraisablehook`, and the
        stream continues. The references to the callback and its arguments are dropped after it has run.

        Args:
            function: The function to call.
            arguments: The arguments of the call.

        Raises:
            TypeError: `function` is not callable.
            UnsupportedError: The device does not support callbacks.
        """
        if not callable(function):
            raise TypeError(f"function must be callable, not {type(function).__name__}")
        native = self._device.handle
        _callbacks.queue(self._device._session, self.handle, function, arguments, native)

    def close(self) -> None:
        """Waits for the work on the stream and destroys it. Does nothing for a closed stream and the default stream.

        Raises:
            DeviceError: Work on the stream failed. The stream is destroyed anyway.
            BusyError: The call comes from a stream callback. The stream stays open.
        """
        if self.closed:
            return
        process.refuse_in_callback()
        release = self._take()
        if release is None:
            return
        try:
            try:
                self.synchronize()
            finally:
                # Cleared before the stream is destroyed, so that other threads see a closed stream, not a bad handle.
                self._handle = None
        except Error:
            release.now()
            raise
        except BaseException:
            # Ctrl-C has ended the wait. Destroying the stream now could wait again.
            resources.release_later(release)
            raise
        release.now()

    def __await__(self) -> Generator[Any, None, None]:
        """Waits in a task as `synchronize_async` does, without blocking the event loop.

        Raises:
            DeviceError: Work on the stream failed.
        """
        return self.synchronize_async().__await__()

    def __enter__(self) -> Stream:
        # Raises an exception if the stream is closed.
        _ = self.handle
        _current.enter(self._device, self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _current.leave(self)


class DefaultStream(Stream):
    """The default stream of a device. It always exists and cannot be closed."""

    __slots__ = ()

    def __init__(self, device: Device) -> None:
        self._device = device
        self._handle = 0

    @property
    def closed(self) -> bool:
        """True if the device is closed."""
        return self._device.closed

    def close(self) -> None:
        """Does nothing."""

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<tenon.Stream default on {self._device.name}{state}>"


def _is_idle(session: resources.Session, device: int, handle: int) -> bool:
    # Without a query function the call would wait. Such streams are destroyed when a caller waits for the device.
    return session.can_query and functions.query_stream(device, handle)


def _destroy(session: resources.Session, device: int, handle: int) -> None:
    if handle:
        session.streams.discard(handle)
    # `Session.is_idle` may have copied the set of streams before the line above and may query this stream.
    if session.asking and not session.ended:
        again = partial(_destroy, session, device, handle)
        resources.release_later(resources.Release(session, again, lambda: not session.asking, is_memory=False))
    else:
        functions.destroy_stream(device, handle)
