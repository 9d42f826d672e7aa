"""Shutdown of the library: by `tenon.shutdown` or at interpreter exit. A forked child does not shut it down."""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import TYPE_CHECKING

from tenon import _callbacks
from tenon._lifecycle import process, resources
from tenon.errors import BusyError, Error

if TYPE_CHECKING:
    from collections.abc import Callable


def shutdown() -> None:
    """Shuts the library down: waits for all devices, closes them with their streams and events, and unloads plugins.

    The next use of the package initialises the library again; existing objects stay closed. The call is optional: it
    also runs at interpreter exit.

    The shutdown affects all users of the library in the process. Calls of `acl` return an error afterwards, until `acl`
    is finalised and initialised again.

    Raises:
        BusyError: The call comes from a stream callback, calls of other threads do not end, or arrays of other packages
            refer to device memory.

    Threads:
        Any thread, except in a callback. Calls in other threads may raise `InvalidHandleError` afterwards.
    """
    process.refuse_in_callback()
    if process.is_forked():
        return
    from tenon._native import core

    with process.lock:
        if not process.is_begun():
            return
        if _arrays_alive():
            raise BusyError("arrays or views of other packages, such as NumPy, refer to device memory: drop them first")
        resources.end_all()
        process.end()
        for finish in _at_shutdown:
            finish()
        core.shutdown()


_users: list[Callable[[], int]] = []
"""Functions that count the arrays of other packages that refer to memory of the library."""


def counts_use(count: Callable[[], int]) -> Callable[[], int]:
    """Registers a function that counts arrays of other packages. `shutdown` is refused if the sum is not 0."""
    _users.append(count)
    return count


def _arrays_alive() -> int:
    return sum(count() for count in _users)


_at_shutdown: list[Callable[[], None]] = []
"""Functions that clear caches when the library is shut down."""


def at_shutdown(forget: Callable[[], None]) -> Callable[[], None]:
    """Registers a function that is called when the library is shut down."""
    _at_shutdown.append(forget)
    return forget


def _has_daemons() -> bool:
    """Returns True if other Python threads still run at interpreter exit."""
    # Device threads are in this list too, once a callback has called `current_thread`, as `logging` does.
    known = {process.leaving(), *_callbacks.threads}
    return any(thread.ident not in known for thread in threading.enumerate())


def _wait_for_work() -> None:
    # A later callback would need an interpreter that no longer exists. Polls with sleeps, because Ctrl-C ends a sleep
    # but not a native wait.
    pause = 0.0001
    while _callbacks.pending or not (_has_daemons() or all(session.is_idle() for session in resources.sessions)):
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def _at_exit() -> None:
    """Runs at interpreter exit, while threads and callbacks can still run."""
    if process.is_forked() or not process.is_begun():
        return
    process.leave()
    try:
        _wait_for_work()
        if _has_daemons():
            # Daemon threads still run. One may be reading device memory or may be about to use a handle. So nothing is
            # released here; the operating system frees everything.
            _abandon()
        else:
            shutdown()
    except (Error, KeyboardInterrupt):
        # At interpreter exit, no caller is left to handle the error.
        _abandon()


def _abandon() -> None:
    """Leaves the objects to the operating system, without a report of leaks."""
    from tenon._native import core

    resources.abandon()
    core.abandon()


def _in_child() -> None:
    process.fork()
    if process.is_forked():
        resources.abandon()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
