"""Runs the net in a worker process, because Paddle's CPU ends it for some programs.

The names of entries come from standard input, one on each line. The results are a JSON object on
the last line of standard output: for each name, the number of cells that Paddle's CPU accepts, and
the differences between the device and the CPU.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from net import check, wanted
from net_entries import ENTRIES, IS_WHOLE, cells

LIMITS = {"cpu": 10, "device": 300}
"""Seconds until a worker is ended: Paddle's CPU may hang after it has damaged its memory."""


def work(report: int) -> None:
    """Checks the cells of one entry for each line of standard input.

    Writes a line before and after each step, and one at the end of an entry.
    """

    def say(*words: str) -> None:
        signal.alarm(LIMITS.get(words[0], 0))
        os.write(report, (json.dumps(words) + "\n").encode())

    for line in sys.stdin:
        name, todo = json.loads(line)
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
                text = str(error).strip()[-400:]
                say("differs", way, dims, f"{type(error).__name__}: {text}")
            if not IS_WHOLE:
                break
        say("end")


class Worker:
    """A process that checks cells. It is started again when it has ended.

    A fork would be faster to start, but has no threads for the device.
    """

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def check(self, name: str, todo: list[tuple[str, str]]) -> list[list[str]]:
        """Returns the lines about an entry: without a last one if the process ended."""
        if self.process is None:
            reading, writing = os.pipe()
            self.process = subprocess.Popen(
                [sys.executable, __file__, str(writing)],
                stdin=subprocess.PIPE,
                stdout=sys.stderr,
                pass_fds=(writing,),
                text=True,
            )
            os.close(writing)
            self.lines = os.fdopen(reading)
        assert self.process.stdin is not None
        print(json.dumps([name, todo]), file=self.process.stdin, flush=True)
        found = []
        for line in self.lines:
            found.append(json.loads(line))
            if found[-1] == ["end"]:
                return found
        self.end()
        return found

    def end(self) -> None:
        """Ends the process."""
        if self.process is not None:
            self.process.communicate()
            self.lines.close()
            self.process = None


def entry(worker: Worker, name: str) -> tuple[int, list[str]]:
    """Checks an entry. A worker that ends is followed by one that goes on with the next cell."""
    todo, accepted = cells(name), 0
    problems: list[str] = []
    while todo:
        lines = worker.check(name, todo)
        if not lines:
            return accepted, [*problems, "the worker ended before the first cell"]
        for kind, *cell in lines:
            if kind in ("same", "differs"):
                accepted += 1
            if kind == "differs":
                problems.append(f"{cell[0]}, {cell[1]} dimensions: {cell[2]}")
        if lines and lines[-1] == ["end"]:
            break
        done = {tuple(line[1:3]) for line in lines}
        todo = [cell for cell in todo if cell not in done]
        if lines and lines[-1][0] == "device":
            accepted += 1
            problems.append(f"{lines[-1][1]}, {lines[-1][2]} dimensions: the process ended")
        if not IS_WHOLE and accepted:
            break
    return accepted, problems


def main() -> None:
    """Checks the entries that standard input names."""
    worker, found = Worker(), {}
    for name in sys.stdin.read().splitlines():
        found[name] = entry(worker, name)
        if found[name][1] or not found[name][0]:
            print(name, *found[name], sep="\n  ", flush=True, file=sys.stderr)
    worker.end()
    print(json.dumps(found))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(int(sys.argv[1]))
    else:
        main()
