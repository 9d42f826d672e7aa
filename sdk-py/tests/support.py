"""Helpers of the tests: a gate for streams, and programs in separate processes."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import tenon
from tenon._native import functions

FUNCTIONS = sum(f"_{name}" in vars(functions) for name in vars(functions))
"""The number of device functions in the spec."""

PATIENCE = 120
"""Seconds after which a test is considered hung. No result depends on the exact value."""


def _has_gloo() -> bool:
    try:
        ctypes.CDLL("libgloo.so.0")
    except OSError:
        return False
    return True


needs_gloo = pytest.mark.skipif(not _has_gloo(), reason="needs gloo: apt-get install libgloo0")
"""Marks a test of collectives."""


class Gate:
    """Blocks streams until it is opened. Later work stays queued."""

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
        """Waits until a stream has reached the gate."""
        assert self._reached.wait(PATIENCE)

    def open(self) -> None:
        """Unblocks the streams."""
        self._opened.set()


Program = Callable[..., "subprocess.CompletedProcess[str]"]


def environment(**variables: str) -> dict[str, str]:
    """Returns an environment in which a program imports the same `tenon` as the tests."""
    found = {name: value for name, value in os.environ.items() if name not in ("TENON_LAYERS", "TENON_PLUGIN_PATH")}
    package = Path(tenon.__file__).parent.parent
    found["PYTHONPATH"] = os.pathsep.join([str(package), *filter(None, [os.environ.get("PYTHONPATH")])])
    found.update(variables)
    return found


def run(path: Path, source: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Writes a Python program to a file and runs it."""
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
    """Starts a program that receives signals."""
    path.write_text(textwrap.dedent(source))
    return subprocess.Popen(
        [sys.executable, str(path)], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def silent(done: subprocess.CompletedProcess[str], output: str = "") -> bool:
    """Returns True if a program succeeded and printed only the expected output."""
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, output, "")
    return True


def wait_until_in(thread: int, function: str) -> None:
    """Waits until a Python thread is in a function with this name, or in a function that it calls."""
    for _ in range(PATIENCE * 1000):
        frame = sys._current_frames().get(thread)
        while frame is not None:
            if frame.f_code.co_name == function:
                return
            frame = frame.f_back
        time.sleep(0.001)
    raise AssertionError(f"the thread has not come to {function}")
