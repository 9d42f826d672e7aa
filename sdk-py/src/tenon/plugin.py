"""Plugins: libraries that provide devices."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenon import _arguments
from tenon._lifecycle import process
from tenon._native import core, functions
from tenon._native.text import decode, decode_or_none
from tenon.errors import BusyError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenon.device import Device


@dataclass(frozen=True)
class PluginFailure:
    """A plugin that could not be loaded."""

    path: str
    """The path of the library or manifest, or of a folder that could not be read."""
    reason: str
    """The reason."""


@dataclass(frozen=True)
class Plugin:
    """A loaded plugin, or the built-in CPU device."""

    handle: int
    """The native handle."""
    name: str
    """The display name."""
    path: str | None
    """The path of the library; None for the built-in device."""
    device_type: str
    """The device type, as used to open its devices."""
    sub_device_type: str | None
    """The sub-type of its devices; None if the plugin does not state one."""
    release: str | None
    """The host release that the plugin was built for; None for the built-in device."""
    recognition: str
    """How the release was determined, as a clause with the subject "it" for the plugin."""
    version: tuple[int, int, int]
    """The interface version that the plugin states."""

    @property
    def open_devices(self) -> int:
        """The number of its devices that are open."""
        process.refuse_in_child()
        return int(core.plugin_get_info(self.handle).open_devices)

    def device(self, ordinal: int = 0) -> Device:
        """Returns a device of this plugin, even if another plugin has the same device type."""
        from tenon.device import of_plugin

        return of_plugin(self.handle, self.device_type, _arguments.ordinal(ordinal, self.device_type))

    def devices(self) -> list[Device]:
        """Returns all devices of this plugin. Initialises the plugin but opens no device."""
        process.refuse_in_child()
        process.refuse_in_callback()
        return [self.device(ordinal) for ordinal in range(functions.get_device_count(self.handle))]

    def unload(self) -> None:
        """Finalises the plugin and closes its library.

        Raises:
            InvalidHandleError: The plugin is unloaded already.
            InvalidArgumentError: The plugin is the built-in device, which cannot be unloaded.
            BusyError: A device of the plugin is open. Close it first.
        """
        from tenon.device import forget_plugin

        process.refuse_in_child()
        process.refuse_in_callback()
        core.unload_plugin(self.handle)
        forget_plugin(self.handle)

    def __repr__(self) -> str:
        origin = "built in" if self.path is None else f"{self.path!r} of release {self.release}"
        return f"<tenon.Plugin {self.name!r}, devices {self.device_type!r}, {origin}>"


def of_handle(handle: int) -> Plugin:
    """Returns the `Plugin` of a native handle."""
    process.refuse_in_child()
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
    """Returns all loaded plugins, the built-in device first."""
    process.begin()
    return [of_handle(core.plugin_get(index)) for index in range(core.plugin_count())]


def plugin_failures() -> list[PluginFailure]:
    """Returns the plugins on `TENON_PLUGIN_PATH` that could not be loaded."""
    process.begin()
    return [PluginFailure(decode(failure.path), decode(failure.reason)) for failure in core.plugin_failures()]


def load_plugin(
    path: str | os.PathLike[str], release: str | None = None, name: str | None = None, *, lazy: bool = False
) -> Plugin:
    """Loads a plugin, or returns it if it is loaded already. Loading a library runs its code.

    Args:
        path: The path of a library, or of a manifest that ends in `.json`.
        release: The host release that the plugin was built for, such as `3.1`. Needed only if it cannot be detected.
        name: The display name. None: the name in the manifest, or the file name.
        lazy: True: unresolved symbols are bound at the first call (`RTLD_LAZY`). Calling one that does not exist ends
            the process.

    Raises:
        NotFoundError: The file does not exist.
        LoadFailedError: The plugin cannot be loaded. The message states the reason and a remedy.
    """
    process.begin()
    options = core.LoadOptions(release=release, name=name, lazy=lazy)
    return of_handle(core.load_plugin(os.fsdecode(path), options))


def init(
    plugin_path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | None = None,
    layers: str | Iterable[str] | None = None,
) -> None:
    """Initialises the library with options that replace the environment variables.

    The call is optional: the first use of the package initialises the library. So call `init` before any other use.

    Args:
        plugin_path: Where to search for plugins: folders, libraries and manifests. None: `TENON_PLUGIN_PATH`.
        layers: The layers to enable, such as `["validate", "trace"]`. None: `TENON_LAYERS`.

    Raises:
        BusyError: The library is initialised already.
        InvalidArgumentError: A layer does not exist.
    """
    if isinstance(plugin_path, (str, os.PathLike)):
        plugin_path = [plugin_path]
    paths = None if plugin_path is None else ":".join(os.fsdecode(path) for path in plugin_path)
    names = layers if layers is None or isinstance(layers, str) else ",".join(layers)

    def start() -> None:
        core.init(core.Options(plugin_path=paths, layers=names))

    if not process.begin(start):
        raise BusyError(
            "the library is initialised already: call `tenon.init` before any other function", function="init"
        )


def enable_layers(*names: str) -> None:
    """Enables layers between the program and its devices. Replaces the layers of `TENON_LAYERS`.

    Args:
        names: The layers, such as `"validate"` and `"trace"`. Without arguments, all layers are disabled.

    Raises:
        InvalidArgumentError: A layer does not exist.
        BusyError: A plugin is in use already, so layers can no longer be enabled.
    """
    process.begin()
    core.layers_enable(",".join(names))
