"""The operators of common networks that run on the device."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from coverage import NAMES, kernels
from host import name

SCRIPT = Path(__file__).parents[1] / "demo/coverage.py"


@pytest.mark.parametrize("network", NAMES)
def test_training_of_a_network_stays_on_the_device(network: str, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    subprocess.run(
        [sys.executable, str(SCRIPT), "--network", network]
        + ["--device", name(), "--json", str(report)],
        check=True,
        env=dict(os.environ),
    )
    found = json.loads(report.read_text())[network]
    assert len(found["operators"]) > 10
    assert found["fallbacks"] == {}


def test_the_plugin_has_a_third_of_the_kernels() -> None:
    found = kernels(name())
    assert len(found.plugin) >= 400, found.cpu
    assert "matmul" in found.plugin
    assert "feed" in found.paddle or "reshape" in found.paddle
    assert "svd" in found.plugin
    assert found.cpu
