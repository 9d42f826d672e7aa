"""Compiled programs of each operator and layer, in each way that Paddle runs programs.

The reference is Paddle's CPU. Each entry has nine cells: three ways to run a program, and three
kinds of shapes. `TENON_NET=whole` checks all of them. Otherwise each entry is checked in one cell
that Paddle's CPU accepts; `TENON_NET_SEED` decides which.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from net_entries import ENTRIES

Results = dict[str, tuple[int, list[str]]]


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest) -> Results:
    """Runs the selected entries: for each one the number of cells that count, and what differs."""
    items = [item for item in request.session.items if item.path == request.path]
    names = [item.callspec.params["name"] for item in items]  # type: ignore[attr-defined]
    run = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("net_run.py"))],
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=True,
    )
    found: Results = json.loads(run.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", ENTRIES)
def test_programs_compute_what_the_cpu_computes(name: str, results: Results) -> None:
    accepted, problems = results[name]
    assert not problems, "\n".join(problems)
    assert accepted, "Paddle's CPU refuses it in every way"
