"""Tracks live device resources, which are released by `close`, by a finaliser, or with their device.

Each resource is one entry in the table of its session. The code path that removes the entry releases the resource.
Removal is a single dictionary operation, so a resource is released exactly once, without a lock. Finalisers must not
take locks: they can run at any allocation in any thread, even in a thread that holds a lock.

A finaliser never waits, and never calls a device in a stream callback. A resource that cannot be released at once is
deferred, and released when a later call creates, closes or waits for something.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tenon._lifecycle import process
from tenon.errors import BusyError, Error, InvalidHandleError

if TYPE_CHECKING:
    from collections.abc import Callable


class Release(NamedTuple):
    """The release of a resource."""

    session: Session
    now: Callable[[], object]
    """Releases the resource. If it fails, it is not called again."""
    is_ready: Callable[[], bool] | None
    """Returns True if `now` would not wait. None: `now` never waits."""
    is_memory: bool
    """True for memory, which other objects may refer to. The device must then stay open."""


class Session:
    """An open device with its live resources, from the first use until it is closed."""

    __slots__ = ("asking", "can_query", "ended", "handle", "host_accessible", "live", "name", "open_native", "streams")

    def __init__(self, name: str, open_native: Callable[[], tuple[int, bool, bool]]) -> None:
        self.name = name
        self.open_native = open_native
        self.handle = 0
        """The native handle; 0 before the device is opened, after it is closed, and in a forked child."""
        self.ended = False
        self.live: dict[int, Release] = {}
        """Resources that must be released, oldest first."""
        self.streams: set[int] = {0}
        """Native handles of the streams of this session and of the default stream."""
        self.asking: set[object] = set()
        """One token per running `is_idle` call. While there is one, no stream is destroyed; this replaces a lock."""
        self.can_query = False
        """True if the device has native query functions for streams and events. Valid after the device is opened."""
        self.host_accessible = False
        """True if the host can access device memory at device addresses. Valid after the device is opened."""

    def open(self) -> int:
        """Opens the device if it is not open. Called by each use of a handle that is 0.

        Raises:
            InvalidHandleError: The device was closed.
            NotInitialisedError: The process is a forked child.
            BusyError: The call comes from a stream callback.
        """
        process.begin()
        with process.lock:
            if self.ended:
                process.leave_if_ended()
                raise InvalidHandleError("the device is closed", device=self.name)
            if not self.handle:
                handle, self.can_query, self.host_accessible = self.open_native()
                self.handle = handle
                sessions.append(self)
        return self.handle

    def is_idle(self) -> bool:
        """Returns True if all streams of this session are done. Also True if the device has no query functions."""
        handle = self.handle
        if not (handle and self.can_query):
            return True
        question = object()
        try:
            self.asking.add(question)
            return all(_is_done(handle, stream) for stream in list(self.streams))
        finally:
            self.asking.discard(question)

    def memory_alive(self) -> int:
        """Returns the number of live memory blocks."""
        return sum(release.is_memory for release in list(self.live.values()))

    def end(self) -> None:
        """Marks the session as ended. Releases nothing."""
        self.handle = 0
        self.ended = True
        with contextlib.suppress(ValueError):
            sessions.remove(self)


def _is_done(device: int, stream: int) -> bool:
    from tenon._native import functions

    try:
        return functions.query_stream(device, stream)
    except Error:
        # Failed work no longer runs.
        return True


class Resource:
    """Base class of device resources, which must be released exactly once.

    A subclass calls `_own` when the native resource exists. The resource is released by `close`, at the end of a `with`
    if the class supports it, when the last reference is dropped, or when its device is closed, whichever is first.
    """

    __slots__ = ("__weakref__", "_key", "_live")

    _key: int
    _live: dict[int, Release]

    def _own(
        self,
        session: Session,
        release: Callable[[], object],
        is_ready: Callable[[], bool] | None = None,
        *,
        is_memory: bool = False,
    ) -> None:
        """Takes ownership of the native resource.

        Args:
            session: The session of the device.
            release: Releases the resource. It must not refer to this object, which would then never be finalised.
            is_ready: Returns True if `release` would not wait. None: it never waits.
            is_memory: True for memory. `Device.close` is refused while memory is alive.
        """
        if deferred:
            drain()
        self._key = next(_keys)
        session.live[self._key] = Release(session, release, is_ready, is_memory)
        # Set last, because the finaliser does nothing without it.
        self._live = session.live

    def _take(self) -> Release | None:
        """Removes the entry, so that the caller must release the resource. None: it was removed already."""
        return self._live.pop(self._key, None)

    @property
    def closed(self) -> bool:
        """True if the resource was released."""
        return self._key not in self._live

    def __del__(self) -> None:
        # At interpreter exit, module globals may be cleared. The tables are empty then, so this returns before it uses
        # a global. If there is no table, the constructor failed, and there is nothing to release.
        live = getattr(self, "_live", None)
        if live:
            release = live.pop(self._key, None)
            if release is not None:
                _drop(release)

    def __reduce__(self) -> NoReturn:
        # `copy` uses this method too. A copied object would release the resource twice.
        raise TypeError(f"cannot pickle or copy a {type(self).__name__}: it belongs to a device of this process")


_keys = itertools.count(1)
sessions: list[Session] = []
"""The sessions of the open devices."""
deferred: deque[Release] = deque()
"""Releases that finalisers had to defer."""


def _drop(release: Release) -> None:
    """Releases a resource without waiting. Defers the release if it would wait."""
    try:
        if process.in_callback() or not (release.is_ready is None or release.is_ready()):
            release_later(release)
        else:
            release.now()
    except (Error, SystemExit):
        # The device is closed or has failed. A wait for the device reports the failure; a finaliser has no caller to
        # report it to. A thread that must end (`SystemExit`) ends at its next call.
        pass


def release_later(release: Release) -> None:
    """Defers a release to the next call that creates, closes or waits for something."""
    deferred.append(release)


def drain(waiting_for: Session | None = None) -> None:
    """Runs the deferred releases that are ready.

    Args:
        waiting_for: A device that the caller waits for anyway. If it has no query functions, this function waits too.
    """
    # Limited to the current length, because releases that are not ready are appended again.
    for _ in range(len(deferred)):
        try:
            release = deferred.popleft()
        except IndexError:
            return
        if waiting_for is not None and release.session is waiting_for and not waiting_for.can_query:
            with contextlib.suppress(Error):
                release.now()
        else:
            _drop(release)


def end_session(session: Session, close: Callable[[int], object]) -> None:
    """Closes a device whose work is done, with its streams and events.

    Raises:
        BusyError: Memory of the device is alive.
    """
    with process.lock:
        handle = session.handle
        if not handle:
            session.end()
            return
        drain(session)
        alive = session.memory_alive()
        if alive:
            what = "a buffer is" if alive == 1 else f"{alive} buffers are"
            raise BusyError(f"{what} alive: close all buffers of the device first", device=session.name)
        # Marked first, so that other threads get the error for a closed device, not for an invalid stream.
        session.end()
        _release_all(session)
        close(handle)


def _release_all(session: Session) -> None:
    """Releases all live resources, newest first, because newer resources may depend on older ones."""
    live = session.live
    while live:
        try:
            _, release = live.popitem()
        except KeyError:
            return
        with contextlib.suppress(Error):
            release.now()


def end_all() -> None:
    """Waits for all devices, ends their sessions, and releases their live resources. Ignores failures."""
    from tenon._native import functions

    for session in list(sessions):
        # Deferred releases are ready only after the work is done.
        with contextlib.suppress(Error):
            functions.synchronize_device(session.handle)
        drain(session)
        session.end()
        _release_all(session)
    deferred.clear()


def abandon() -> None:
    """Disables all finalisers."""
    for session in sessions:
        session.handle = 0
        session.ended = True
        session.live.clear()
    deferred.clear()
