"""Runs the net in processes: Paddle's CPU ends the process for some programs that it refuses.

The names of entries come from standard input, one on each line. The results are a JSON object on
the last line of standard output: for each name, the number of cells that Paddle's CPU accepts, and
the differences between the device and the CPU.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from net import check, wanted
from net_entries import ENTRIES, IS_WHOLE, cells

LIMITS = {"cpu": 10, "device": 300}
"""Seconds until a process is ended: Paddle's CPU may hang after it has damaged its memory."""


def child(name: str, todo: list[tuple[str, str]], report: int) -> None:
    """Checks cells, and writes a line before and after each step."""

    def say(*words: str) -> None:
        signal.alarm(LIMITS.get(words[0], 0))
        os.write(report, (json.dumps(words) + "\n").encode())

    for way, dims in todo:
        say("cpu", way, dims)
        expected = wanted(ENTRIES[name], way, dims)
        if expected is None:
            say("refused", way, dims)
            continue
        say("device", way, dims)
        try:
            check(ENTRIES[name], way, dims, expected)
            say("same", way, dims)
        except Exception as error:  # noqa: BLE001  # Each difference is reported.
            say("differs", way, dims, f"{type(error).__name__}: {str(error).strip()[-400:]}")
        if not IS_WHOLE:
            return


def entry(name: str) -> tuple[int, list[str]]:
    """Checks an entry. A process that ends goes on with the next cell."""
    todo, accepted, problems = cells(name), 0, []
    while todo:
        lines = in_child(name, todo)
        for kind, *cell in lines:
            if kind in ("same", "differs"):
                accepted += 1
            if kind == "differs":
                problems.append(f"{cell[0]}, {cell[1]} dimensions: {cell[2]}")
        done = {tuple(line[1:3]) for line in lines}
        todo = [cell for cell in todo if cell not in done]
        if lines and lines[-1][0] == "device":
            accepted += 1
            problems.append(f"{lines[-1][1]}, {lines[-1][2]} dimensions: the process ended")
        if not IS_WHOLE and accepted:
            break
    return accepted, problems


def in_child(name: str, todo: list[tuple[str, str]]) -> list[list[str]]:
    """Returns the lines of a process that checks cells."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            child(name, todo, writing)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        found = [json.loads(line) for line in lines]
    os.waitpid(process, 0)
    return found


if __name__ == "__main__":
    found = {}
    for name in sys.stdin.read().splitlines():
        found[name] = entry(name)
        if found[name][1] or not found[name][0]:
            print(name, *found[name], sep="\n  ", flush=True, file=sys.stderr)
    print(json.dumps(found))
