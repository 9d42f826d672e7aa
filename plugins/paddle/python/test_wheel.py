"""The wheel: what is in it, where it says that it fits, and that pip and twine take it.

`TENON_WHEEL` names it. The tests of the build hook are in `sdk-py/tests`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

LIBRARY = "paddle_custom_device/libtenon_paddle.so"


@pytest.fixture(scope="session")
def wheel() -> Path:
    """The wheel that is tested."""
    return Path(os.environ["TENON_WHEEL"])


def test_the_name_says_where_it_fits(wheel: Path) -> None:
    name = r"tenon_paddle-[\d.]+-py3-none-manylinux_2_(\d+)_(x86_64|aarch64)\.whl"
    match = re.fullmatch(name, wheel.name)
    assert match
    assert int(match[1]) >= 17


def test_it_holds_the_library_alone(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        others = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert others == [LIBRARY]
        licences = [name for name in archive.namelist() if "/licenses/" in name]
        assert [Path(name).name for name in sorted(licences)] == ["LICENSE", "THIRD-PARTY.txt"]
        assert archive.read(LIBRARY).startswith(b"\x7fELF")


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 15_000_000


def test_twine_reports_nothing(wheel: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_pip_installs_and_removes_it(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=True, symlinks=True)
    pip = [str(tmp_path / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-index", "--quiet", str(wheel)], check=True)
    shown = subprocess.run([*pip, "show", "--files", "tenon-paddle"], capture_output=True, text=True, check=True).stdout
    assert f"Version: {wheel.name.split('-')[1]}" in shown
    (installed,) = tmp_path.glob(f"lib/python3*/site-packages/{LIBRARY}")
    with zipfile.ZipFile(wheel) as archive:
        assert installed.read_bytes() == archive.read(LIBRARY)
    subprocess.run([*pip, "uninstall", "--yes", "--quiet", "tenon-paddle"], check=True)
    assert not installed.exists()
