"""The plot of `tenon bench --plot`, if matplotlib is installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(("name", "begins"), [("bench.png", b"\x89PNG\r\n"), ("bench.svg", b"<?xml")])
def test_plot_is_drawn(name: str, begins: bytes, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tenon", "bench", "--sizes", "64,4KiB", "--repeat", "2", "--plot", name]
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    drawn = (tmp_path / name).read_bytes()
    assert drawn.startswith(begins)
    if name.endswith(".svg"):
        assert all(text.encode() in drawn for text in ("host to device", "4 KiB", "queue an event"))


def test_missing_plot_package_fails_before_the_measurement(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tenon", "bench", "--sizes", "64", "--repeat", "1", "--plot", "bench.xyz"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: argument --plot: `bench.xyz`" in done.stderr and "Traceback" not in done.stderr
