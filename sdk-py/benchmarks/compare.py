"""The same piece of work in several ways, side by side in one run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from time import perf_counter

ROUNDS = 101
_SHORTEST = 0.001
"""Seconds that each way runs in each round, at least: long for the clock, short for whatever disturbs the machine."""

Work = Callable[[], object]
Rounds = list[float]
"""Seconds that a way takes, one figure for each round."""


def run(ways: Mapping[str, Work], settle: Work, rounds: int = ROUNDS) -> dict[str, Rounds]:
    """Runs each way in each round, so that what disturbs the machine for a while disturbs all of them.

    `settle` waits for what a run has queued, which is not part of its time, and must not be part of the next one's.
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
    """How many times as long a way takes as the base: the median of the rounds, each of which has both."""
    return statistics.median(one / other for one, other in zip(way, base))


def table(title: str, rows: Mapping[str, Mapping[str, Rounds]], base: str, shown: Callable[[str, float], str]) -> None:
    """Prints a row for each piece of work: medians, and for all but the base how many times its time they take.

    Args:
        title: What the figures are.
        rows: What each way took, by what is done.
        base: The way that the others are compared to.
        shown: How seconds are written, given what is done.
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
