"""How all of it ends: by `tenon.shutdown`, at the interpreter's end, or not at all in a forked child."""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import TYPE_CHECKING

from tenon import _callbacks, _lifetime, _running
from tenon.errors import BusyError, Error

if TYPE_CHECKING:
    from collections.abc import Callable


def shutdown() -> None:
    """Ends the library: waits for all devices, closes them and all that was made on them, and unloads the plugins.

    The next use of the package begins it anew; objects from before stay closed. It need not be called: it runs when the
    interpreter ends.

    What others of the process have from the library ends too. Calls of `acl` answer an error from then on, until it is
    finalized and initialized anew.

    Raises:
        BusyError: The call comes from a stream's callback, calls of other threads do not end, or arrays of others
            point into memory of a device.

    Threads:
        Any thread but a callback's. Other threads must expect `InvalidHandleError` from then on.
    """
    _running.refuse_in_callback()
    if _running.is_forked():
        return
    from tenon._native import core

    with _running.lock:
        if not _running.is_begun():
            return
        if _arrays_alive():
            raise BusyError("arrays or views of somebody else's, such as NumPy's, point into memory: drop them first")
        _lifetime.end_all()
        _running.end()
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


def _has_daemons() -> bool:
    """Whether other threads of Python's are left while the interpreter ends."""
    # A device's thread is in the list too, once a callback has asked for its current thread, as `logging` does.
    known = {_running.leaving(), *_callbacks.threads}
    return any(thread.ident not in known for thread in threading.enumerate())


def _wait_for_work() -> None:
    # A callback that came later would ask for an interpreter that is gone. Sleeping, because Ctrl-C ends a sleep, but
    # not the native waits that follow.
    pause = 0.0001
    while _callbacks.pending or not (_has_daemons() or all(session.is_idle() for session in _lifetime.sessions)):
        time.sleep(pause)
        pause = min(2 * pause, 0.01)


def _at_exit() -> None:
    """Runs when the interpreter ends, while it can still run threads and callbacks."""
    if _running.is_forked() or not _running.is_begun():
        return
    _running.leave()
    try:
        _wait_for_work()
        if _has_daemons():
            # Daemons are left. One may be reading memory of a device, or be about to call with a handle that it has
            # read. So nothing goes away under them: all of it is the system's to take back.
            _lifetime.abandon()
        else:
            shutdown()
    except (Error, KeyboardInterrupt):
        # There is nobody left to tell, and nothing that could still be done.
        _lifetime.abandon()


def _in_child() -> None:
    _running.fork()
    if _running.is_forked():
        _lifetime.abandon()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
