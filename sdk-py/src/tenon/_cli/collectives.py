"""`tenon bench --processes`: measures all-reduces of several processes."""

from __future__ import annotations

import contextlib
import json
import socket
import statistics
import subprocess
import sys
from time import perf_counter
from typing import TYPE_CHECKING, Any

import tenon
from tenon._cli.terminal import Bar, Style, columns, size

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MOST_CALLS = 200
_MOST_BYTES = 16 << 20
"""The bytes of a run, so that large sizes take a few calls only."""


def gather(device: str, processes: int, sizes: Sequence[int], repeat: int) -> dict[str, Any]:
    """Measures all-reduces of this process and others, which it starts.

    Args:
        device: The device of rank 0. Other ranks use the next devices of its type, if there are.
        processes: The number of processes.
        sizes: The sizes of the buffers in bytes.
        repeat: The number of runs.
    """
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{found.getsockname()[1]}"
    of_member: dict[str, Any] = {
        "address": address,
        "device": device,
        "processes": processes,
        "sizes": sizes,
        "repeat": repeat,
    }
    with _others(of_member, processes), Bar(len(sizes)) as bar:
        times = _measure(rank=0, bar=bar, **of_member)
    found_times = []
    for count, seconds in zip(sizes, times):
        # The best algorithm sends and receives each byte 2 (n - 1) / n times in each process. So this figure, which
        # nccl-tests defines, can be compared with the bandwidth of a connection.
        rate = count / seconds
        bus = rate * 2 * (processes - 1) / processes
        found_times.append({"size": count, "seconds": seconds, "bytes_per_second": rate, "bus_bytes_per_second": bus})
    return {"device": device, "processes": processes, "repeat": repeat, "all_reduce": found_times}


@contextlib.contextmanager
def _others(of_member: dict[str, Any], processes: int) -> Iterator[None]:
    """Starts the other ranks, and ends them."""
    program = "from tenon._cli.collectives import member; member()"
    others = []
    try:
        for rank in range(1, processes):
            arguments = json.dumps({**of_member, "rank": rank})
            others.append(subprocess.Popen([sys.executable, "-c", program, arguments]))
        yield
        for other in others:
            other.wait()
    finally:
        for other in others:
            other.kill()


def member() -> None:
    """Runs another rank than 0."""
    try:
        _measure(**json.loads(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(1)
    except tenon.Error as error:
        sys.exit(f"error: {error}")


def _measure(
    address: str, device: str, processes: int, sizes: Sequence[int], repeat: int, rank: int, bar: Bar | None = None
) -> list[float]:
    """Returns the median time of an all-reduce for each size, in seconds."""
    first = tenon.device(device)
    own = tenon.Device(first.type, (first.ordinal + rank) % len(first.plugin.devices()))
    times = []
    with own, tenon.Communicator(address, rank, processes) as communicator:
        for count in sizes:
            if bar is not None:
                bar.step(f"all-reduce of {size(count)}")
            # All ranks make the same number of calls.
            calls = max(1, min(_MOST_CALLS, _MOST_BYTES // count))
            buffer = tenon.zeros(count, "uint8") if count % 4 else tenon.zeros(count // 4, "float32")
            runs = []
            for _ in range(repeat + 1):
                communicator.barrier()
                start = perf_counter()
                for _ in range(calls):
                    communicator.all_reduce(buffer, out=buffer)
                    own.current_stream.synchronize()
                runs.append((perf_counter() - start) / calls)
            # The first run touches the memory.
            times.append(statistics.median(runs[1:]))
    return times


def text(found: dict[str, Any], style: Style) -> str:
    """Formats the results as text."""
    lines = [
        f"{style.strong(found['device'])}, {found['processes']} processes, medians of {found['repeat']} runs",
        "",
        style.strong("all-reduce"),
    ]
    rows = [["size", "µs", "GB/s", "bus GB/s"]]
    for entry in found["all_reduce"]:
        rates = [f"{entry[name] / 1e9:.2f}" for name in ("bytes_per_second", "bus_bytes_per_second")]
        rows.append([size(entry["size"]), f"{entry['seconds'] * 1e6:.1f}", *rates])
    return "\n".join([*lines, *columns(rows, right=range(4))])
