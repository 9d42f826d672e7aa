"""Reads the log of PaddlePaddle and the notes of the recorder, and sums up what they report.

With `VMODULE`, PaddlePaddle logs each operator for which the device has no kernel (`kernel_factory`), each tensor that
it moves for an operator (`data_transform`), the size of each copy (`memcpy`), and the kernels of backward passes
(`backward_api`, or `backward_api_base` since 3.0). The texts are the same in 2.6 to 3.3, but for the lines of a kernel.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tenon.report.figures import Total, Where

VMODULE = "kernel_factory=3,data_transform=3,memcpy=4,backward_api*=6"
"""The files of PaddlePaddle that log, and their levels."""

LINE = re.compile(
    r"(?P<severity>[IWEF])\d{4} (?P<time>\d\d:\d\d:\d\d\.\d+) +(?P<thread>\d+) (?P<file>\w+\.\w+):\d+\] (?P<text>.*)"
)
MISSING = re.compile(
    r"missing (?P<device>\w+) kernel: (?P<kernel>\w+), expected_kernel_key:\(.*, (?P<dtype>\w+)\), fallbacking to CPU"
)
MOVE = "DeviceTransform in"
COPY = re.compile(r"memory::Copy (?P<bytes>\d+) Bytes from Place\((?P<source>[\w:]+)\) to Place\((?P<target>[\w:]+)\)")
BACKWARD = re.compile(r'(?P<kernel>\w+) kernel: \{"input":\[')
BACKEND = re.compile(r'"input":\["(?P<one_line>\w+), |^\tbackend: (?P<lines>\w+), ')
"""The backend of the first input of a kernel: in one line, or since 3.1 in a line of its own."""
OURS = {"kernel_factory.cc", "data_transform.cc", "memcpy.cc", "backward_api.cc", "backward_api_base.cc"}
SEVERITIES = "IWEF"

LARGE = 65536
"""Copies of this size show how fast copies are."""
LATENCY = 50e-6
"""The time of a copy without its bytes, in seconds."""
DAY = 86400.0


@dataclass
class Fallback:
    """A call of an operator that ran on the CPU."""

    kernel: str
    dtype: str
    device: str
    begin: float
    end: float
    where: Where | None = None
    is_closed: bool = False
    to_host: int = 0
    to_device: int = 0


@dataclass
class Thread:
    """The state of a thread after its last line."""

    fallback: Fallback | None = None
    is_moving: bool = False
    """The next copy moves a tensor for an operator."""
    copy: tuple[float, int, bool] | None = None
    """Begin, size and direction of the last copy, until its end is known."""
    other: tuple[bool, int] | None = None
    """Direction and size of the last copy that no operator asked for."""


class Log:
    """Adds up a log as it grows."""

    def __init__(self, key: str, shown: str = "I") -> None:
        """Creates an empty log.

        Args:
            key: The word with which notes of the recorder begin.
            shown: The least severity of the other lines of PaddlePaddle that are passed on.
        """
        self.note = re.compile(re.escape(key) + r" (?P<kind>\w+) (?P<content>\{.*\})$")
        self.key = key
        self.hidden = SEVERITIES[: SEVERITIES.index(shown)]
        self.fallbacks: dict[tuple[str, str, Where | None], Total] = {}
        self.reads: dict[Where | None, Total] = {}
        self.differences: list[dict[str, Any]] = []
        """The first difference of each operator that was compared."""
        self.backward: dict[str, int] = {}
        """Calls of kernels of backward passes on the device."""
        self.inputs = Total()
        """Inputs that were copied to the place of their operator."""
        self.others = Total()
        """Copies of no operator, such as those of compiled programs."""
        self.devices: set[str] = set()
        self.first: tuple[str, str, Where | None] | None = None
        self._rest = ""
        self._clock = 0.0
        self._threads: dict[int, Thread] = {}
        self._is_paused = False
        self._kernel: str | None = None
        """The kernel of a backward pass whose lines have not ended yet."""
        self._has_backend = False
        self._python: set[int] = set()
        self._unplaced: list[tuple[int, Fallback]] = []
        self._rates: dict[bool, float] = {}

    def feed(self, text: str) -> str:
        """Reads more of the log. Returns the text that does not belong to the report."""
        *lines, last = (self._rest + text).split("\n")
        self._rest = last if self._may_be_ours(last) else ""
        shown = [self._read(line + "\n") for line in lines]
        return "".join(shown) + ("" if self._rest else last)

    def finish(self) -> str:
        """Ends the log. Returns the text that was not passed on yet."""
        rest, self._rest = self._rest, ""
        for number, thread in self._threads.items():
            self._close(number, thread, self._clock)
        for _, fallback in self._unplaced:
            self._add(fallback)
        self._unplaced.clear()
        return self._read(rest) if rest else ""

    def _may_be_ours(self, text: str) -> bool:
        """Returns whether a line that has no end yet may be one to read."""
        return bool(re.search(r"[IWEF](\d{0,4}$|\d{4} )", text)) or self.key[0] in text

    def _read(self, line: str) -> str:
        content = line.rstrip("\n")
        if self._kernel is not None and not LINE.search(content):
            self._take_kernel(content)
            return ""
        note = self.note.search(content)
        if note:
            self._take_note(note["kind"], json.loads(note["content"]))
            return line[: note.start()]
        match = LINE.search(content)
        if not match:
            return line
        if match["severity"] == "I" and match["file"] in OURS:
            backward = BACKWARD.match(match["text"])
            if backward:
                self._kernel, self._has_backend = backward["kernel"], False
                self._take_kernel(match["text"])
            elif not self._is_paused:
                self._take(match)
        elif match["severity"] not in self.hidden:
            return line
        return line[: match.start()]

    def _time(self, time: float) -> float:
        """Takes seconds since midnight. Returns seconds since the midnight before the log."""
        while time < self._clock - DAY / 2:
            time += DAY
        self._clock = max(self._clock, time)
        return time

    def _take_kernel(self, text: str) -> None:
        """Takes a line about the kernel of a backward pass: the first backend is where it runs."""
        found = None if self._has_backend else BACKEND.search(text)
        if found and self._kernel is not None:
            self._has_backend = True
            if "CPU" not in (found["one_line"], found["lines"]) and not self._is_paused:
                self.backward[self._kernel] = self.backward.get(self._kernel, 0) + 1
        if text.endswith("]}"):
            self._kernel = None

    def _take(self, match: re.Match[str]) -> None:
        time, number = self._time(since_midnight(match["time"])), int(match["thread"])
        thread = self._threads.setdefault(number, Thread())
        text = match["text"]
        self._end_copy(thread, time)
        missing = MISSING.match(text)
        copy = COPY.match(text)
        if missing:
            self._close(number, thread, time)
            thread.fallback = Fallback(missing["kernel"], missing["dtype"], missing["device"], time, time)
            self._unplaced.append((number, thread.fallback))
            self.devices.add(missing["device"])
        elif text.startswith(MOVE):
            thread.is_moving = True
        elif copy:
            self._copy(thread, time, int(copy["bytes"]), copy["source"], copy["target"])

    def _copy(self, thread: Thread, time: float, size: int, source: str, target: str) -> None:
        to_host = target == "cpu"
        self.devices.add((source if to_host else target).partition(":")[0])
        is_moving, thread.is_moving = thread.is_moving, False
        fallback = thread.fallback
        thread.other = None
        if not is_moving:
            add(self.others, 1, 0.0, size, to_host)
            thread.other = to_host, size
        elif fallback is None or (to_host and fallback.to_device):
            # An operator moves its inputs before it runs, and its results after it.
            add(self.inputs, 1, 0.0, size, to_host)
        else:
            fallback.end = time
            fallback.to_host += size if to_host else 0
            fallback.to_device += 0 if to_host else size
            thread.copy = time, size, to_host

    def _end_copy(self, thread: Thread, time: float) -> None:
        """Takes the next line of a thread as the end of its last copy, unless that is too late."""
        if thread.copy is None:
            if thread.fallback is not None and not (thread.fallback.to_host or thread.fallback.to_device):
                thread.fallback.end = time
            return
        begin, size, to_host = thread.copy
        thread.copy = None
        took = time - begin
        if size >= LARGE:
            self._rates[to_host] = min(self._rates.get(to_host, took / size), took / size)
        if to_host in self._rates:
            took = min(took, LATENCY + size * self._rates[to_host])
        if thread.fallback is not None:
            thread.fallback.end = begin + took

    def _close(self, number: int, thread: Thread, time: float) -> None:
        self._end_copy(thread, time)
        fallback, thread.fallback = thread.fallback, None
        if fallback is None:
            return
        fallback.is_closed = True
        if fallback.where is not None:
            self._add(fallback)
            self._unplaced = [item for item in self._unplaced if item[1] is not fallback]

    def _add(self, fallback: Fallback) -> None:
        key = fallback.kernel, fallback.dtype, fallback.where
        self.first = self.first or key
        total = self.fallbacks.setdefault(key, Total())
        total.calls += 1
        total.seconds += fallback.end - fallback.begin
        total.to_host += fallback.to_host
        total.to_device += fallback.to_device

    def _take_note(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "restart":
            self._restart()
        elif kind in ("pause", "resume"):
            self._is_paused = kind == "pause"
        elif kind == "differs":
            self.differences.append(content)
        elif kind == "at":
            self._place(content)
        elif kind == "read":
            self._take_read(content)

    def _restart(self) -> None:
        self.fallbacks.clear()
        self.reads.clear()
        self.backward.clear()
        self._unplaced.clear()
        self._threads.clear()
        self.inputs, self.others, self.first = Total(), Total(), None

    def _place(self, content: dict[str, Any]) -> None:
        """Places what the threads have done since the last note: those of Python only if it is theirs."""
        time, main = self._time(content["time"]), content["thread"]
        self._python.update(content["others"])
        where = Where(*content["where"]) if content["where"] else None
        for number, thread in self._threads.items():
            if number not in self._python or number == main:
                self._close(number, thread, time)
        mine = [item for item in self._unplaced if item[0] not in self._python]
        self._unplaced = [item for item in self._unplaced if item[0] in self._python]
        for _, fallback in mine:
            fallback.where = where
            self._add(fallback)

    def _take_read(self, content: dict[str, Any]) -> None:
        where = Where(*content["where"]) if content["where"] else None
        add(self.reads.setdefault(where, Total()), 1, content["seconds"], content["bytes"], True)
        thread = self._threads.get(content["thread"])
        if thread is not None and thread.other == (True, content["bytes"]):
            # Some ways to read a value are logged as a copy too.
            add(self.others, -1, 0.0, -content["bytes"], True)
            thread.other = None


def since_midnight(text: str) -> float:
    """Returns the seconds of a time such as `10:00:00.000000`."""
    hours, minutes, seconds = text.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def add(total: Total, calls: int, seconds: float, size: int, to_host: bool) -> None:
    """Adds calls with a copy to a total."""
    total.calls += calls
    total.seconds += seconds
    if to_host:
        total.to_host += size
    else:
        total.to_device += size
