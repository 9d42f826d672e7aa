"""`tenon info`: shows devices, plugins, load failures and environment variables."""

from __future__ import annotations

import os
import platform
import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import tenon
from tenon._cli.terminal import Style, as_json, columns, size
from tenon._native import library
from tenon._native.version import VERSION

if TYPE_CHECKING:
    import argparse

VARIABLES = {
    "TENON_LIBRARY": "the libtenon.so to load in place of the package's own",
    "TENON_PLUGIN_PATH": "where to search for plugins: folders, libraries, manifests",
    "TENON_LAYERS": "layers between programs and devices: trace, validate, capture, profile",
    "TENON_LOG": "log level on standard error: off, error, info",
    "TENON_VALIDATE_FATAL": "1: end the process at the first error",
    "TENON_VALIDATE_BACKTRACE": "1: record where objects are created and destroyed",
    "TENON_VALIDATE_IGNORE": "rules that are not checked",
    "TENON_TRACE_FILE": "the file for the trace",
    "TENON_TRACE_LIMIT": "the maximum number of events in the trace",
    "TENON_TRACE_STREAMS": "0: no lanes for streams",
    "TENON_CAPTURE_FILE": "the file for recorded calls",
    "TENON_ACL_DEVICE": "the device type that `import acl` uses",
    "TENON_CPU_DEVICES": "the number of CPU devices",
    "TENON_CPU_MEMORY": "the memory of each CPU device",
    "TENON_CPU_THREADS": "the number of worker threads of the CPU devices",
    "TENON_CPU_TRACE": "the file for traces of the CPU devices",
    "TENON_DNNL": "the libdnnl.so.3 that operators of the CPU device use, off, or always",
}
"""The environment variables of Tenon."""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command and its options."""
    summary = "show devices, plugins, load failures and the environment"
    command = commands.add_parser(
        "info",
        help=summary,
        description="Shows devices, plugins, load failures, the environment variables of Tenon, "
        "and the installed versions. Opens each device.",
        epilog="exit status: 0, even if a plugin was refused or a device could not be opened",
    )
    command.add_argument("--json", action="store_true", help="print JSON, with sizes in bytes")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    found = gather()
    print(as_json(found) if options.json else text(found, Style(sys.stdout)))
    return 0


def versions() -> dict[str, str]:
    """Returns the installed versions."""
    return {"tenon": ".".join(map(str, VERSION)), "libtenon": tenon.version()}


def gather() -> dict[str, Any]:
    """Collects all information."""
    plugins = tenon.plugins()
    return {
        "versions": {**versions(), "python": platform.python_version(), "system": _system()},
        "library": str(library.PATH),
        "devices": [_device(device) for plugin in plugins for device in _devices(plugin)],
        "plugins": [_plugin(plugin) for plugin in plugins],
        "refused": [asdict(failure) for failure in tenon.plugin_failures()],
        "environment": {name: os.environ.get(name) for name in VARIABLES},
    }


def _system() -> str:
    libc, version = platform.libc_ver()
    return " ".join(part for part in (platform.system(), platform.machine(), libc, version) if part)


def _devices(plugin: tenon.Plugin) -> list[tenon.Device]:
    try:
        return plugin.devices()
    except tenon.Error:
        # `_plugin` shows the error.
        return []


def _plugin(plugin: tenon.Plugin) -> dict[str, Any]:
    known: dict[str, Any] = {
        "name": plugin.name,
        "path": plugin.path,
        "device_type": plugin.device_type,
        "release": plugin.release,
        "recognition": plugin.recognition,
    }
    try:
        known["devices"] = len(plugin.devices())
    except tenon.Error as error:
        known["error"] = str(error)
    return known


def _device(device: tenon.Device) -> dict[str, Any]:
    try:
        counts = Counter(entry.availability.name.lower() for entry in device.report())
        return {
            "name": device.name,
            **asdict(device.info),
            "functions": {state: counts[state] for state in ("native", "fallback", "unavailable")},
        }
    except tenon.Error as error:
        return {"name": device.name, "plugin": device.plugin.name, "error": str(error)}


def text(found: dict[str, Any], style: Style) -> str:
    """Formats the information as text."""
    versions = found["versions"]
    lines = [
        f"{style.strong('tenon')} {versions['tenon']} with libtenon {versions['libtenon']}, "
        f"Python {versions['python']}, {versions['system']}",
        style.faint(found["library"]),
        "",
        style.strong("devices"),
    ]
    for device in found["devices"]:
        lines += _device_lines(device, style)
    lines += ["", style.strong("plugins")]
    lines += columns([_plugin_cells(plugin, style) for plugin in found["plugins"]])
    for refused in found["refused"]:
        lines += [f"  {style.bad('refused')} {refused['path']}", f"    {refused['reason']}"]
    lines += ["", style.strong("environment")]
    lines += _environment_lines(found["environment"], style)
    return "\n".join(lines)


def _device_lines(device: dict[str, Any], style: Style) -> list[str]:
    head = f"  {style.strong(device['name'])} of plugin {device['plugin']}"
    if "error" in device:
        return [f"{head}: {style.bad(device['error'])}"]
    functions, total = device["functions"], device["total_memory"]
    runtime, driver = device["runtime_version"], device["driver_version"]
    types = [name for name in ("float16", "bfloat16") if device[name]]
    facts = [
        ["memory", f"{size(total)}, {size(device['free_memory'])} free" if total else "unknown"],
        ["allocations", f"rounded up to {size(device['min_chunk_size'])}"],
        ["processors", str(device["multi_processors"] or "unknown")],
        ["computes in", ", ".join(types) or "neither float16 nor bfloat16"],
        ["versions", f"runtime {runtime}, driver {driver}" if runtime or driver else "unknown"],
        ["functions", ", ".join(f"{count} {state}" for state, count in functions.items())],
    ]
    return [head, *columns(facts, indent="    ")]


def _plugin_cells(plugin: dict[str, Any], style: Style) -> list[str]:
    if "error" in plugin:
        devices = style.bad(plugin["error"])
    else:
        devices = f"{plugin['devices']} × {plugin['device_type']}"
    if plugin["path"] is None:
        return [plugin["name"], devices, "built in"]
    return [plugin["name"], devices, f"{plugin['path']}, release {plugin['release']}: {plugin['recognition']}"]


def _environment_lines(environment: dict[str, str | None], style: Style) -> list[str]:
    lines = [f"  {name}={value}" for name, value in environment.items() if value is not None]
    unset = [[name, meaning] for name, meaning in VARIABLES.items() if environment[name] is None]
    return lines + [style.faint(line) for line in ["  not set:", *columns(unset, indent="    ")]]
