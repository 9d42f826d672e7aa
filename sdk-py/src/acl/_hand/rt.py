"""The hand-written functions of `acl.rt`: those whose callbacks must be kept alive."""

from __future__ import annotations

from ctypes import CFUNCTYPE, c_int32, c_uint64, c_void_p
from typing import Any

from acl._call import REFUSED, again, bind, homed, parse_failed
from acl._hand import launched
from acl._hand.lacking import OF_RT
from acl._hand.launched import (
    destroy_context,
    destroy_stream,
    destroy_stream_force,
    reset_device,
    reset_device_force,
)
from acl._hand.reports import process_report
from acl._hand.settings import (
    get_stream_attribute,
    malloc_for_task_scheduler,
    malloc_host_with_cfg,
    malloc_with_cfg,
    set_stream_attribute,
)

__all__ = [
    "destroy_context",
    "destroy_stream",
    "destroy_stream_force",
    "get_stream_attribute",
    "launch_callback",
    "malloc_for_task_scheduler",
    "malloc_host_with_cfg",
    "malloc_with_cfg",
    "process_report",
    "reset_device",
    "reset_device_force",
    "set_exception_info_callback",
    "set_stream_attribute",
    "unsubscribe_report",
]

_Callback = CFUNCTYPE(None, c_void_p)

_launch_callback = bind("aclrtLaunchCallback", _Callback, c_uint64, c_int32, c_uint64)
_unsubscribe_report = bind("aclrtUnSubscribeReport", c_uint64, c_uint64)
_set_exception_info_callback = bind("aclrtSetExceptionInfoCallback", _Callback)


def _run(number: int | None) -> None:
    # The function may have been removed already. An exception is reported like one in a destructor.
    callback = launched.take(number)
    if callback is not None:
        function, user_data = callback
        function(user_data)


_run_from_c = _Callback(_run)


def launch_callback(*args: Any) -> int:
    """Queues `fn(user_data)`, which `process_report` of the subscribed thread calls."""
    try:
        function, user_data, block_type, stream = args
    except ValueError:
        again(launch_callback, 4, args)
        raise
    if not callable(function):
        raise TypeError("parameter must be callable")
    try:
        # The stream may reach the callback before the call returns.
        number = launched.put(function, user_data, stream)
    except TypeError:
        raise parse_failed(launch_callback) from None
    try:
        ret: int = _launch_callback(_run_from_c, number, block_type, stream)
    except REFUSED:
        launched.take(number)
        ret = again(launch_callback, 4, args)
        return ret
    if ret != 0:
        launched.take(number)
    return ret


def unsubscribe_report(*args: Any) -> int:
    """Unsubscribes the thread of a stream, and removes callbacks that will not run any more."""
    try:
        thread_id, stream = args
        ret: int = _unsubscribe_report(thread_id, stream)
    except REFUSED:
        ret = again(unsubscribe_report, 2, args)
        return ret
    if ret == 0:
        launched.forget(stream)
    return ret


_exception_info_callback: Any = None
"""The current C callback, which must be kept alive."""


def set_exception_info_callback(*args: Any) -> int:
    """Sets the function that is called for each failure of queued work. None removes it."""
    global _exception_info_callback
    try:
        (function,) = args
    except ValueError:
        again(set_exception_info_callback, 1, args)
        raise
    if function is not None and not callable(function):
        raise TypeError("parameter must be callable")
    wrapped = _Callback(0) if function is None else _Callback(lambda info: function(info or 0))
    ret: int = _set_exception_info_callback(wrapped)
    if ret == 0:
        _exception_info_callback = wrapped
    return ret


def get_soc_name(*args: Any) -> str | None:
    """get_soc_name() -> str

    The same as ``acl.get_soc_name``, which programs also look for here.
    """
    import acl

    return acl.get_soc_name(*args)


BESIDE = homed("acl.rt", {"get_soc_name": get_soc_name, **OF_RT})
"""Functions of the module that C does not have, or whose C function is missing here."""
