"""Python API for accelerators.

    >>> import tenon
    >>> device = tenon.device("cpu:0")
    >>> with device.create_stream() as stream:
    ...     event = stream.record_event()
    >>> event.synchronize()

Plugins provide devices. They are found through `TENON_PLUGIN_PATH` or loaded by `tenon.load_plugin`. A CPU device is
built in. A failed call raises `tenon.Error`.
"""

from __future__ import annotations

from tenon import ops
from tenon._lifecycle.interpreter import warn_without_lock as _warn_without_lock
from tenon._lifecycle.shutdown import shutdown
from tenon._native.core import Availability
from tenon._native.core import version_string as version
from tenon._native.version import VERSION
from tenon.arrays import (
    arange,
    array,
    asarray,
    empty,
    empty_like,
    from_dlpack,
    full,
    full_like,
    ones,
    ones_like,
    pinned,
    unified,
    zeros,
    zeros_like,
)
from tenon.buffer import Buffer
from tenon.communicator import Communicator
from tenon.device import Device, current_device, current_stream, device, devices, set_device, synchronize
from tenon.dtype import DType, dtype
from tenon.errors import (
    BusyError,
    DeviceError,
    Error,
    InvalidArgumentError,
    InvalidHandleError,
    LoadFailedError,
    NotFoundError,
    NotInitialisedError,
    OutOfMemoryError,
    RefusedError,
    UnsupportedError,
)
from tenon.event import Event
from tenon.info import DeviceInfo, FunctionReport, MemoryStats
from tenon.plugin import (
    Plugin,
    PluginFailure,
    enable_layers,
    init,
    load_plugin,
    plugin_failures,
    plugins,
)
from tenon.stream import Stream

__all__ = [
    "Availability",
    "Buffer",
    "BusyError",
    "Communicator",
    "DType",
    "Device",
    "DeviceError",
    "DeviceInfo",
    "Error",
    "Event",
    "FunctionReport",
    "InvalidArgumentError",
    "InvalidHandleError",
    "LoadFailedError",
    "MemoryStats",
    "NotFoundError",
    "NotInitialisedError",
    "OutOfMemoryError",
    "Plugin",
    "PluginFailure",
    "RefusedError",
    "Stream",
    "UnsupportedError",
    "arange",
    "array",
    "asarray",
    "current_device",
    "current_stream",
    "device",
    "devices",
    "dtype",
    "empty",
    "empty_like",
    "enable_layers",
    "from_dlpack",
    "full",
    "full_like",
    "init",
    "load_plugin",
    "ones",
    "ones_like",
    "ops",
    "pinned",
    "plugin_failures",
    "plugins",
    "set_device",
    "shutdown",
    "synchronize",
    "unified",
    "version",
    "zeros",
    "zeros_like",
]

__version__ = ".".join(map(str, VERSION))

_warn_without_lock()
