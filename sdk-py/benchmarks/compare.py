"""Compares several implementations of the same work in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from time import perf_counter

ROUNDS = 101
_SHORTEST = 0.001
"""Minimum duration of a measurement in seconds: much longer than the clock's resolution, shorter than disturbances."""

Work = Callable[[], object]
Rounds = list[float]
"""The durations of one implementation in seconds, one for each round."""


def run(ways: Mapping[str, Work], settle: Work, rounds: int = ROUNDS) -> dict[str, Rounds]:
    """Measures each implementation in each round, so that a temporary disturbance affects all of them.

    `settle` waits for queued work. Its time does not count, and the work must not delay the next measurement.
    """
    calls = {name: _calls(work, settle) for name, work in ways.items()}
    found: dict[str, Rounds] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, work in ways.items():
            found[name].append(_time(work, calls[name]))
            settle()
    return found


def _calls(work: Work, settle: Work) -> int:
    calls = 1
    while _time(work, calls) * calls < _SHORTEST:
        settle()
        calls *= 2
    return calls


def _time(work: Work, calls: int) -> float:
    repeat = range(calls)
    start = perf_counter()
    for _ in repeat:
        work()
    return (perf_counter() - start) / calls


def ratio(way: Rounds, base: Rounds) -> float:
    """Returns the median over all rounds of an implementation's duration divided by that of the baseline."""
    return statistics.median(one / other for one, other in zip(way, base))


def table(title: str, rows: Mapping[str, Mapping[str, Rounds]], base: str, shown: Callable[[str, float], str]) -> None:
    """Prints a row for each piece of work: the medians, and, except for the baseline, the ratio to the baseline.

    Args:
        title: The meaning of the figures.
        rows: The durations of each implementation, by piece of work.
        base: The baseline.
        shown: Formats a number of seconds for a piece of work.
    """
    ways = list(next(iter(rows.values())))
    cells = [[title, *ways]]
    for name, times in rows.items():
        cells.append([name])
        for way in ways:
            times_base = "" if way == base else f" {ratio(times[way], times[base]):5.2f}x"
            cells[-1].append(f"{shown(name, statistics.median(times[way]))}{times_base}")
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for row in cells:
        print(
            "  ".join(
                cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths))
            )
        )
    others = {way: [ratio(times[way], times[base]) for times in rows.values()] for way in ways if way != base}
    print("median: " + ", ".join(f"{way} {statistics.median(found):.2f}x" for way, found in others.items()) + "\n")
