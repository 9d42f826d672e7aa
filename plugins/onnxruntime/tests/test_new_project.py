"""A project of `tenon new` for ONNX Runtime: its wheel has the library, and its own tests pass.

`TENON_EXAMPLES` names the folder with the command, and `TENON_PLUGIN_ARCHIVE` the library that
projects in C link.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def is_left_out() -> bool:
    """Returns True if `make` is missing, and lists it for the summary of `cargo xtask test`."""
    file = os.environ.get("TENON_LEFT_OUT")
    if shutil.which("make") or not file:
        return False
    with Path(file).open("a") as lines:
        lines.write("make\tprojects of `tenon new` in C, in ONNX Runtime\n")
    return True


@pytest.mark.skipif(is_left_out(), reason="needs `make`")
@pytest.mark.parametrize(
    ("hosts", "library"),
    [
        ("onnxruntime", "fresh_npu/libfresh_npu.so"),
        ("paddle,onnxruntime", "paddle_custom_device/libfresh_npu.so"),
    ],
)
def test_tests_of_the_project_pass(tmp_path: Path, hosts: str, library: str) -> None:
    folder, site = tmp_path / "project", tmp_path / "site"
    tenon = Path(os.environ["TENON_EXAMPLES"]) / "tenon"
    options = ["--lang", "c", "--host", hosts, "--folder", str(folder)]
    subprocess.run([str(tenon), "new", "fresh-npu", *options], check=True)
    variables = {**os.environ, "ARCHIVE": os.environ["TENON_PLUGIN_ARCHIVE"]}
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    install = [*pip, "install", "--no-deps", "--target", str(site), "."]
    subprocess.run(install, check=True, cwd=folder, env=variables)
    assert (site / library).is_file()
    variables["PYTHONPATH"] = os.pathsep.join([str(site), os.environ["PYTHONPATH"]])
    tests = [sys.executable, "-m", "pytest", "--no-skips", "tests/test_onnxruntime.py"]
    done = subprocess.run(
        tests, cwd=folder, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
