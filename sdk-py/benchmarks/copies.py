"""Copies between host and device, compared to NumPy's own copy of the same size: 1 KiB to 1 GiB."""

from __future__ import annotations

import numpy

import acl
import tenon
from compare import Work, run, table
from tenon._cli.terminal import size
from tenon._native import functions

SIZES = [1 << power for power in range(10, 31, 4)]
HOST_TO_DEVICE, DEVICE_TO_HOST, NORMAL_PAGES = 1, 2, 2


def rate(name: str, seconds: float) -> str:
    """Formats the rate of a copy for the tables."""
    return f"{COUNTS[name] / seconds / 1e9:.2f}"


COUNTS = {size(count): count for count in SIZES}


def ways(count: int, to_device: bool, address: int) -> dict[str, Work]:
    """Returns the copies of one size in one direction; `address` is memory of `acl` that is large enough."""
    array, other = numpy.ones(count, numpy.uint8), numpy.ones(count, numpy.uint8)
    device = tenon.device("cpu:0")
    buffer = tenon.zeros(count, "uint8", device=device)
    device.synchronize()
    native, host, memory = device.handle, array.ctypes.data, buffer.ptr
    if to_device:
        return {
            "NumPy": lambda: numpy.copyto(other, array),
            "generated": lambda: functions.memory_copy_h2d(native, memory, host, count),
            "Buffer": lambda: buffer.copy_from(array),
            "acl.rt": lambda: acl.rt.memcpy(address, count, host, count, HOST_TO_DEVICE),
        }
    return {
        "NumPy": lambda: numpy.copyto(array, other),
        "generated": lambda: functions.memory_copy_d2h(native, host, memory, count),
        "Buffer": lambda: buffer.copy_to(array),
        "acl.rt": lambda: acl.rt.memcpy(host, count, address, count, DEVICE_TO_HOST),
    }


def main() -> None:
    """Measures, and prints a table for each direction."""
    assert acl.init() == 0 and acl.rt.set_device(0) == 0
    address, _ = acl.rt.malloc(max(SIZES), NORMAL_PAGES)
    for title, to_device in (("host to device, GB/s", True), ("device to host, GB/s", False)):
        rows = {}
        for name, count in COUNTS.items():
            rows[name] = run(
                ways(count, to_device, address), acl.rt.synchronize_device, rounds=5 if count > 1 << 26 else 51
            )
        table(title, rows, "NumPy", rate)


if __name__ == "__main__":
    main()
