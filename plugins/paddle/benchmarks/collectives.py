"""Measures an all-reduce of several processes, on the device and on PaddlePaddle's CPU.

Each call is complete before the next begins. Both sides use gloo. They run alternately, in
processes of their own with one thread, and are connected over the loopback interface.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

SIZES = {4: 300, 4 << 10: 300, 1 << 20: 40, 64 << 20: 3}
"""The sizes of buffers in bytes, and how often each is reduced."""


def measure() -> None:
    """Prints the time of an all-reduce for each size, in microseconds."""
    import paddle
    import paddle.distributed as dist

    dist.init_parallel_env()
    on_device = not isinstance(paddle.framework._current_expected_place(), paddle.CPUPlace)
    for size, calls in SIZES.items():
        data = paddle.zeros([size // 4], "float32")
        times = []
        for call in range(calls + 3):
            begun = time.perf_counter()
            dist.all_reduce(data)
            if on_device:
                paddle.device.synchronize()
            # The first calls make the group and reserve memory.
            if call >= 3:
                times.append(time.perf_counter() - begun)
        if dist.get_rank() == 0:
            print("time", size, median(times) * 1e6)


def name_of(size: int) -> str:
    """Returns a size with its unit."""
    for unit, bytes_of in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size >= bytes_of:
            return f"{size // bytes_of} {unit}"
    return f"{size} B"


def compare(processes: int, rounds: int) -> None:
    """Prints a table for a number of processes."""
    from launch import check, run_file

    times: dict[str, dict[int, list[float]]] = {
        side: {size: [] for size in SIZES} for side in ("xccl", "gloo")
    }
    for number in range(rounds):
        for side in times if number % 2 == 0 else reversed(times):
            outcomes = run_file(processes, Path(__file__), "--measure", backend=side)
            check(outcomes)
            for line in outcomes[0].output.splitlines():
                if line.startswith("time "):
                    _, bytes_of, microseconds = line.split()
                    times[side][int(bytes_of)].append(float(microseconds))
    print(f"### All-reduce of {processes} processes\n")
    print("| | Device, µs | PaddlePaddle's CPU, µs | Ratio |\n|---|--:|--:|--:|")
    for size in SIZES:
        ours, theirs = (median(times[side][size]) for side in ("xccl", "gloo"))
        ratio = median(a / b for a, b in zip(times["xccl"][size], times["gloo"][size]))
        print(f"| {name_of(size)} | {ours:,.0f} | {theirs:,.0f} | {ratio:.2f} |", flush=True)
    print()


def main() -> None:
    """Prints a table for two and for four processes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure()
        return
    for processes in (2, 4):
        compare(processes, options.rounds)


if __name__ == "__main__":
    main()
