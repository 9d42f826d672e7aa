"""`tenon bench`: measures copy bandwidth and call latencies of a device, and all-reduces of several processes."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import tenon
from tenon._cli import collectives, measure, plot
from tenon._cli.terminal import Bar, Style, as_json, columns, parse_size, size

if TYPE_CHECKING:
    from collections.abc import Sequence

SIZES = "4KiB,16KiB,64KiB,256KiB,1MiB,4MiB,16MiB,64MiB,256MiB"

EPILOG = """\
Each copy is queued on a stream and waited for. Each figure is the median of --repeat runs; a run repeats the work until
it is long enough to be measured. GB/s are 10^9 bytes per second at the destination. Latencies include the cost of a
call from Python, which is in the first row.

With --processes, several processes reduce buffers of each size, and wait for each. The bus bandwidth is the bandwidth
times 2 (n - 1) / n for n processes, which can be compared with that of a connection.

examples:
  tenon bench --device my_npu:0 --plot npu.png
  tenon bench --sizes 1MiB,1GiB --repeat 30 --json
  tenon bench --processes 4 --sizes 4,1MiB,64MiB

exit status: 0 success, 1 failure, 2 wrong options, 130 interrupted
"""


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the command and its options."""
    command = commands.add_parser(
        "bench",
        help="measure copy bandwidth by size, latencies and allocation",
        description="Measures copies by size, and the latency of calls; or all-reduces of several processes.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument(
        "--device", metavar="NAME", default="cpu:0", help="device, such as cpu:0 (default: %(default)s)"
    )
    command.add_argument(
        "--sizes", metavar="LIST", type=_sizes, default=SIZES, help="sizes of the copies (default: %(default)s)"
    )
    command.add_argument(
        "--repeat", metavar="N", type=_count, default=10, help="runs of each measurement (default: %(default)s)"
    )
    command.add_argument(
        "--processes",
        metavar="N",
        type=_processes,
        help="measure all-reduces of so many processes, and nothing else",
    )
    command.add_argument("--pageable", action="store_true", help="use pageable host memory in place of pinned memory")
    command.add_argument(
        "--plot", metavar="FILE", type=plot.file, help="draw the results: .png, .svg or .pdf; needs matplotlib"
    )
    command.add_argument("--json", action="store_true", help="print JSON, with times in seconds and sizes in bytes")
    command.set_defaults(run=run, refuse=command.error)


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    if options.processes and (options.plot or options.pageable):
        options.refuse("--processes measures all-reduces, which have no --plot and no --pageable")
    if options.plot:
        # Checked before the measurement, which may take minutes.
        plot.require(options.plot)
    if options.processes:
        reduced = collectives.gather(options.device, options.processes, options.sizes, options.repeat)
        print(as_json(reduced) if options.json else collectives.text(reduced, Style(sys.stdout)))
        return 0
    device = tenon.device(options.device)
    found = gather(device, options.sizes, options.repeat, options.pageable)
    print(as_json(found) if options.json else text(found, Style(sys.stdout)))
    if options.plot:
        # Drawn after the results are written, because writing the file may fail.
        sys.stdout.flush()
        plot.draw(found, options.plot)
    return 0


def gather(device: tenon.Device, sizes: Sequence[int], repeat: int, pageable: bool) -> dict[str, Any]:
    """Runs all measurements."""
    found: dict[str, Any] = {
        "device": device.name,
        "plugin": device.plugin.name,
        "repeat": repeat,
        "host_memory": "pageable" if pageable else "pinned",
        "copies": [],
        "latencies": [],
    }
    with measure.Bench(device, repeat, pageable) as bench:
        with Bar(len(sizes) * len(measure.DIRECTIONS) + len(bench.latencies)) as bar:
            for count in sizes:
                for direction, name in measure.DIRECTIONS.items():
                    bar.step(f"{size(count)} {name}")
                    time = bench.copy(direction, count)
                    rate = None if time is None else count / time.median
                    found["copies"].append(
                        {"direction": direction, "size": count, **_times(time), "bytes_per_second": rate}
                    )
            for name, work in bench.latencies.items():
                bar.step(name)
                found["latencies"].append({"name": name, **_times(bench.time(work))})
    return found


def _times(time: measure.Time | None) -> dict[str, float | None]:
    if time is None:
        return {"seconds": None, "fastest_seconds": None}
    return {"seconds": time.median, "fastest_seconds": time.fastest}


def text(found: dict[str, Any], style: Style) -> str:
    """Formats the results as text."""
    lines = [
        f"{style.strong(found['device'])} of plugin {found['plugin']}, medians of {found['repeat']} runs",
        "",
        style.strong(f"copies, GB/s, {found['host_memory']} host memory"),
    ]
    rows = [["size", *measure.DIRECTIONS.values()]]
    by_size: dict[int, list[str]] = {}
    for copy in found["copies"]:
        rate = copy["bytes_per_second"]
        by_size.setdefault(copy["size"], []).append("-" if rate is None else f"{rate / 1e9:.2f}")
    rows += [[size(count), *rates] for count, rates in by_size.items()]
    lines += columns(rows, right=range(4))
    lines += ["", style.strong("latencies, µs")]
    rows = [["", "median", "fastest"]]
    for latency in found["latencies"]:
        rows.append([latency["name"], _micros(latency["seconds"]), _micros(latency["fastest_seconds"])])
    lines += columns(rows, right=(1, 2))
    return "\n".join(lines)


def _micros(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e6:.2f}"


def _sizes(text: str) -> list[int]:
    try:
        return [parse_size(part) for part in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _processes(text: str) -> int:
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"`{text}` is not a number of processes, at least 2")
    return int(text)


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"`{text}` is not a positive number of runs")
    return int(text)
