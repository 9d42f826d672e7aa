"""Whether the library runs in this process: from the first use to the end, never in a forked child.

Nothing here knows what is alive. That is in `_lifetime`, and how it comes to its end in `_ending`.
"""

from __future__ import annotations

import threading
from threading import get_ident
from typing import TYPE_CHECKING

from tenon.errors import BusyError, NotInitialisedError

if TYPE_CHECKING:
    from collections.abc import Callable

lock = threading.RLock()
"""Held while the library or a device is opened or closed. Finalisers and callbacks do not take it."""
_begun = False
_forked = False
_leaving: int | None = None
"""The thread that ends the interpreter, once it does."""

calling_back: set[int] = set()
"""The threads that are inside of a stream's callback."""


def in_callback() -> bool:
    """Whether the calling thread is inside of a stream's callback."""
    return bool(calling_back) and get_ident() in calling_back


def refuse_in_callback() -> None:
    """Raises `BusyError` inside of a stream's callback, where a call to a device could wait for itself."""
    if in_callback():
        raise BusyError(
            "a stream's callback cannot call a device: the device waits for the callback. "
            "Hand the work to another thread, or queue it on a stream before"
        )


def refuse_in_child() -> None:
    """Raises `NotInitialisedError` in a forked child, where a lock of the library may be held by nobody."""
    if _forked:
        raise NotInitialisedError(
            "this is a forked child of a process that uses tenon, and the threads of its devices are not here. "
            'Start it by multiprocessing.get_context("spawn"), or fork before the first use'
        )


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
    refuse_in_child()
    refuse_in_callback()
    leave_if_ended()
    from tenon._native import core

    with lock:
        if _begun:
            return False
        if start is None:
            core.init(None)
        else:
            start()
        _begun = True
    return True


def is_begun() -> bool:
    """Whether it was begun, and has not ended since; in a forked child, whether the parent had."""
    return _begun


def end() -> None:
    """Has the next use begin it anew."""
    global _begun
    _begun = False


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


def leave() -> None:
    """Notes that the calling thread ends the interpreter."""
    global _leaving
    _leaving = get_ident()


def leaving() -> int | None:
    """The thread that ends the interpreter, once it does."""
    return _leaving


_in_child: list[Callable[[], None]] = []
"""What makes the locks of other modules anew."""


def in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Has a function called in a forked child, before anything else of the package."""
    _in_child.append(renew)
    return renew


def fork() -> None:
    """Notes that this is a forked child, in which only the calling thread is left."""
    global _forked, lock
    # Another thread of the parent may have held it.
    lock = threading.RLock()
    for renew in _in_child:
        renew()
    _forked = _begun
    if _forked:
        calling_back.clear()
