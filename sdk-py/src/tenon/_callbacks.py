"""Stream callbacks in Python.

All callbacks share one native function, whose user data is a number. A table maps the number to the Python function and
its arguments. The table, not the device, owns them, and the entry is removed when the function has been called.
"""

from __future__ import annotations

import itertools
import weakref
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple

from tenon._lifecycle import process, resources
from tenon._native import functions, types

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_numbers = itertools.count(1)


class _Queued(NamedTuple):
    function: Callable[..., object]
    arguments: tuple[Any, ...]
    session: resources.Session


pending: dict[int, _Queued] = {}
"""Callbacks that are queued or running, by number."""
threads: set[int] = set()
"""Identifiers of all threads that have run a callback. They are threads of devices."""


class _Reported:
    """A weakly referenced object. An exception in a weak reference's callback is passed to `sys.unraisablehook`."""

    __slots__ = ("__weakref__",)


class _FailedCallback:
    """The object that the hook shows as the origin of an exception."""

    __slots__ = ("device", "error", "function")

    def __init__(self, function: Callable[..., object], device: str, error: BaseException) -> None:
        self.function = function
        self.device = device
        self.error = error

    def __call__(self, _: object) -> None:
        try:
            raise self.error
        finally:
            # The traceback refers to this frame, which would keep the error alive.
            del self.error

    def __repr__(self) -> str:
        return f"<callback {self.function!r} of a stream of {self.device}>"


def _report(queued: _Queued, error: BaseException) -> None:
    reported = _Reported()
    reference = weakref.ref(reported, _FailedCallback(queued.function, queued.session.name, error))
    del reported
    # Deleted after the object: a weak reference that is deleted first does not run its callback.
    del reference


def _called(_device: object, _stream: object, number: int | None, _status: object) -> None:
    thread = get_ident()
    queued = pending.get(number or 0)
    if queued is None:
        return
    # Callbacks can nest: a device without threads runs them inside a call of the program.
    is_outermost = thread not in process.calling_back
    process.calling_back.add(thread)
    threads.add(thread)
    try:
        queued.function(*queued.arguments)
    except BaseException as error:
        _report(queued, error)
    finally:
        # Done while the thread is still marked: this may drop the last reference to a device resource.
        del queued
        pending.pop(number or 0, None)
        if is_outermost:
            process.calling_back.discard(thread)


# Kept alive by the module, because a device may call it as long as it has callbacks.
_native = types.StreamCallback(_called)


def queue(
    session: resources.Session,
    stream: int,
    function: Callable[..., object],
    arguments: tuple[Any, ...],
    device: int,
) -> None:
    """Queues a callback on a stream.

    Args:
        session: The session of the device of the stream.
        stream: The native handle of the stream.
        function: The function, which is called once, in a thread of the device.
        arguments: The arguments of the call.
        device: The native handle of the device.
    """
    process.leave_if_ended()
    number = next(_numbers)
    pending[number] = _Queued(function, arguments, session)
    try:
        functions.stream_add_callback(device, stream, _native, number)
    except BaseException:
        pending.pop(number, None)
        raise


def forget(session: resources.Session) -> None:
    """Drops the callbacks of a closed device, which can no longer be called."""
    for number, queued in list(pending.items()):
        if queued.session is session:
            pending.pop(number, None)
