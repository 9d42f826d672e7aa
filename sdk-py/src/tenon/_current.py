"""The current device and the current stream.

They are stored in a context variable, so that each thread and each task has its own. A task may be suspended inside a
`with` while other tasks run in the same thread.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tenon.device import Device
    from tenon.stream import Stream


class _Entered(NamedTuple):
    """An active `with` statement."""

    device: Device
    stream: Stream | None
    outer: _Entered | None


_entered: ContextVar[_Entered | None] = ContextVar("tenon.current", default=None)
_chosen: ContextVar[Device | None] = ContextVar("tenon.chosen", default=None)
"""The current device outside any `with`."""


def enter(device: Device, stream: Stream | None = None) -> None:
    """Makes a device the current device, and a stream the current stream of the device."""
    _entered.set(_Entered(device, stream, _entered.get()))


def leave(left: Device | Stream) -> None:
    """Ends the innermost `with` of a device or a stream.

    It need not be the innermost of all: a generator may be suspended inside its `with` while its caller enters another.
    """
    inner = []
    entered = _entered.get()
    while entered is not None and (entered.stream or entered.device) is not left:
        inner.append(entered)
        entered = entered.outer
    if entered is None:
        # It was entered in another context. This happens if a generator is closed in another context.
        return
    entered = entered.outer
    for kept in reversed(inner):
        entered = kept._replace(outer=entered)
    _entered.set(entered)


def set_device(device: Device) -> None:
    """Makes a device the current device outside any `with`."""
    _chosen.set(device)


def outside() -> Device | None:
    """Returns the device that is current outside any `with`; None if none was set."""
    return _chosen.get()


def device() -> Device | None:
    """Returns the device of the innermost `with`; None outside any."""
    entered = _entered.get()
    return None if entered is None else entered.device


def stream(device: Device) -> Stream | None:
    """Returns the stream of the innermost `with` that has a stream of the device; None if there is none."""
    entered = _entered.get()
    while entered is not None:
        if entered.stream is not None and entered.device is device:
            return entered.stream
        entered = entered.outer
    return None
