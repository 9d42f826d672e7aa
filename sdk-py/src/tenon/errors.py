"""What goes wrong, as exceptions.

Each is a `tenon.Error` and also what Python has for the case: running out of memory is a `MemoryError`, a wrong
argument a `ValueError`. So code that knows nothing of Tenon handles them too.
"""

from __future__ import annotations

from typing import Final

__all__ = [
    "BusyError",
    "DeviceError",
    "Error",
    "InvalidArgumentError",
    "InvalidHandleError",
    "LoadFailedError",
    "NotFoundError",
    "NotInitialisedError",
    "OutOfMemoryError",
    "RefusedError",
    "UnsupportedError",
]


class Error(Exception):
    """A call to a device, or to the library, did not succeed.

    Attributes:
        status: What the library answered, a number of `tenon._native.types.Status`.
        message: What went wrong, for people.
        function: The function that failed, as the spec names it: `device_memory_allocate`; None if none was called.
        device: The device, as `cpu:0`; None if the call is about none.
        plugin: The name of the device's plugin; None if the call reached none.
        plugin_message: What the plugin itself said; None if it said nothing.
        layer: The layer that refused the call; None if none did.
        rule: The rule that was broken, such as `V001`; None if it was none. `tenon rules V001` explains it.
    """

    status: int
    message: str
    function: str | None
    device: str | None
    plugin: str | None
    plugin_message: str | None
    layer: str | None
    rule: str | None

    # What a subclass stands for; the status of what the package itself finds wrong, without asking the library.
    _status: int = 2

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        function: str | None = None,
        device: str | None = None,
        plugin: str | None = None,
        plugin_message: str | None = None,
        layer: str | None = None,
        rule: str | None = None,
    ) -> None:
        # Only the message goes to the base: an exception is unpickled with its `args`, and then gets its attributes.
        super().__init__(message)
        self.message = message
        self.status = self._status if status is None else status
        self.function = function
        self.device = device
        self.plugin = plugin
        self.plugin_message = plugin_message
        self.layer = layer
        self.rule = rule

    def __str__(self) -> str:
        place = " on ".join(part for part in (self.function, self.device) if part)
        text = f"{place}: {self.message}" if place else self.message
        if self.plugin_message and self.plugin_message != self.message:
            text += f"; the plugin says: {self.plugin_message}"
        # A layer's message often begins with the rule already.
        if self.rule and self.rule not in self.message:
            text += f" ({self.rule})"
        return text


class InvalidArgumentError(Error, ValueError):
    """An argument is out of range, or does not fit the others."""

    _status = 16


class InvalidHandleError(Error, ValueError):
    """Something is closed, or was never open."""

    _status = 17


class OutOfMemoryError(Error, MemoryError):
    """There is not as much memory as was asked for."""

    _status = 18


class UnsupportedError(Error, NotImplementedError):
    """The device has no such function, and nothing can stand in for it."""

    _status = 19


class NotFoundError(Error, LookupError):
    """There is nothing of this name or number."""

    _status = 20


class LoadFailedError(Error, ImportError):
    """A plugin could not be loaded; the message says why."""

    _status = 21


class BusyError(Error, RuntimeError):
    """Something is still in use, or it is too late for this, or it may not be done from inside of a callback."""

    _status = 22


class NotInitialisedError(Error, RuntimeError):
    """The library does not run: it was shut down, or this is a forked child of a process that uses it."""

    _status = 23


class RefusedError(Error, RuntimeError):
    """A layer refused the call; the device has not seen it."""

    _status = 24


class DeviceError(Error, RuntimeError):
    """The device, or its plugin, failed."""

    _status = 2


BY_STATUS: Final[dict[int, type[Error]]] = {
    16: InvalidArgumentError,
    17: InvalidHandleError,
    18: OutOfMemoryError,
    19: UnsupportedError,
    20: NotFoundError,
    21: LoadFailedError,
    22: BusyError,
    23: NotInitialisedError,
    24: RefusedError,
}
"""Which exception stands for which status; every other status is a `DeviceError`."""
