"""ONNX's own cases of operators: the device passes what the CPU provider of the release passes.

They run in programs of their own, so that a crash names its case.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tomllib

import provider

HERE = Path(__file__).parent


def run(target: str) -> dict[str, Any]:
    """Runs all cases on a target; returns what was printed for each."""
    command = [sys.executable, str(HERE / "cases.py"), str(provider.library()), target]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    last = lines[-1].get("begins") if lines else None
    assert ran.returncode == 0 and last is None, (
        f"the program ended in {last}: {ran.stderr[-2000:]}"
    )
    return {line["case"]: line for line in lines if "case" in line}


@pytest.fixture(scope="module")
def device() -> dict[str, Any]:
    """What the device makes of each case."""
    return run("device")


@pytest.fixture(scope="module")
def host() -> dict[str, Any]:
    """What the CPU provider makes of each case."""
    return run("host")


def expected() -> dict[str, str]:
    """Returns the cases in which the device differs, with the reasons."""
    table = tomllib.loads((HERE / "differences.toml").read_text())
    return {case: reason for reason, cases in table.items() for case in cases}


def test_device_passes_what_the_cpu_provider_passes(
    device: dict[str, Any], host: dict[str, Any]
) -> None:
    assert len(device) == len(host) > 1800
    known = expected()
    passed = [case for case in host if host[case]["result"] == "passed"]
    assert len(passed) > 1200
    wrong = {
        case: device[case]["result"]
        for case in passed
        if device[case]["result"] != "passed" and case not in known
    }
    assert not wrong
    # An entry that no longer differs in this release must go, if it is one of the newest.
    if provider.minor() >= 32:
        better = [case for case in known if device[case]["result"] == "passed"]
        assert not better, "remove them from differences.toml"


def test_most_nodes_run_on_the_device(device: dict[str, Any], host: dict[str, Any]) -> None:
    rows = [row for case, row in device.items() if host[case]["result"] == "passed"]
    on, off = (sum(len(row[key]) for row in rows) for key in ("on", "off"))
    if on + off == 0:
        assert provider.minor() < 24, "the release tells where nodes run"
        return
    assert on / (on + off) > 0.95, f"{on} of {on + off}"
