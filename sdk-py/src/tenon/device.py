"""Devices: one object per device and process, opened at the first use."""

from __future__ import annotations

import builtins
import warnings
from functools import partial
from typing import TYPE_CHECKING

from tenon import _arguments, _callbacks, _current, _memory, _wait, info
from tenon._lifecycle import process, resources, shutdown
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

    There is one object per device until it is closed: `Device("cpu", 0) is Device("cpu", 0)`. The device is opened at
    the first use, and stays open until `close`, `tenon.shutdown` or interpreter exit.

    `with device:` makes it the current device of the thread or task.

    Threads:
        Any thread may use any device.
    """

    __slots__ = ("__weakref__", "_default_stream", "_ordinal", "_plugin", "_session", "_type")

    _type: str
    _ordinal: int
    _plugin: int
    _session: resources.Session
    _default_stream: DefaultStream

    def __new__(cls, type: str, ordinal: int | None = None) -> Device:
        """Returns the object of a device.

        Args:
            type: The device type, such as `cpu`, or type and ordinal, such as `cpu:0`.
            ordinal: The index of the device, from 0. None: the ordinal in `type`, or 0.

        Raises:
            NotFoundError: No plugin provides this device type. An ordinal that does not exist is an error only when
                the device is opened.
            ValueError: `type` is not a valid device name.
        """
        if not isinstance(type, str):
            raise TypeError(f"the type of a device must be a str, not {type.__class__.__name__}")
        if ordinal is None:
            type, ordinal = _parsed(type)
        number = _arguments.ordinal(ordinal, type)
        process.begin()
        return of_plugin(core.plugin_find(type), type, number)

    @property
    def type(self) -> str:
        """The device type, such as `cpu`."""
        return self._type

    @property
    def ordinal(self) -> int:
        """The index among the devices of the plugin, from 0."""
        return self._ordinal

    @property
    def name(self) -> str:
        """Type and ordinal, such as `cpu:0`."""
        return self._session.name

    @property
    def plugin(self) -> Plugin:
        """The plugin that provides the device."""
        from tenon.plugin import of_handle

        return of_handle(self._plugin)

    @property
    def handle(self) -> int:
        """The native handle. Opens the device if it is not open.

        Raises:
            InvalidHandleError: The device is closed.
            NotFoundError: There is no such device.
            BusyError: The call comes from a stream callback, which must not use a device.
            NotInitialisedError: The process is a forked child.
        """
        if process.calling_back:
            process.refuse_in_callback()
        return self._session.handle or self._session.open()

    @property
    def closed(self) -> bool:
        """True if the device was closed; False if it was not opened yet."""
        return self._session.ended

    @property
    def info(self) -> DeviceInfo:
        """The properties of the device."""
        return info.of_device(self.handle, self._type, self._ordinal)

    def memory_stats(self) -> MemoryStats:
        """Returns the memory statistics of the device and its pool."""
        native = self.handle
        _memory.make_room()
        return info.of_memory(native)

    def trim_memory(self, keep: int = 0) -> None:
        """Releases unused memory of the pool to the device.

        Args:
            keep: The number of unused bytes that the pool may keep.

        Raises:
            ValueError: `keep` is negative.
        """
        native, size = self.handle, _arguments.size(keep, "keep")
        _memory.make_room()
        core.pool_trim(native, size)

    def report(self) -> list[FunctionReport]:
        """Returns, for each function of the spec, how it is implemented and how often it was called."""
        return info.of_functions(self.handle)

    @property
    def default_stream(self) -> Stream:
        """The default stream, which always exists."""
        return self._default_stream

    @property
    def current_stream(self) -> Stream:
        """The stream of the innermost `with stream:` for this device; otherwise the default stream."""
        return _current.stream(self) or self._default_stream

    def create_stream(self) -> Stream:
        """Creates a stream."""
        return Stream(self)

    def create_event(self) -> Event:
        """Creates an event."""
        return Event(self)

    def synchronize(self, timeout: float | None = None) -> None:
        """Waits until all work on the device is done. In the main thread, Ctrl-C ends the wait.

        Args:
            timeout: The longest wait in seconds. None: no limit.

        Raises:
            TimeoutError: The work is not done after `timeout`. It continues.
            DeviceError: Work on the device failed.
        """
        native, session = self.handle, self._session
        if not _arguments.seconds(timeout) and session.can_query and session.is_idle():
            # Usually there is nothing to wait for, but a failure may have to be reported.
            functions.synchronize_device(native)
        else:
            # Devices have no query for all of their work, so a helper thread waits if the wait must be interruptible.
            _wait.wait(self.name, None, functions.synchronize_device, (native,), timeout)
        resources.drain(session)

    async def synchronize_async(self) -> None:
        """Does the same as `synchronize` in a task, without blocking the event loop.

        A thread of the loop's executor waits. If the task is cancelled, the work continues.

        Raises:
            DeviceError: Work on the device failed.
        """
        await _wait.wait_async(None, functions.synchronize_device, (self.handle,))

    def close(self) -> None:
        """Waits for the work of the device, and closes the device, its streams and its events.

        Does nothing if the device is closed. Afterwards, `Device(...)` with the same name returns a new object.

        Raises:
            BusyError: Buffers of the device are alive, or the call comes from a stream callback. The device stays open.
            DeviceError: Work on the device failed. The device is closed anyway.
        """
        if self.closed:
            return
        process.refuse_in_callback()
        _memory.reclaim_all()
        session = self._session
        failure = None
        if session.handle:
            try:
                self.synchronize()
            except Error as error:
                failure = error
        resources.end_session(session, core.device_close)
        _callbacks.forget(session)
        if failure is not None:
            raise failure

    def __enter__(self) -> Device:
        # Opens the device, so that a failure is raised here and not at the first use.
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
        # The name identifies the device in another process too.
        return Device, (self._type, self._ordinal)


_devices: dict[tuple[int, int], Device] = {}
"""The object of each device, by plugin and ordinal. A closed device is replaced at the next request for it."""


@shutdown.at_shutdown
def _forget_all() -> None:
    for device in list(_devices.values()):
        _callbacks.forget(device._session)
    _devices.clear()


def forget_plugin(plugin: int) -> None:
    """Drops the device objects of an unloaded plugin. Their devices are not open."""
    for key in [key for key in _devices if key[0] == plugin]:
        device = _devices.pop(key, None)
        if device is not None:
            device._session.end()


def of_plugin(plugin: int, type: str, ordinal: int) -> Device:
    """Returns the object of a device, and creates it if necessary."""
    key = (plugin, ordinal)
    known = _devices.get(key)
    if known is not None:
        if not known.closed:
            return known
        # Another thread may have replaced it already.
        if _devices.get(key) is known:
            _devices.pop(key, None)
    device = object.__new__(Device)
    device._type = type
    device._ordinal = ordinal
    device._plugin = plugin
    device._session = resources.Session(f"{type}:{ordinal}", partial(_open, plugin, ordinal))
    device._default_stream = DefaultStream(device)
    # If two threads race, `setdefault` keeps the first object; no lock is needed.
    return _devices.setdefault(key, device)


def _open(plugin: int, ordinal: int) -> tuple[int, bool, bool]:
    """Opens a device. Returns its handle, whether it supports queries, and whether the host can access its memory."""
    handle = core.plugin_open_device(plugin, ordinal)
    native = {
        decode(entry.function) for entry in core.device_report(handle) if entry.availability == Availability.NATIVE
    }
    can_query = {"query_stream", "query_event"} <= native
    return handle, can_query, core.device_get_info(handle).host_accessible


def _parsed(name: str) -> tuple[str, int]:
    type, colon, number = name.partition(":")
    if not type or (colon and not (number.isascii() and number.isdigit())):
        raise ValueError(f"{name!r} is not a valid device name: expected a name such as 'cpu' or 'cpu:0'")
    return type, int(number) if colon else 0


def device(name: Device | str | int | None = None) -> Device:
    """Returns a device.

    Args:
        name: A name such as `cpu:0`; an index, for a device of the type of the current device; or a `Device`, which is
            returned unchanged. None: the current device.
    """
    return _named(name)


def _named(name: Device | str | int | None) -> Device:
    return Device(current_device().type, name) if isinstance(name, int) else resolve(name)


def resolve(device: Device | str | None) -> Device:
    """Resolves a `device` argument: a device, a name, or None for the current device."""
    if device is None:
        return current_device()
    return device if isinstance(device, Device) else Device(device)


def devices(type: str | None = None) -> list[Device]:
    """Returns all devices of all plugins, or those of one type. Opens no device.

    A plugin that cannot count its devices is skipped with a `RuntimeWarning`.
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
"""The current device outside any `with`; None until the first request."""


