"""State of the library in this process: initialised at the first use, never used in a forked child.

`resources` tracks live objects, and `shutdown` implements the shutdown.
"""

from __future__ import annotations

import threading
from threading import get_ident
from typing import TYPE_CHECKING

from tenon.errors import BusyError, NotInitialisedError

if TYPE_CHECKING:
    from collections.abc import Callable

lock = threading.RLock()
"""Held while the library is initialised or shut down and while a device is opened or closed.

Finalisers and callbacks do not take it.
"""
_begun = False
_forked = False
_leaving: int | None = None
"""The thread that ends the interpreter; None before interpreter exit."""

calling_back: set[int] = set()
"""Identifiers of the threads that are in a stream callback."""


def in_callback() -> bool:
    """Returns True if the calling thread is in a stream callback."""
    return bool(calling_back) and get_ident() in calling_back


def refuse_in_callback() -> None:
    """Raises `BusyError` in a stream callback, where a call to a device could deadlock."""
    if in_callback():
        raise BusyError(
            "a stream callback must not call a device, because the device waits for the callback. "
            "Pass the work to another thread, or queue it on a stream beforehand"
        )


def refuse_in_child() -> None:
    """Raises `NotInitialisedError` in a forked child, where locks may be held by threads that do not exist."""
    if _forked:
        raise NotInitialisedError(
            "this process was forked from a process that uses tenon, and device threads do not survive a fork. "
            'Start it with multiprocessing.get_context("spawn"), or fork before the first use'
        )


def begin(start: Callable[[], None] | None = None) -> bool:
    """Initialises the library if necessary.

    Args:
        start: Initialises the library. None: initialises it from the environment variables.

    Returns:
        True if this call initialised the library.

    Raises:
        NotInitialisedError: The process is a forked child of a process that used the library.
        BusyError: The call comes from a stream callback.
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
    """Returns True if the library is initialised. In a forked child: True if it was initialised in the parent."""
    return _begun


def end() -> None:
    """Marks the library as shut down, so that the next use initialises it again."""
    global _begun
    _begun = False


def is_forked() -> bool:
    """Returns True in a forked child of a process that used the library."""
    return _forked


def leave_if_ended() -> None:
    """Ends the calling thread if another thread is ending the interpreter.

    At that point the devices are closed, and each call would fail. The calling thread is a daemon thread, which Python
    itself stops shortly after. `SystemExit` is the only exception that ends a thread without a message.
    """
    if _leaving is not None and _leaving != get_ident():
        raise SystemExit


def leave() -> None:
    """Marks the calling thread as the one that ends the interpreter."""
    global _leaving
    _leaving = get_ident()


def leaving() -> int | None:
    """Returns the thread that ends the interpreter; None before interpreter exit."""
    return _leaving


_in_child: list[Callable[[], None]] = []
"""Functions that replace the locks of other modules."""


def in_child(renew: Callable[[], None]) -> Callable[[], None]:
    """Registers a function that is called in a forked child before any other code of the package."""
    _in_child.append(renew)
    return renew


def fork() -> None:
    """Marks this process as a forked child, in which only the calling thread exists."""
    global _forked, lock
    # Another thread of the parent may have held the lock.
    lock = threading.RLock()
    for renew in _in_child:
        renew()
    _forked = _begun
    if _forked:
        calling_back.clear()
