"""The last message of a thread, whether the failure was in the library or in Python code."""

from __future__ import annotations

import threading
from ctypes import c_char_p

from tenon._native.library import bind_acl as bind

__all__ = ["leave", "take"]

_native = bind("aclGetRecentErrMsg", restype=c_char_p)
_here = threading.local()


def leave(message: str) -> None:
    """Sets the message for `take` on the same thread."""
    _native()
    _here.message = message


def take() -> str | None:
    """Takes the last message of the thread and clears it; None if there is none."""
    # `leave` clears the library's message, so an existing message is newer.
    message: bytes | None = _native()
    here: str | None = getattr(_here, "message", None)
    _here.message = None
    return here if message is None else message.decode("utf-8", "replace")