def set_device(device: Device | str | int) -> None:
    """Makes a device the current device of the thread or task, outside any `with device:` or `with stream:`.

    Threads that start later begin with the built-in `cpu:0`.
    """
    _current.set_device(_named(device))


def synchronize(device: Device | str | None = None, timeout: float | None = None) -> None:
    """Waits until all work on a device is done. See `Device.synchronize`.

    Args:
        device: The device or its name. None: the current device.
        timeout: The longest wait in seconds. None: no limit.
    """
    resolve(device).synchronize(timeout)


def current_device() -> Device:
    """Returns the current device.

    It is the device of the innermost `with device:` or `with stream:`; outside any, that of `set_device`; otherwise the
    built-in `cpu:0`.
    """
    global _built_in
    found = _current.device()
    if found is not None:
        return found
    found = _current.outside()
    if found is not None:
        # A device that was closed is opened again, as the built-in one is.
        return Device(found.type, found.ordinal) if found.closed else found
    if _built_in is None or _built_in.closed:
        _built_in = Device("cpu", 0)
    return _built_in


def current_stream(device: Device | str | None = None) -> Stream:
    """Returns the stream of the innermost `with stream:` for a device; outside any, its default stream.

    Args:
        device: The device or its name. None: the current device.
    """
    return resolve(device).current_stream
