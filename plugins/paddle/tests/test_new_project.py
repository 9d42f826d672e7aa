"""A project of `tenon new`: its wheel is where PaddlePaddle looks, and its own tests pass."""

from __future__ import annotations

import os
import re
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
        lines.write("make\tprojects of `tenon new` in C, in PaddlePaddle\n")
    return True


pytestmark = pytest.mark.skipif(is_left_out(), reason="needs `make`")


def python(
    *arguments: str | Path, within: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    variables = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        command, cwd=within, env=variables, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project in C. `cargo xtask test` has built the command."""
    folder = tmp_path_factory.mktemp("new") / "project"
    tenon = Path(os.environ["TENON_EXAMPLES"]) / "tenon"
    subprocess.run([tenon, "new", "fresh-npu", "--lang", "c", "--folder", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def installed(project: Path) -> Path:
    """The folder into which pip has installed the project's wheel."""
    site = project.parent / "site-packages"
    pip = ("pip", "--quiet", "--disable-pip-version-check")
    offline = ("--no-deps", "--no-index", "--find-links", "dist")
    for arguments in (
        ("wheel", "--no-deps", "--wheel-dir", "dist", "."),
        ("install", *offline, "--target", site, "fresh-npu"),
    ):
        done = python(*pip, *arguments, within=project)
        assert done.returncode == 0, done.stderr
    return site


def test_wheel_has_the_library_and_a_platform_tag(project: Path, installed: Path) -> None:
    (wheel,) = (project / "dist").iterdir()
    name = r"fresh_npu-0\.1\.0-py3-none-manylinux_2_\d+_(x86_64|aarch64)\.whl"
    assert re.fullmatch(name, wheel.name)
    libraries = (installed / "paddle_custom_device").iterdir()
    assert [file.name for file in libraries] == ["libfresh_npu.so"]


def test_tests_of_the_project_pass(project: Path, installed: Path) -> None:
    root = str(installed / "paddle_custom_device")
    done = python("pytest", "--no-skips", within=project, CUSTOM_DEVICE_ROOT=root)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_skipped_test_fails_in_ci(project: Path, tmp_path: Path) -> None:
    (tmp_path / "paddle.py").write_text("raise ModuleNotFoundError\n", encoding="utf-8")
    source = "import pytest\n\n\ndef test_skipped() -> None:\n    pytest.skip('no device')\n"
    (project / "tests/test_skipped.py").write_text(source, encoding="utf-8")
    tests = ("tests/test_paddle.py", "tests/test_skipped.py")
    for test in tests:
        local = python("pytest", test, within=project, PYTHONPATH=str(tmp_path))
        assert "1 skipped" in local.stdout, local.stdout + local.stderr
        in_ci = python("pytest", "--no-skips", test, within=project, PYTHONPATH=str(tmp_path))
        assert in_ci.returncode != 0, in_ci.stdout
        assert "--no-skips is set" in in_ci.stdout, in_ci.stdout
