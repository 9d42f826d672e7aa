"""`python -m tenon doctor` in an environment with PaddlePaddle and its plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("paddle", reason="needs PaddlePaddle: pip install paddlepaddle")


def doctor(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tenon", "doctor", "--paddle", sys.executable, *options],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_installed_plugin_has_no_problem() -> None:
    done = doctor()
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the device type `CustomCPU`" in done.stdout
    assert "the device type has capital letters" in done.stdout
    assert "`import paddle` works and lists `CustomCPU`" in done.stdout


def test_wrong_folder_is_a_problem(tmp_path: Path) -> None:
    done = doctor("--json", CUSTOM_DEVICE_ROOT=str(tmp_path / "absent"))
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert found["problems"] == 1
    assert any("there is no such folder" in one["text"] for part in found["sections"] for one in part["findings"])


def test_refused_variable_is_a_problem() -> None:
    done = doctor(TENON_CPU_DEVICES="many")
    assert done.returncode == 1
    assert "it does not start:" in done.stdout and "TENON_CPU_DEVICES=many" in done.stdout
