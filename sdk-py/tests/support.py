"""What the tests use beside fixtures: a gate for streams, and programs in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import tenon
from tenon._native import functions

FUNCTIONS = sum(f"_{name}" in vars(functions) for name in vars(functions))
"""How many functions a device has in the spec that the package was generated from."""

PATIENCE = 120
"""Seconds after which something has hung. No test passes or fails by being faster or slower than that."""


class Gate:
    """Holds streams up until it is opened: work behind it is queued, and stays queued."""

    def __init__(self) -> None:
        self._opened = threading.Event()
        self._reached = threading.Event()

    def _hold(self) -> None:
        self._reached.set()
        assert self._opened.wait(PATIENCE)

    def hold(self, stream: tenon.Stream) -> None:
        """Queues the gate on a stream."""
        stream.add_callback(self._hold)

    def wait_until_reached(self) -> None:
        """Waits until a stream has come to the gate."""
        assert self._reached.wait(PATIENCE)

    def open(self) -> None:
        """Lets the streams go on."""
        self._opened.set()


Program = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**variables: str) -> dict[str, str]:
    """The environment of a program that imports the same `tenon` as the tests."""
    found = {name: value for name, value in os.environ.items() if name not in ("TENON_LAYERS", "TENON_PLUGIN_PATH")}
    package = Path(tenon.__file__).parent.parent
    found["PYTHONPATH"] = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    found.update(variables)
    return found


def run(path: Path, source: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of Python, which is written to a file."""
    path.write_text(textwrap.dedent(source))
    return subprocess.run(
        [sys.executable, str(path)],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def start(path: Path, source: str) -> subprocess.Popen[str]:
    """Begins to run a program, to which signals are sent."""
    path.write_text(textwrap.dedent(source))
    return subprocess.Popen(
        [sys.executable, str(path)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def silent(done: subprocess.CompletedProcess[str], output: str = "") -> bool:
    """Whether a program has ended well and said nothing but what was expected."""
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, output, "")
    return True


def wait_until_in(thread: int, function: str) -> None:
    """Waits until a thread of Python's is inside of a function of this name, or of something that it calls."""
    for _ in range(PATIENCE * 1000):
        frame = sys._current_frames().get(thread)
        while frame is not None:
            if frame.f_code.co_name == function:
                return
            frame = frame.f_back
        time.sleep(0.001)
    raise AssertionError(f"the thread has not come to {function}")
