"""Devices: one object for each device and process, opened at its first use."""

from __future__ import annotations

import builtins
import warnings
from functools import partial
from typing import TYPE_CHECKING

from tenon import _arguments, _callbacks, _current, _ending, _lifetime, _memory, _running, _wait, info
from tenon._native import core, functions
from tenon._native.core import Availability
from tenon._native.text import decode
from tenon.errors import Error
from tenon.event import Event
from tenon.stream import DefaultStream, Stream

if TYPE_CHECKING:
    from types import TracebackType

    from tenon.info import DeviceInfo, FunctionReport, MemoryStats
    from tenon.plugin import Plugin


class Device:
    """A device: `tenon.Device("cpu", 0)` or `tenon.device("cpu:0")`.

    There is one object for each device, until it is closed: `Device("cpu", 0) is Device("cpu", 0)`. The device is
    opened when it is first used, and stays open until `close`, `tenon.shutdown`, or the interpreter's end.

    `with device:` makes it the current device of the thread or the task.

    Threads:
        Any thread may use any device.
    """

    __slots__ = ("__weakref__", "_default_stream", "_ordinal", "_plugin", "_session", "_type")

    _type: str
    _ordinal: int
    _plugin: int
    _session: _lifetime.Session
    _default_stream: DefaultStream

    def __new__(cls, type: str, ordinal: int | None = None) -> Device:
        """Finds a device.

        Args:
            type: The device type, such as `cpu`, or type and number, such as `cpu:0`.
            ordinal: Which one, from 0; left out: the one that `type` names, else the first.

        Raises:
            NotFoundError: No plugin has such devices. That there is none of this number is seen when it is opened.
            ValueError: The name is no name of a device.
        """
        if not isinstance(type, str):
            raise TypeError(f"the type of a device is a str, not {type.__class__.__name__}")
        if ordinal is None:
            type, ordinal = _parsed(type)
        number = _arguments.ordinal(ordinal, type)
        _running.begin()
        return of_plugin(core.plugin_find(type), type, number)

    @property
    def type(self) -> str:
        """The type, such as `cpu`."""
        return self._type

    @property
    def ordinal(self) -> int:
        """Its place among the devices of its plugin, from 0."""
        return self._ordinal

    @property
    def name(self) -> str:
        """Type and place: `cpu:0`."""
        return self._session.name

    @property
    def plugin(self) -> Plugin:
        """The plugin that it belongs to."""
        from tenon.plugin import of_handle

        return of_handle(self._plugin)

    @property
    def handle(self) -> int:
        """The native handle. Opens the device, if it is not open.

        Raises:
            InvalidHandleError: The device is closed.
            NotFoundError: There is no such device.
            BusyError: This is a stream's callback, where no device may be used.
            NotInitialisedError: This is a forked child.
        """
        if _running.calling_back:
            _running.refuse_in_callback()
        return self._session.handle or self._session.open()

    @property
    def closed(self) -> bool:
        """Whether it was closed; False for one that was not opened yet."""
        return self._session.ended

    @property
    def info(self) -> DeviceInfo:
        """What is known of it."""
        return info.of_device(self.handle, self._type, self._ordinal)

    def memory_stats(self) -> MemoryStats:
        """How much memory there is, and what the pool has of it."""
        native = self.handle
        _memory.make_room()
        return info.of_memory(native)

    def trim_memory(self, keep: int = 0) -> None:
        """Gives memory of the pool that is not in use back to the device.

        Args:
            keep: How many bytes may stay.

        Raises:
            ValueError: `keep` is negative.
        """
        native, size = self.handle, _arguments.size(keep, "keep")
        _memory.make_room()
        core.pool_trim(native, size)

    def report(self) -> list[FunctionReport]:
        """For each function of the spec, what stands behind it and how often it was called."""
        return info.of_functions(self.handle)

    @property
    def default_stream(self) -> Stream:
        """The stream that it has from the beginning."""
        return self._default_stream

    @property
    def current_stream(self) -> Stream:
        """The stream of the innermost `with stream:` that is one of this device; else the default stream."""
        return _current.stream(self) or self._default_stream

    def create_stream(self) -> Stream:
        """Makes a stream."""
        return Stream(self)

    def create_event(self) -> Event:
        """Makes an event."""
        return Event(self)

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until all work on the device is done. In the main thread Ctrl-C ends the wait.

        Args:
            timeout: Seconds at most; None: however long it takes.

        Raises:
            TimeoutError: It has taken longer. The work goes on.
            DeviceError: Work on the device failed.
        """
        native, session = self.handle, self._session
        if not _arguments.seconds(timeout) and session.can_query and session.is_idle():
            # Most often there is nothing to wait for, but a failure may have to be told.
            functions.synchronize_device(native)
        else:
            # A device has no question for all of its work, so that a thread has to wait where a wait must have an end.
            _wait.wait(self.name, None, functions.synchronize_device, (native,), timeout)
        _lifetime.drain(session)

    async def synchronize_async(self) -> None:
        """The same in a task, without blocking the loop: one of the loop's threads waits.

        If the task is cancelled, the work goes on.

        Raises:
            DeviceError: Work on the device failed.
        """
        await _wait.wait_async(None, functions.synchronize_device, (self.handle,))

    def close(self) -> None:
        """Waits for its work, and closes the device with its streams and events; does nothing if it is closed.

        `Device(...)` of the same name makes a new object afterwards.

        Raises:
            BusyError: Buffers of it are alive, or this is a stream's callback. The device stays open.
            DeviceError: Its work failed. The device is closed nevertheless.
        """
        if self.closed:
            return
        _running.refuse_in_callback()
        _memory.reclaim_all()
        session = self._session
        failure = None
        if session.handle:
            try:
                self.synchronize()
            except Error as error:
                failure = error
        _lifetime.end_session(session, core.device_close)
        _callbacks.forget(session)
        if failure is not None:
            raise failure

    def __enter__(self) -> Device:
        # A device that cannot be opened is seen here, and not by whoever uses it first.
        _ = self.handle
        _current.enter(self)
        return self

    def __exit__(
        self, kind: builtins.type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _current.leave(self)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else "" if self._session.handle else ", not open yet"
        return f"<tenon.Device {self.name}{state}>"

    def __reduce__(self) -> tuple[object, ...]:
        # Another process has the device too, under the same name.
        return Device, (self._type, self._ordinal)


_devices: dict[tuple[int, int], Device] = {}
"""The object of each device, by plugin and number. One that is closed is replaced when somebody asks for it."""


@_ending.at_shutdown
def _forget_all() -> None:
    for device in list(_devices.values()):
        _callbacks.forget(device._session)
    _devices.clear()


def forget_plugin(plugin: int) -> None:
    """Drops the objects of a plugin that is gone; their devices are not open."""
    for key in [key for key in _devices if key[0] == plugin]:
        gone = _devices.pop(key, None)
        if gone is not None:
            gone._session.end()


def of_plugin(plugin: int, type: str, ordinal: int) -> Device:
    """The object of a device, which is made if there is none."""
    key = (plugin, ordinal)
    known = _devices.get(key)
    if known is not None:
        if not known.closed:
            return known
        # Unless another thread was first, and has put a new one there.
        if _devices.get(key) is known:
            _devices.pop(key, None)
    device = object.__new__(Device)
    device._type = type
    device._ordinal = ordinal
    device._plugin = plugin
    device._session = _lifetime.Session(f"{type}:{ordinal}", partial(_open, plugin, ordinal))
    device._default_stream = DefaultStream(device)
    # Of two threads the first wins, without a lock.
    return _devices.setdefault(key, device)


def _open(plugin: int, ordinal: int) -> tuple[int, bool, bool]:
    """Opens a device; says also whether it tells if work is done, and whether the host reaches its memory."""
    handle = core.plugin_open_device(plugin, ordinal)
    native = {
        decode(entry.function) for entry in core.device_report(handle) if entry.availability == Availability.NATIVE
    }
    can_query = {"query_stream", "query_event"} <= native
    return handle, can_query, core.device_get_info(handle).host_accessible


def _parsed(name: str) -> tuple[str, int]:
    type, colon, number = name.partition(":")
    if not type or (colon and not (number.isascii() and number.isdigit())):
        raise ValueError(f"{name!r} is no name of a device: it should look like 'cpu' or 'cpu:0'")
    return type, int(number) if colon else 0


def device(name: Device | str) -> Device:
    """The device of a name, such as `cpu:0`; a device is handed back as it is."""
    return name if isinstance(name, Device) else Device(name)


def resolve(device: Device | str | None) -> Device:
    """What a parameter `device` stands for: a device, its name, or, if None, the current one."""
    if device is None:
        return current_device()
    return device if isinstance(device, Device) else Device(device)


def devices(type: str | None = None) -> list[Device]:
    """All devices of all plugins, or those of one type. None is opened.

    A plugin that cannot count its devices is left out, with a `RuntimeWarning`.
    """
    from tenon.plugin import plugins

    found = []
    for plugin in plugins():
        if type in (None, plugin.device_type):
            try:
                found += plugin.devices()
            except Error as error:
                warnings.warn(
                    f"the plugin {plugin.name} cannot count its devices: {error}", RuntimeWarning, stacklevel=2
                )
    return found


_built_in: Device | None = None
"""The device that is current outside of any `with`, once somebody has asked."""


def current_device() -> Device:
    """The device of the innermost `with device:` or `with stream:`; outside of any the built-in `cpu:0`."""
    global _built_in
    found = _current.device()
    if found is None:
        found = _built_in
        if found is None or found.closed:
            found = _built_in = Device("cpu", 0)
    return found


def current_stream(device: Device | str | None = None) -> Stream:
    """The stream of the innermost `with stream:` of a device; outside of any its default stream.

    Args:
        device: The device, or its name; None: the current one.
    """
    return resolve(device).current_stream
