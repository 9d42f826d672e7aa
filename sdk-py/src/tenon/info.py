"""What a device tells of itself: its properties, its memory, and what stands behind each of its functions."""

from __future__ import annotations

from dataclasses import dataclass

from tenon._native import core, functions
from tenon._native.core import Availability
from tenon._native.text import decode, decode_or_none


@dataclass(frozen=True)
class DeviceInfo:
    """What is known of a device. What its plugin does not tell is 0 or False."""

    type: str
    """The type under which it is opened."""
    ordinal: int
    """Its place among the plugin's devices."""
    plugin: str
    """The name of its plugin."""
    total_memory: int
    """All of its memory in bytes."""
    free_memory: int
    """What of that was free when this was asked."""
    min_chunk_size: int
    """The unit, in bytes, that allocations are rounded up to."""
    compute_capability: int
    """Its generation, in CUDA's way ten times the major plus the minor number."""
    runtime_version: int
    """Version of what programs link to."""
    driver_version: int
    """Version of the driver."""
    multi_processors: int
    """How many processors work at the same time."""
    float16: bool
    """Whether its kernels compute in `float16`."""
    bfloat16: bool
    """Whether its kernels compute in `bfloat16`."""
    host_accessible: bool
    """Whether the host reaches its memory at the addresses of the device. True for the built-in one only."""


@dataclass(frozen=True)
class MemoryStats:
    """The memory of a device, and what its pool has and has done. Sizes are in bytes."""

    total: int
    """All of the device's memory."""
    free: int
    """What of that the device can still give."""
    in_use: int
    """Blocks of the pool that are in use, which may be larger than was asked for."""
    cached: int
    """What the pool has from the device, and not in use."""
    peak: int
    """The most that was in use at once."""
    from_device: int
    """What the device has given to the pool and not got back."""
    hits: int
    """Allocations that were served without the device."""
    misses: int
    """Allocations for which the device gave memory."""
    splits: int
    """Allocations of the device that were cut into several blocks."""


@dataclass(frozen=True)
class FunctionReport:
    """What is known of a function of a device."""

    function: str
    """Its name in the spec."""
    group: str
    """The group that describes it."""
    availability: Availability
    """What stands behind it."""
    fallback: str | None
    """What the fallback does; None if none stands in."""
    costs: str | None
    """What the fallback costs; None if none stands in, or nothing is said."""
    calls: int
    """How often it was called since the device was opened, failed calls included."""


def of_device(device: int, type: str, ordinal: int) -> DeviceInfo:
    """What is known of the device of a native handle."""
    info = core.device_get_info(device)
    return DeviceInfo(
        type=type,
        ordinal=ordinal,
        plugin=decode(info.plugin_name),
        total_memory=info.total_memory,
        free_memory=info.free_memory,
        min_chunk_size=info.min_chunk_size,
        compute_capability=info.compute_capability,
        runtime_version=info.runtime_version,
        driver_version=info.driver_version,
        multi_processors=info.multi_processors,
        float16=info.float16,
        bfloat16=info.bfloat16,
        host_accessible=info.host_accessible,
    )


def of_memory(device: int) -> MemoryStats:
    """How much memory there is, and what the pool has of it."""
    total, free = functions.device_memory_stats(device)
    pool = core.pool_get_statistics(device)
    return MemoryStats(
        total=total,
        free=free,
        in_use=pool.in_use,
        cached=pool.cached,
        peak=pool.peak,
        from_device=pool.from_device,
        hits=pool.hits,
        misses=pool.misses,
        splits=pool.splits,
    )


def of_functions(device: int) -> list[FunctionReport]:
    """For each function of the spec, what stands behind it and how often it was called."""
    return [
        FunctionReport(
            function=decode(entry.function),
            group=decode(entry.group),
            availability=Availability(entry.availability),
            fallback=decode_or_none(entry.fallback),
            costs=decode_or_none(entry.costs),
            calls=entry.calls,
        )
        for entry in core.device_report(device)
    ]
