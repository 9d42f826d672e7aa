"""Information about a device: properties, memory statistics, and how each function is implemented."""

from __future__ import annotations

from dataclasses import dataclass

from tenon._native import core, functions
from tenon._native.core import Availability
from tenon._native.text import decode, decode_or_none


@dataclass(frozen=True)
class DeviceInfo:
    """The properties of a device. A property that the plugin does not report is 0 or False."""

    type: str
    """The device type, as used to open the device."""
    ordinal: int
    """The index among the devices of the plugin, from 0."""
    plugin: str
    """The name of the plugin."""
    total_memory: int
    """The total memory in bytes."""
    free_memory: int
    """The free memory in bytes at the time of the call."""
    min_chunk_size: int
    """The allocation granularity in bytes. Allocations are rounded up to a multiple of it."""
    compute_capability: int
    """The compute capability, in the convention of CUDA: 10 × major + minor."""
    runtime_version: int
    """The version of the vendor's runtime library."""
    driver_version: int
    """The version of the driver."""
    multi_processors: int
    """The number of multiprocessors."""
    float16: bool
    """True if the kernels support `float16`."""
    bfloat16: bool
    """True if the kernels support `bfloat16`."""
    host_accessible: bool
    """True if the host can access device memory at its device addresses. True only for the built-in device."""


@dataclass(frozen=True)
class MemoryStats:
    """Memory statistics of a device and its pool. Sizes are in bytes."""

    total: int
    """The total memory of the device."""
    free: int
    """The memory that the device can still allocate."""
    in_use: int
    """The size of all pool blocks in use. A block can be larger than the requested size."""
    cached: int
    """Memory that the pool holds and that is not in use."""
    peak: int
    """The largest value of `in_use` so far."""
    from_device: int
    """Memory that the pool has allocated from the device and not freed."""
    hits: int
    """The number of allocations served from the pool."""
    misses: int
    """The number of allocations for which the pool allocated memory from the device."""
    splits: int
    """The number of device allocations that were split into several blocks."""


@dataclass(frozen=True)
class FunctionReport:
    """How a device implements a function of the spec."""

    function: str
    """The name in the spec."""
    group: str
    """The group in the spec."""
    availability: Availability
    """How the function is implemented: by the plugin, by a fallback, or not at all."""
    fallback: str | None
    """The description of the fallback; None if no fallback is used."""
    costs: str | None
    """The costs of the fallback; None if no fallback is used or the spec states no costs."""
    calls: int
    """The number of calls since the device was opened, including failed calls."""


def of_device(device: int, type: str, ordinal: int) -> DeviceInfo:
    """Returns the properties of a device, given its native handle."""
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
    """Returns the memory statistics of a device and its pool, given its native handle."""
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
    """Returns, for each function of the spec, how it is implemented and how often it was called."""
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
