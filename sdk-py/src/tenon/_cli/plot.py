"""The plot of `tenon bench --plot`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tenon._cli.measure import DIRECTIONS
from tenon._cli.terminal import size

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = {"h2d": "#1f6f8b", "d2h": "#d1495b", "d2d": "#66a182"}


_KINDS = (".png", ".svg", ".pdf")


def file(name: str) -> Path:
    """Converts the argument of `--plot`.

    Raises:
        ArgumentTypeError: The extension is not supported.
    """
    path = Path(name)
    if path.suffix.lower() not in _KINDS:
        raise argparse.ArgumentTypeError(f"`{name}` must end in .png, .svg or .pdf")
    return path


def require(file: Path) -> None:
    """Checks the requirements of `draw`.

    Raises:
        OSError: matplotlib is not installed, or the folder of the file does not exist.
    """
    if not file.parent.is_dir():
        raise OSError(f"--plot: the folder `{file.parent}` does not exist")
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise OSError("--plot needs matplotlib: pip install 'tenon[plot]'") from None


def draw(found: dict[str, Any], file: Path) -> None:
    """Writes a plot of bandwidths and latencies to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    figure.suptitle(f"{found['device']} of plugin {found['plugin']}, medians of {found['repeat']} runs")
    _draw_copies(left, found)
    _draw_latencies(right, found)
    figure.savefig(file, dpi=150)


def _draw_copies(axes: Axes, found: dict[str, Any]) -> None:
    for direction, name in DIRECTIONS.items():
        points = [
            (copy["size"], copy["bytes_per_second"] / 1e9)
            for copy in found["copies"]
            if copy["direction"] == direction and copy["bytes_per_second"] is not None
        ]
        if points:
            axes.plot(*zip(*points), marker="o", label=name, color=COLOURS[direction])
    sizes = sorted({copy["size"] for copy in found["copies"]})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, [size(count) for count in sizes], rotation=30)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("GB/s")
    axes.set_title(f"copies, {found['host_memory']} host memory")
    axes.grid(alpha=0.3)
    axes.legend()


def _draw_latencies(axes: Axes, found: dict[str, Any]) -> None:
    known = [latency for latency in reversed(found["latencies"]) if latency["seconds"] is not None]
    bars = axes.barh([latency["name"] for latency in known], [latency["seconds"] * 1e6 for latency in known])
    for bar in bars:
        bar.set_color(COLOURS["h2d"])
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.margins(x=0.15)
    axes.set_title("latencies, µs")
    axes.spines[["top", "right"]].set_visible(False)
