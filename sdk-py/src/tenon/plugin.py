"""Plugins: what brings devices, and why one was not loaded."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenon import _arguments, _running
from tenon._native import core, functions
from tenon._native.text import decode, decode_or_none
from tenon.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenon.device import Device


@dataclass(frozen=True)
class PluginFailure:
    """Something that was to be loaded and was not."""

    path: str
    """The library, the manifest, or the folder that could not be read."""
    reason: str
    """Why it was not loaded."""


@dataclass(frozen=True)
class Plugin:
    """A library that brings devices, or what is built in."""

    handle: int
    """The native handle."""
    name: str
    """What people call it."""
    path: str | None
    """The library; None for the built-in device."""
    device_type: str
    """The name under which its devices are opened."""
    sub_device_type: str | None
    """A finer type, if the plugin states one."""
    release: str | None
    """The release of the host that it was built for; None for the built-in device."""
    recognition: str
    """How the release was found, as a clause that begins with the plugin as "it"."""
    version: tuple[int, int, int]
    """The version of the interface that it states."""

    @property
    def open_devices(self) -> int:
        """How many of its devices are open now."""
        _running.refuse_in_child()
        return int(core.plugin_get_info(self.handle).open_devices)

    def device(self, ordinal: int = 0) -> Device:
        """One of its devices, also where another plugin has the same device type."""
        from tenon.device import of_plugin

        return of_plugin(self.handle, self.device_type, _arguments.ordinal(ordinal, self.device_type))

    def devices(self) -> list[Device]:
        """All of its devices. None is opened, but the plugin begins."""
        _running.refuse_in_child()
        _running.refuse_in_callback()
        return [self.device(ordinal) for ordinal in range(functions.get_device_count(self.handle))]

    def unload(self) -> None:
        """Ends the plugin and closes its library.

        Raises:
            InvalidHandleError: It is unloaded already.
            InvalidArgumentError: It is the built-in device, which stays.
            BusyError: One of its devices is open: close it first.
        """
        from tenon.device import forget_plugin

        _running.refuse_in_child()
        _running.refuse_in_callback()
        core.unload_plugin(self.handle)
        forget_plugin(self.handle)

    def __repr__(self) -> str:
        origin = "built in" if self.path is None else f"{self.path!r} of release {self.release}"
        return f"<tenon.Plugin {self.name!r}, devices {self.device_type!r}, {origin}>"


def of_handle(handle: int) -> Plugin:
    """What is known of a plugin."""
    _running.refuse_in_child()
    info = core.plugin_get_info(handle)
    major, minor, patch = info.version
    return Plugin(
        handle=handle,
        name=decode(info.name),
        path=decode_or_none(info.path),
        device_type=decode(info.device_type),
        sub_device_type=decode_or_none(info.sub_device_type),
        release=decode_or_none(info.release),
        recognition=decode(info.recognition),
        version=(major, minor, patch),
    )


def plugins() -> list[Plugin]:
    """All plugins that are loaded, the built-in device first."""
    _running.begin()
    return [of_handle(core.plugin_get(index)) for index in range(core.plugin_count())]


def plugin_failures() -> list[PluginFailure]:
    """What was found in the places of `TENON_PLUGIN_PATH` and could not be loaded."""
    _running.begin()
    return [PluginFailure(decode(failure.path), decode(failure.reason)) for failure in core.plugin_failures()]


def load_plugin(
    path: str | os.PathLike[str], release: str | None = None, name: str | None = None, *, lazy: bool = False
) -> Plugin:
    """Loads a plugin, or finds it if it is loaded already. Opening a library runs its code.

    Args:
        path: A library, or a manifest that ends in `.json`.
        release: The release of the host that it was built for, such as `3.1`, for one that does not show it.
        name: What it is called; None: the name in the manifest, or that of the file.
        lazy: Whether symbols that are not found may stay open until they are called, which then ends the process.

    Raises:
        NotFoundError: There is no such file.
        LoadFailedError: It cannot be loaded; the message says why, and what to do.
    """
    _running.begin()
    options = core.LoadOptions(release=release, name=name, lazy=lazy)
    return of_handle(core.load_plugin(os.fsdecode(path), options))


def init(
    plugin_path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    layers: str | Iterable[str] | None = None,
) -> None:
    """Begins the library with something else than the environment says.

    It need not be called: the first use begins the library. So it has to come before that.

    Args:
        plugin_path: Where plugins are looked for: folders, libraries and manifests; None: `TENON_PLUGIN_PATH`.
        layers: Which layers there are, such as `["validate", "trace"]`; None: `TENON_LAYERS`.

    Raises:
        BusyError: The library runs already.
        InvalidArgumentError: There is no such layer.
    """
    if isinstance(plugin_path, (str, os.PathLike)):
        plugin_path = [plugin_path]
    paths = None if plugin_path is None else ":".join(os.fsdecode(path) for path in plugin_path)
    names = layers if layers is None or isinstance(layers, str) else ",".join(layers)

    def start() -> None:
        core.init(core.Options(plugin_path=paths, layers=names))

    if not _running.begin(start):
        raise BusyError("the library runs already: call `tenon.init` before anything else", function="init")


def enable_layers(*names: str) -> None:
    """Puts layers between the program and its devices, in place of those of `TENON_LAYERS`.

    Args:
        names: Such as `"validate"` and `"trace"`; none: no layers.

    Raises:
        InvalidArgumentError: There is no such layer.
        BusyError: A plugin is in use already, and layers come too late.
    """
    _running.begin()
    core.layers_enable(",".join(names))
