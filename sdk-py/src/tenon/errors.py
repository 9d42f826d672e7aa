"""Exceptions.

Each exception derives from `tenon.Error` and from the matching built-in exception: `OutOfMemoryError` is also a
`MemoryError`, `InvalidArgumentError` also a `ValueError`. Code that does not know Tenon can therefore handle them.
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
    """A call to a device or to the library failed.

    Attributes:
        status: The status code of the library, a value of `tenon._native.types.Status`.
        message: The error message.
        function: The function that failed, by its name in the spec, such as `device_memory_allocate`. None if no
            function was called.
        device: The device, such as `cpu:0`. None if the call does not concern a device.
        plugin: The name of the plugin. None if the call did not reach a plugin.
        plugin_message: The error message of the plugin. None if it did not set one.
        layer: The layer that refused the call. None if no layer did.
        rule: The rule that was violated, such as `V001`. None if it was not a rule. `tenon rules V001` explains it.
    """

    status: int
    message: str
    function: str | None
    device: str | None
    plugin: str | None
    plugin_message: str | None
    layer: str | None
    rule: str | None

    # The status of the class. It is used for errors that the package detects without a call to the library.
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
        # Only the message is passed to the base class, because unpickling calls the class with `args`. The attributes
        # are then restored from the state.
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
        # The message of a layer often contains the rule already.
        if self.rule and self.rule not in self.message:
            text += f" ({self.rule})"
        return text


class InvalidArgumentError(Error, ValueError):
    """An argument is out of range or inconsistent with the others."""

    _status = 16


class InvalidHandleError(Error, ValueError):
    """The object is closed, or its handle was never valid."""

    _status = 17


class OutOfMemoryError(Error, MemoryError):
    """There is not enough memory for the request."""

    _status = 18


class UnsupportedError(Error, NotImplementedError):
    """The device does not implement the function, and there is no fallback."""

    _status = 19


class NotFoundError(Error, LookupError):
    """Nothing with this name or number exists."""

    _status = 20


class LoadFailedError(Error, ImportError):
    """A plugin could not be loaded. The message states the reason."""

    _status = 21


class BusyError(Error, RuntimeError):
    """An object is still in use, the call comes too late, or the call is not allowed in a callback."""

    _status = 22


class NotInitialisedError(Error, RuntimeError):
    """The library is not initialised: it was shut down, or the process is a forked child of a process that uses it."""

    _status = 23


class RefusedError(Error, RuntimeError):
    """A layer refused the call. The call did not reach the device."""

    _status = 24


class DeviceError(Error, RuntimeError):
    """The device or its plugin reported a failure."""

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
"""The exception class of each status. Every other status is a `DeviceError`."""
