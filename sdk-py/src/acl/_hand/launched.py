"""Callbacks that were launched and have not run, and the functions that end their streams.

C identifies a callback by a number, and does not report when it drops one. So the functions that end streams are
written by hand: they remove the callbacks of ended streams, with all objects that these refer to.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from ctypes import POINTER, byref, c_int32, c_uint64
from operator import index
from typing import Any

from acl._call import REFUSED, again, bind

__all__ = ["destroy_context", "destroy_stream", "destroy_stream_force", "reset_device", "reset_device_force"]

_destroy_context = bind("aclrtDestroyContext", c_uint64)
_destroy_stream = bind("aclrtDestroyStream", c_uint64)
_destroy_stream_force = bind("aclrtDestroyStreamForce", c_uint64)
_reset_device = bind("aclrtResetDevice", c_int32)
_reset_device_force = bind("aclrtResetDeviceForce", c_int32)
_default_stream = bind("aclrtCtxGetCurrentDefaultStream", POINTER(c_uint64))
_stream_id = bind("aclrtStreamGetId", c_uint64, POINTER(c_int32))

_numbers = itertools.count(1)
_launched: dict[int, tuple[Callable[[Any], object], Any, int]] = {}
"""Function, argument and stream, by the number that C passes back."""


def put(function: Callable[[Any], object], user_data: Any, stream: Any) -> int:
    """Keeps a callback until it is taken or its stream ends; returns its number.

    Raises:
        TypeError: The stream is not a number.
    """
    number = next(_numbers)
    _launched[number] = (function, user_data, _handle(stream))
    return number


def take(number: int | None) -> tuple[Callable[[Any], object], Any] | None:
    """Removes and returns a callback, unless it was already removed."""
    launched = _launched.pop(number or 0, None)
    return None if launched is None else launched[:2]


def forget(stream: Any) -> None:
    """Removes the callbacks of a stream, which may be the default stream of the current context."""
    if _launched:
        _forget({_handle(stream)})


def forget_ended() -> None:
    """Removes the callbacks of all streams that have ended."""
    if not _launched:
        return
    # A query of an ended stream fails, and must not become the last error of the calling thread.
    asking = threading.Thread(target=_forget_unknown, daemon=True)
    try:
        asking.start()
    except RuntimeError:
        # The interpreter is shutting down.
        return
    asking.join()


def _forget_unknown() -> None:
    streams = {stream for _, _, stream in list(_launched.values())}
    _forget({stream for stream in streams if _stream_id(stream, byref(c_int32())) != 0})


def _forget(streams: set[int]) -> None:
    for number, (_, _, stream) in list(_launched.items()):
        if stream in streams:
            _launched.pop(number, None)


def _handle(stream: Any) -> int:
    handle = index(stream) & (1 << 64) - 1
    if handle == 0:
        default = c_uint64()
        _default_stream(default)
        handle = default.value
    return handle


def _ends_streams(name: str, native: Any) -> Callable[..., int]:
    def end(*args: Any) -> int:
        try:
            (what,) = args
            ret: int = native(what)
        except REFUSED:
            ret = again(end, 1, args)
            return ret
        if ret == 0:
            forget_ended()
        return ret

    end.__name__ = end.__qualname__ = name
    return end


destroy_stream = _ends_streams("destroy_stream", _destroy_stream)
destroy_stream_force = _ends_streams("destroy_stream_force", _destroy_stream_force)
destroy_context = _ends_streams("destroy_context", _destroy_context)
reset_device = _ends_streams("reset_device", _reset_device)
reset_device_force = _ends_streams("reset_device_force", _reset_device_force)
