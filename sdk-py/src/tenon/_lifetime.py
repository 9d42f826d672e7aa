"""What is alive, and how it ends: by hand, by its finaliser, at the interpreter's end, or not at all in a forked child.

Each thing that a device made is one entry in the table of its session, under a number of its own. Whoever takes the
entry out of the table releases the thing. Taking it out is one operation of a dictionary, so that a thing is released
once, whoever comes first, and without a lock: a finaliser may run at any allocation of any thread, also of one that
holds a lock.

A finaliser never waits, and never calls a device from a stream's callback. What cannot be released at once is kept, and
released when something is made, closed or waited for.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import threading
import time
from collections import deque
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from tenon.errors import BusyError, Error, InvalidHandleError, NotInitialisedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


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

    __slots__ = ("can_query", "ended", "handle", "host_accessible", "live", "name", "open_native", "streams")

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
        begin()
        with _lock:
            if self.ended:
                leave_if_ended()
                raise InvalidHandleError("the device is closed", device=self.name)
            if not self.handle:
                handle, self.can_query, self.host_accessible = self.open_native()
                self.handle = handle
                _sessions.append(self)
        return self.handle

    def is_idle(self) -> bool:
        """Whether its streams are done, as far as it can tell without waiting.

        Nobody else may use the package: a stream that another thread closes in between would be asked after its end.
        """
        from tenon._native import functions

        handle = self.handle
        if not (handle and self.can_query):
            return True
        try:
            return all(functions.query_stream(handle, stream) for stream in list(self.streams))
        except Error:
            # What has failed does nothing any more.
            return True

    def memory_alive(self) -> int:
        """How many pieces of memory are alive."""
        return sum(release.is_memory for release in list(self.live.values()))

    def end(self) -> None:
        """Marks it as ended; nothing is released."""
        self.handle = 0
        self.ended = True
        with contextlib.suppress(ValueError):
            _sessions.remove(self)


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
        if _deferred:
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
_lock = threading.RLock()
"""Held while the library or a device is opened or closed. Finalisers and callbacks do not take it."""
_sessions: list[Session] = []
_deferred: deque[Release] = deque()
_begun = False
_forked = False
_leaving: int | None = None
"""The thread that ends the interpreter, once it does."""

calling_back: set[int] = set()
"""The threads that are inside of a stream's callback."""
callback_threads: set[int] = set()
"""The threads that have ever been inside of one: they are the devices'."""
pending_callbacks: dict[int, Any] = {}
"""Callbacks that are queued or run."""


def refuse_in_callback() -> None:
    """Raises `BusyError` inside of a stream's callback, where a call to a device could wait for itself."""
    if calling_back and get_ident() in calling_back:
        raise BusyError(
            "a stream's callback cannot call a device: the device waits for the callback. "
            "Hand the work to another thread, or queue it on a stream before"
        )


def _drop(release: Release) -> None:
    """Releases without waiting; what would have to wait is kept for later."""
    try:
        if (calling_back and get_ident() in calling_back) or not (release.is_ready is None or release.is_ready()):
            release_later(release)
        else:
            release.now()
    except (Error, SystemExit):
        # Its device is closed or has failed. Who waits for the device is told; who drops a reference cannot be. And a
        # thread that is to end ends with its next call.
        pass


def release_later(release: Release) -> None:
    """Leaves a release to whoever makes, closes or waits for something next."""
    _deferred.append(release)


def drain(waiting_for: Session | None = None) -> None:
    """Releases what finalisers had to leave, as far as it is ready.

    Args:
        waiting_for: A device that the caller waits for anyway. If it cannot tell what is done, this waits too.
    """
    # As many as there are now: what is not ready comes back at the end.
    for _ in range(len(_deferred)):
        try:
            release = _deferred.popleft()
        except IndexError:
            return
        if waiting_for is not None and release.session is waiting_for and not waiting_for.can_query:
            with contextlib.suppress(Error):
                release.now()
        else:
            _drop(release)


