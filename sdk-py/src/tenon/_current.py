"""Which device and which stream are the current ones.

They are kept in a context variable: each thread has its own, and each task of an event loop too, where a `with` may
wait in its middle while other tasks run in the same thread.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tenon.device import Device
    from tenon.stream import Stream


class _Entered(NamedTuple):
    """A `with` that is being executed."""

    device: Device
    stream: Stream | None
    outer: _Entered | None


_entered: ContextVar[_Entered | None] = ContextVar("tenon.current", default=None)


def enter(device: Device, stream: Stream | None = None) -> None:
    """Makes a device the current one, and a stream that of the device."""
    _entered.set(_Entered(device, stream, _entered.get()))


def leave(left: Device | Stream) -> None:
    """Ends the innermost `with` of a device or a stream.

    It need not be the innermost of all: a generator may wait inside of its `with` while its caller begins one and ends.
    """
    inner = []
    entered = _entered.get()
    while entered is not None and (entered.stream or entered.device) is not left:
        inner.append(entered)
        entered = entered.outer
    if entered is None:
        # It was entered in another context, as a generator's may be that is ended elsewhere.
        return
    entered = entered.outer
    for kept in reversed(inner):
        entered = kept._replace(outer=entered)
    _entered.set(entered)


def device() -> Device | None:
    """The device of the innermost `with`; None outside of any."""
    entered = _entered.get()
    return None if entered is None else entered.device


def stream(device: Device) -> Stream | None:
    """The stream of the innermost `with` that has one of a device; None if none has."""
    entered = _entered.get()
    while entered is not None:
        if entered.stream is not None and entered.device is device:
            return entered.stream
        entered = entered.outer
    return None
