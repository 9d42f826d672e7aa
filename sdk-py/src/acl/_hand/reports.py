"""The wait for callbacks. Ctrl-C can interrupt it.

Python handles signals on its main thread, between two operations of the interpreter, but never inside a native call. So
on the main thread, a long wait is divided into short ones.
"""

from __future__ import annotations

import threading
import time
from ctypes import c_int32
from math import ceil
from threading import get_ident
from typing import Any

from acl import _message
from acl._call import REFUSED, again, bind

__all__ = ["process_report"]

_process_report = bind("aclrtProcessReport", c_int32)
_peek_at_last_error = bind("aclrtPeekAtLastError", c_int32)
_get_last_error = bind("aclrtGetLastError", c_int32)

_ENDLESS = -1
_TIME_IS_OVER = 507012
_OF_THREAD = 0
_SHORT = 100
"""Milliseconds of a short wait, which is also the maximum delay of Ctrl-C."""


def process_report(*args: Any) -> int:
    """Runs the callbacks of the thread's streams. In the main thread Ctrl-C ends the wait."""
    try:
        (given,) = args
        # Converted as in C, which drops the upper bits.
        timeout = c_int32(given).value
        if timeout != _ENDLESS and timeout <= _SHORT or get_ident() != threading.main_thread().ident:
            ret: int = _process_report(timeout)
        else:
            ret = _in_short_waits(timeout)
    except REFUSED:
        ret = again(process_report, 1, args)
    return ret


def _in_short_waits(timeout: int) -> int:
    message = _message.take()
    is_clear = _peek_at_last_error(_OF_THREAD) == 0
    _restore(message)
    until = None if timeout == _ENDLESS else time.monotonic() + timeout / 1000
    while True:
        left = _SHORT if until is None else ceil((until - time.monotonic()) * 1000)
        now = max(1, min(left, _SHORT))
        ret: int = _process_report(now)
        if ret != _TIME_IS_OVER:
            return ret
        if until is not None and left <= _SHORT:
            message = _message.take() or ""
            _message.leave(message.replace(f"{now} ms", f"{timeout} ms"))
            return ret
        # Discards the status of the short waits, since nothing has failed. An older status that was not read is lost.
        _restore(message)
        if is_clear:
            _get_last_error(_OF_THREAD)


def _restore(message: str | None) -> None:
    _message.take()
    if message is not None:
        _message.leave(message)
