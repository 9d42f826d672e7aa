"""Functions of Python that a stream calls.

There is one native function for all of them; what it is handed is a number, under which the function is found. So the
function and its arguments belong to a table of Python's, not to the device, and leave it when the function is called.
"""

from __future__ import annotations

import itertools
import weakref
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple

from tenon import _lifetime, _running
from tenon._native import functions, types

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_numbers = itertools.count(1)


class _Queued(NamedTuple):
    function: Callable[..., object]
    arguments: tuple[Any, ...]
    session: _lifetime.Session


pending: dict[int, _Queued] = {}
"""What is queued or runs."""
threads: set[int] = set()
"""The threads that have ever been inside of a callback: they are the devices'."""


class _Told:
    """Something to forget, because what a weak reference's callback raises goes to `sys.unraisablehook`."""

    __slots__ = ("__weakref__",)


class _FailedCallback:
    """What the hook names as the origin of an exception."""

    __slots__ = ("device", "error", "function")

    def __init__(self, function: Callable[..., object], device: str, error: BaseException) -> None:
        self.function = function
        self.device = device
        self.error = error

    def __call__(self, _: object) -> None:
        try:
            raise self.error
        finally:
            # Its traceback has this frame.
            del self.error

    def __repr__(self) -> str:
        return f"<callback {self.function!r} of a stream of {self.device}>"


def _report(queued: _Queued, error: BaseException) -> None:
    told = _Told()
    reference = weakref.ref(told, _FailedCallback(queued.function, queued.session.name, error))
    del told
    # Only now: a reference that is gone before its object calls nobody.
    del reference


def _called(_device: object, _stream: object, number: int | None, _status: object) -> None:
    thread = get_ident()
    queued = pending.get(number or 0)
    if queued is None:
        return
    # The thread may make calls of its own around this one, as a device without threads does.
    is_outermost = thread not in _running.calling_back
    _running.calling_back.add(thread)
    threads.add(thread)
    try:
        queued.function(*queued.arguments)
    except BaseException as error:
        _report(queued, error)
    finally:
        # While the thread is still marked: this may drop the last reference to what a device made.
        del queued
        pending.pop(number or 0, None)
        if is_outermost:
            _running.calling_back.discard(thread)


# Made once, and kept by the module: a device may call it for as long as it has callbacks.
_native = types.StreamCallback(_called)


def queue(
    session: _lifetime.Session,
    stream: int,
    function: Callable[..., object],
    arguments: tuple[Any, ...],
    device: int,
) -> None:
    """Queues a call of a function on a stream.

    Args:
        session: That of the stream's device.
        stream: The stream's native handle.
        function: Called once, in a thread of the device's.
        arguments: What it is called with.
        device: The device's native handle.
    """
    _running.leave_if_ended()
    number = next(_numbers)
    pending[number] = _Queued(function, arguments, session)
    try:
        functions.stream_add_callback(device, stream, _native, number)
    except BaseException:
        pending.pop(number, None)
        raise


def forget(session: _lifetime.Session) -> None:
    """Drops what can never be called any more, because its device is closed."""
    for number, queued in list(pending.items()):
        if queued.session is session:
            pending.pop(number, None)
