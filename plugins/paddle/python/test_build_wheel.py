"""The wheel: what is in it, where it says that it fits, and that pip and Paddle's Python take it.

Run with `TENON_PADDLE_LIB` naming a built library, this tests its wheel; without, a small library
is compiled in its place, since nothing here asks what the library does.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import build_wheel
import pytest

README = Path(__file__).with_name("README.md")


def compile_library(source: str, path: Path, *flags: str) -> Path:
    """Compile a few lines of C."""
    command = [os.environ.get("CC", "cc"), "-x", "c", "-", "-o", str(path), *flags]
    subprocess.run(command, input=source, text=True, check=True)
    return path


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plugin's library, or one that looks like it."""
    if "TENON_PADDLE_LIB" in os.environ:
        return Path(os.environ["TENON_PADDLE_LIB"])
    source = '#include <stdio.h>\nvoid InitPlugin(void *p) { printf("%p", p); }\n'
    folder = tmp_path_factory.mktemp("library")
    return compile_library(source, folder / "libtenon_paddle.so", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def wheel(library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its wheel."""
    return build_wheel.build(library, tmp_path_factory.mktemp("dist"), README)


def test_the_name_says_where_it_fits(wheel: Path) -> None:
    name = r"tenon_paddle-0\.1\.0-py3-none-manylinux_2_(\d+)_(x86_64|aarch64)\.whl"
    match = re.fullmatch(name, wheel.name)
    assert match
    assert int(match[1]) >= 17


def test_the_record_is_right(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        (record,) = (name for name in names if name.endswith("/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        assert sorted(row[0] for row in rows) == sorted(names)
        for path, digest, size in rows:
            if path == record:
                assert (digest, size) == ("", "")
                continue
            body = archive.read(path)
            wanted = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={wanted}", len(body))


def test_it_holds_the_library_and_nothing_else(wheel: Path, library: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("paddle_custom_device/libtenon_paddle.so") == library.read_bytes()
        others = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert others == ["paddle_custom_device/libtenon_paddle.so"]


def test_the_same_library_makes_the_same_wheel(wheel: Path, library: Path, tmp_path: Path) -> None:
    assert build_wheel.build(library, tmp_path, README).read_bytes() == wheel.read_bytes()


def test_the_tag_follows_the_newest_symbol(tmp_path: Path) -> None:
    # `gettid` came with glibc 2.30; a library that needs nothing new fits the oldest Linux.
    plain = compile_library(
        "void InitPlugin(void) {}", tmp_path / "plain.so", "-shared", "-fPIC", "-nostdlib"
    )
    assert "_2_17_" in build_wheel.platform_tag(build_wheel.Elf(plain.read_bytes()))
    newer = compile_library(
        "int gettid(void); int InitPlugin(void) { return gettid(); }",
        tmp_path / "newer.so",
        "-shared",
        "-fPIC",
    )
    assert "_2_30_" in build_wheel.platform_tag(build_wheel.Elf(newer.read_bytes()))


def test_twine_has_nothing_to_say(wheel: Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", str(wheel)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


def test_pip_installs_and_removes_it(wheel: Path, library: Path, tmp_path: Path) -> None:
    venv.create(tmp_path, with_pip=True, symlinks=True)
    pip = [str(tmp_path / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--no-index", "--quiet", str(wheel)], check=True)
    shown = subprocess.run(
        [*pip, "show", "--files", "tenon-paddle"], capture_output=True, text=True, check=True
    ).stdout
    assert "Version: 0.1.0" in shown
    (installed,) = tmp_path.glob("lib/python3*/site-packages/paddle_custom_device/*")
    assert installed.name == "libtenon_paddle.so"
    assert installed.read_bytes() == library.read_bytes()
    subprocess.run([*pip, "uninstall", "--yes", "--quiet", "tenon-paddle"], check=True)
    assert not installed.exists()


@pytest.mark.parametrize(
    ("source", "flags", "complaint"),
    [
        ("int other(void) { return 0; }", ("-shared", "-fPIC"), "exports no `InitPlugin`"),
        ("int main(void) { return 0; }", ("-c",), "not a shared library"),
    ],
)
def test_what_is_no_plugin_is_refused(
    source: str, flags: tuple[str, ...], complaint: str, tmp_path: Path
) -> None:
    path = compile_library(source, tmp_path / "other.so", *flags)
    with pytest.raises(build_wheel.BuildError, match=complaint):
        build_wheel.build(path, tmp_path, README)


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01", b"\x7fELF\x02\x01\x01"])
def test_what_is_no_library_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.so"
    path.write_bytes(data)
    with pytest.raises(build_wheel.BuildError, match="broken.so"):
        build_wheel.build(path, tmp_path, README)


def test_the_command_line(library: Path, tmp_path: Path) -> None:
    script = Path(__file__).with_name("build_wheel.py")
    command = [sys.executable, str(script), "--out", str(tmp_path), "--lib"]
    ran = subprocess.run([*command, str(library)], capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()).exists()
    ran = subprocess.run(
        [*command, str(tmp_path / "absent.so")], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "absent.so: No such file" in ran.stderr