def begin(start: Callable[[], None] | None = None) -> bool:
    """Begins the library, if it does not run.

    Args:
        start: How; None: as the environment says.

    Returns:
        Whether this call began it.

    Raises:
        NotInitialisedError: This is a forked child of a process that used the library.
        BusyError: This is a stream's callback.
    """
    global _begun
    if _begun and not _forked and not calling_back:
        return False
    if _forked:
        raise NotInitialisedError(
            "this is a forked child of a process that uses tenon, and the threads of its devices are not here. "
            'Start it by multiprocessing.get_context("spawn"), or fork before the first use'
        )
    refuse_in_callback()
    leave_if_ended()
    from tenon._native import core

    with _lock:
        if _begun:
            return False
        if start is None:
            core.init(None)
        else:
            start()
        _begun = True
    return True


def is_forked() -> bool:
    """Whether this is a forked child of a process that used the library."""
    return _forked


def leave_if_ended() -> None:
    """Ends a thread that still calls while the interpreter ends.

    The devices are closed then, and each call would fail. Such a thread is a daemon, which Python itself stops
    a moment later, and `SystemExit` is the one exception that a thread may end with in silence.
    """
    if _leaving is not None and _leaving != get_ident():
        raise SystemExit


def end_session(session: Session, close: Callable[[int], object]) -> None:
    """Closes a device whose work is done, and the streams and events that were made on it.

    Raises:
        BusyError: Memory of it is alive, which something may point into.
    """
    with _lock:
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


def shutdown() -> None:
    """Ends the library: waits for all devices, closes them and all that was made on them, and unloads the plugins.

    The next use of the package begins it anew; objects from before stay closed. It need not be called: it runs when the
    interpreter ends.

    Raises:
        BusyError: The call comes from a stream's callback, calls of other threads do not end, or arrays of others
            point into memory of a device.

    Threads:
        Any thread but a callback's. Other threads must expect `InvalidHandleError` from then on.
    """
    global _begun
    refuse_in_callback()
    if _forked:
        return
    from tenon._native import core

    with _lock:
        if not _begun:
            return
        if _arrays_alive():
            raise BusyError("arrays or views of somebody else's, such as NumPy's, point into memory: drop them first")
        sessions = list(_sessions)
        for session in sessions:
            drain(session)
            session.end()
            _release_all(session)
        _deferred.clear()
        _begun = False
        for finish in _at_shutdown:
            finish()
        core.shutdown()


_users: list[Callable[[], int]] = []
"""What counts the arrays of others that point into memory of the library."""


def counts_use(count: Callable[[], int]) -> Callable[[], int]:
    """Has a function asked, before the library ends, how many arrays would point nowhere."""
    _users.append(count)
    return count


def _arrays_alive() -> int:
    return sum(count() for count in _users)


_at_shutdown: list[Callable[[], None]] = []
"""What forgets what it knows of the library that ends."""


def at_shutdown(forget: Callable[[], None]) -> Callable[[], None]:
    """Has a function called when the library ends."""
    _at_shutdown.append(forget)
    return forget


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


def _has_daemons() -> bool:
    """Whether other threads of Python's are left while the interpreter ends."""
    # A device's thread is in the list too, once a callback has asked for its current thread, as `logging` does.
    known = {_leaving, *callback_threads}
    return any(thread.ident not in known for thread in threading.enumerate())


def _wait_for_work() -> None:
    # A callback that came later would ask for an interpreter that is gone. Sleeping, because Ctrl-C ends a sleep, but
    # not the native waits that follow.
    pause = 0.0001
    while pending_callbacks or not (_has_daemons() or all(session.is_idle() for session in _sessions)):
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def _at_exit() -> None:
    """Runs when the interpreter ends, while it can still run threads and callbacks."""
    global _leaving
    if _forked or not _begun:
        return
    _leaving = get_ident()
    try:
        _wait_for_work()
        if _has_daemons():
            # Daemons are left. One may be reading memory of a device, or be about to call with a handle that it has
            # read. So nothing goes away under them: all of it is the system's to take back.
            _abandon()
        else:
            shutdown()
    except (Error, KeyboardInterrupt):
        # There is nobody left to tell, and nothing that could still be done.
        _abandon()


def _abandon() -> None:
    """Makes every finaliser do nothing from now on."""
    for session in _sessions:
        session.handle = 0
        session.ended = True
        session.live.clear()
    _deferred.clear()


def _in_child() -> None:
    global _forked, _lock
    # Another thread of the parent may have held it.
    _lock = threading.RLock()
    if _begun:
        _forked = True
        _abandon()
        calling_back.clear()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
