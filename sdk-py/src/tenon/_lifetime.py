"""What is alive, and who releases it: by hand, by its finaliser, or with its device.

Each thing that a device made is one entry in the table of its session, under a number of its own. Whoever takes the
entry out of the table releases the thing. Taking it out is one operation of a dictionary, so that a thing is released
once, whoever comes first, and without a lock: a finaliser may run at any allocation of any thread, also of one that
holds a lock.

A finaliser never waits, and never calls a device from a stream's callback. What cannot be released at once is kept, and
released when something is made, closed or waited for.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import deque
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tenon import _running
from tenon.errors import BusyError, Error, InvalidHandleError

if TYPE_CHECKING:
    from collections.abc import Callable


class Release(NamedTuple):
    """How a thing is given back."""

    session: Session
    now: Callable[[], object]
    """Gives it back. It may fail, and then nobody is left to try again."""
    is_ready: Callable[[], bool] | None
    """Whether that would not wait; None: it never waits."""
    is_memory: bool
    """Whether something may point into it, so that its device must stay open."""


class Session:
    """One opening of a device, from the first use to the close, with all that is alive of it."""

    __slots__ = ("asking", "can_query", "ended", "handle", "host_accessible", "live", "name", "open_native", "streams")

    def __init__(self, name: str, open_native: Callable[[], tuple[int, bool, bool]]) -> None:
        self.name = name
        self.open_native = open_native
        self.handle = 0
        """The native handle; 0 before the opening, after the close, and in a forked child."""
        self.ended = False
        self.live: dict[int, Release] = {}
        """What has to be given back, oldest first."""
        self.streams: set[int] = {0}
        """Native handles of the streams that were made here, and of the default stream."""
        self.asking: set[object] = set()
        """Who asks all of them at the moment. None is destroyed meanwhile, and that without a lock."""
        self.can_query = False
        """Whether the device tells without waiting if a stream or an event is done; known once it is open."""
        self.host_accessible = False
        """Whether the host reaches the device's memory at its addresses; known once it is open."""

    def open(self) -> int:
        """Opens the device if it is not open; what every use of a handle comes to when the handle is 0.

        Raises:
            InvalidHandleError: It was closed.
            NotInitialisedError: This is a forked child.
            BusyError: This is a stream's callback.
        """
        _running.begin()
        with _running.lock:
            if self.ended:
                _running.leave_if_ended()
                raise InvalidHandleError("the device is closed", device=self.name)
            if not self.handle:
                handle, self.can_query, self.host_accessible = self.open_native()
                self.handle = handle
                sessions.append(self)
        return self.handle

    def is_idle(self) -> bool:
        """Whether the streams that were made here are done, as far as it can tell without waiting."""
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
        """How many pieces of memory are alive."""
        return sum(release.is_memory for release in list(self.live.values()))

    def end(self) -> None:
        """Marks it as ended; nothing is released."""
        self.handle = 0
        self.ended = True
        with contextlib.suppress(ValueError):
            sessions.remove(self)


def _is_done(device: int, stream: int) -> bool:
    from tenon._native import functions

    try:
        return functions.query_stream(device, stream)
    except Error:
        # What has failed does nothing any more.
        return True


class Resource:
    """Base of what a device made and what has to be given back once.

    A subclass calls `_own` when the thing exists. It is then released by `close`, by the end of a `with` where the
    class offers one, when the last reference goes, or when its device is closed, whichever is first.
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
        """Takes over the thing.

        Args:
            session: The device's.
            release: Gives the thing back. It must not refer to this object, which could never be dropped then.
            is_ready: Whether `release` would not wait; None: it never does.
            is_memory: Whether it is memory, which keeps its device from being closed by hand.
        """
        if deferred:
            drain()
        self._key = next(_keys)
        session.live[self._key] = Release(session, release, is_ready, is_memory)
        # Last, because the finaliser begins with it.
        self._live = session.live

    def _take(self) -> Release | None:
        """Takes the duty to release it; None: somebody else has it, or it is done."""
        return self._live.pop(self._key, None)

    @property
    def closed(self) -> bool:
        """Whether it has been given back."""
        return self._key not in self._live

    def __del__(self) -> None:
        # When an interpreter ends, names of modules may be gone already; the tables are empty then, so that this
        # returns before it needs one. Without a table the constructor failed, and there is nothing to give back.
        live = getattr(self, "_live", None)
        if live:
            release = live.pop(self._key, None)
            if release is not None:
                _drop(release)

    def __reduce__(self) -> NoReturn:
        # Also what `copy` asks for: a copy would be released twice.
        raise TypeError(f"cannot pickle or copy a {type(self).__name__}: it belongs to a device of this process")


_keys = itertools.count(1)
sessions: list[Session] = []
"""Those of the devices that are open."""
deferred: deque[Release] = deque()
"""What finalisers had to leave."""


def _drop(release: Release) -> None:
    """Releases without waiting; what would have to wait is kept for later."""
    try:
        if _running.in_callback() or not (release.is_ready is None or release.is_ready()):
            release_later(release)
        else:
            release.now()
    except (Error, SystemExit):
        # Its device is closed or has failed. Who waits for the device is told; who drops a reference cannot be. And a
        # thread that is to end ends with its next call.
        pass


def release_later(release: Release) -> None:
    """Leaves a release to whoever makes, closes or waits for something next."""
    deferred.append(release)


def drain(waiting_for: Session | None = None) -> None:
    """Releases what finalisers had to leave, as far as it is ready.

    Args:
        waiting_for: A device that the caller waits for anyway. If it cannot tell what is done, this waits too.
    """
    # As many as there are now: what is not ready comes back at the end.
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
    """Closes a device whose work is done, and the streams and events that were made on it.

    Raises:
        BusyError: Memory of it is alive, which something may point into.
    """
    with _running.lock:
        handle = session.handle
        if not handle:
            session.end()
            return
        drain(session)
        alive = session.memory_alive()
        if alive:
            what = "a buffer is" if alive == 1 else f"{alive} buffers are"
            raise BusyError(f"{what} alive: close what has memory of the device first", device=session.name)
        # First, so that other threads are told that the device is closed, and not that its streams are gone.
        session.end()
        _release_all(session)
        close(handle)


def _release_all(session: Session) -> None:
    """Gives back what is alive, youngest first, as what is younger may depend on what is older."""
    live = session.live
    while live:
        try:
            _, release = live.popitem()
        except KeyError:
            return
        with contextlib.suppress(Error):
            release.now()


def end_all() -> None:
    """Waits for all devices, ends their sessions, and releases what is alive of them, as far as that does not fail."""
    from tenon._native import functions

    for session in list(sessions):
        # What was dropped with work left can be released only then.
        with contextlib.suppress(Error):
            functions.synchronize_device(session.handle)
        drain(session)
        session.end()
        _release_all(session)
    deferred.clear()


def abandon() -> None:
    """Makes every finaliser do nothing from now on."""
    for session in sessions:
        session.handle = 0
        session.ended = True
        session.live.clear()
    deferred.clear()
