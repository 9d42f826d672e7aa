"""The tables of the benchmark."""

from __future__ import annotations

import math
import platform
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import NamedTuple

Side = list[tuple[float, float]]
"""The wall and the processor time of a call, in seconds, for each round."""

TITLES = {"step": "Training steps", "inference": "Inference", "operator": "Operators"}


class Measured(NamedTuple):
    """The measurements of a workload."""

    name: str
    kind: str
    threads: int
    device: Side
    plain: Side
    """PaddlePaddle's CPU with `FLAGS_use_mkldnn=0`."""
    mkldnn: Side
    """PaddlePaddle's CPU with `FLAGS_use_mkldnn=1`."""
    alone: Side | None = None
    """The device without oneDNN, if that was measured too."""

    def baseline(self) -> Side:
        """Returns the side of PaddlePaddle's CPU that takes less processor time."""
        return min(self.plain, self.mkldnn, key=lambda side: median(time for _, time in side))

    def ratio(self, clock: int, side: Side | None = None) -> float:
        """Returns the median ratio of a side to the baseline: 0 for wall, 1 for processor time.

        The side is the device's, unless another one is given.
        """
        pairs = zip(side or self.device, self.baseline())
        return median(ours[clock] / max(theirs[clock], 1e-9) for ours, theirs in pairs)


def wall(side: Side) -> float:
    """Returns the median wall time of a call, in seconds."""
    return median(time for time, _ in side)


def geometric_mean(ratios: list[float]) -> float:
    """Returns the geometric mean of ratios."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def _cells(one: Measured) -> list[str]:
    """Returns the columns of a workload."""
    baseline = one.baseline()
    return [
        one.name,
        f"{wall(one.device) * 1e6:,.1f}",
        f"{wall(baseline) * 1e6:,.1f}",
        "1" if baseline is one.mkldnn else "0",
        f"{one.ratio(0):.2f}",
        f"{one.ratio(1):.2f}",
    ]


def text(one: Measured) -> str:
    """Returns a line with the results of a workload."""
    name, ours, theirs, flag, ratio, processor = _cells(one)
    return f"{name:<46}{ours:>12} µs{theirs:>12} µs (mkldnn {flag}){ratio:>8}{processor:>8}"


def processor() -> str:
    """Returns the name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor()


def markdown(found: list[Measured]) -> str:
    """Returns the tables of all workloads, with the geometric means of their ratios."""
    parts = [f"{processor()}. PaddlePaddle {metadata.version('paddlepaddle')}.\n"]
    for threads in sorted({one.threads for one in found}):
        for kind, title in TITLES.items():
            rows = [one for one in found if one.kind == kind and one.threads == threads]
            if not rows:
                continue
            parts.append(f"### {title}, threads: {threads}\n")
            parts.append(
                "| | Device, µs | PaddlePaddle's CPU, µs | mkldnn | Ratio "
                "| Ratio of processor time |\n"
                "|---|--:|--:|--:|--:|--:|\n"
                + "\n".join(f"| {' | '.join(_cells(one))} |" for one in rows)
                + "\n"
            )
            ratios = [one.ratio(0) for one in rows]
            mean = geometric_mean(ratios)
            parts.append(f"Geometric mean of the ratios: {mean:.2f}, largest: {max(ratios):.2f}.\n")
    return "\n".join(parts)
