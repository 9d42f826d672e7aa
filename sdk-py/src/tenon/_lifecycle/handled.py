"""Base class of objects with a native handle."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenon._lifecycle import resources
from tenon.errors import InvalidHandleError

if TYPE_CHECKING:
    from typing import ClassVar

    from tenon.device import Device


class Handled(resources.Resource):
    """Base class of streams and events. A subclass sets both members before it calls `_own`."""

    __slots__ = ("_device", "_handle")

    _device: Device
    _handle: int | None
    """None after the object is closed."""
    _kind: ClassVar[str]
    """The class name in messages."""

    @property
    def device(self) -> Device:
        """The device."""
        return self._device

    @property
    def handle(self) -> int:
        """The native handle; 0 for the default stream.

        Raises:
            InvalidHandleError: The object or its device is closed.
            NotInitialisedError: The process is a forked child.
        """
        handle, session = self._handle, self._device._session
        if session.ended:
            # The device is closed, so `open` raises the exception.
            session.open()
        if handle is None:
            raise InvalidHandleError(f"the {self._kind.lower()} is closed", device=self._device.name)
        return handle

    def __repr__(self) -> str:
        if self.closed:
            return f"<tenon.{self._kind} on {self._device.name}, closed>"
        return f"<tenon.{self._kind} {self._handle or 0:#x} on {self._device.name}>"
