"""The wheel that `TENON_WHEEL` names: content, platform tags, and checks by packaging tools."""

from __future__ import annotations

import email.parser
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel that is tested."""
    return Path(os.environ["TENON_WHEEL"])


def said(*command: str) -> str:
    """Returns the output of a tool, which must accept the wheel."""
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return " ".join(done.stdout.split())


def test_name_states_the_platform(wheel: Path) -> None:
    assert re.fullmatch(r"tenon-[\d.]+-py3-none-manylinux_2_\d+_(x86_64|aarch64)\.whl", wheel.name)


def test_wheel_contains_the_packages_and_the_built_files(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        libraries = ("libtenon.so", "libtenon_cpu_operators.so", "libascendcl.so", "libacl_rt.so")
        for file in (*(f"tenon/_lib/{name}" for name in libraries), "tenon/_bin/tenon"):
            assert archive.read(file)[:4] == b"\x7fELF"
            assert archive.getinfo(file).external_attr >> 16 & 0o111
    for file in ("tenon/py.typed", "acl/py.typed", "tenon/__init__.py", "acl/__init__.py", "_tenon_command.py"):
        assert file in names
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert any(name.endswith("/licenses/THIRD-PARTY.txt") for name in names)
    known = ("tenon/", "acl/", "_tenon_command.py", "tenon-")
    assert [name for name in names if not name.startswith(known) or name.endswith(".pyc")] == []


def test_wheel_requires_no_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (path,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = email.parser.Parser().parsestr(archive.read(path).decode())
    needs = metadata.get_all("Requires-Dist", [])
    assert all("extra ==" in need for need in needs), needs
    assert set(metadata.get_all("Provides-Extra", [])) == {"numpy", "plot", "test"}
    assert metadata["Requires-Python"] == ">=3.9"


def test_twine_reports_nothing(wheel: Path) -> None:
    said("twine", "check", "--strict", str(wheel))


def test_auditwheel_confirms_the_name(wheel: Path) -> None:
    tag = wheel.stem.split("-")[-1]
    assert f'is consistent with the following platform tag: "{tag}"' in said("auditwheel", "show", str(wheel))
