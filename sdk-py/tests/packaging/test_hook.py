"""The build hook of the wheel: platform tags, and messages for missing requirements."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    """The module of the hook."""
    spec = importlib.util.spec_from_file_location("hatch_build", PROJECT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compiled(source: str, path: Path, *flags: str) -> Path:
    """Compiles a few lines of C."""
    command = [os.environ.get("CC", "cc"), "-x", "c", "-", "-o", str(path), "-shared", "-fPIC", *flags]
    subprocess.run(command, input=source, text=True, check=True)
    return path


def build(
    target: str, out: Path, variables: dict[str, str] | None = None, project: Path = PROJECT
) -> subprocess.CompletedProcess[str]:
    """Runs hatchling with a changed environment."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(variables or {})}
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)


def test_the_tag_follows_the_newest_symbol_of_all_files(hook: ModuleType, tmp_path: Path) -> None:
    # `gettid` needs glibc 2.30. A library without newer symbols runs on the oldest supported Linux.
    plain = compiled("int one(void) { return 1; }", tmp_path / "plain.so", "-nostdlib")
    newer = compiled("int gettid(void); int two(void) { return gettid(); }", tmp_path / "newer.so")
    assert hook.platform_tag([plain]).startswith("manylinux_2_17_")
    assert hook.platform_tag([newer]).startswith("manylinux_2_30_")
    assert hook.platform_tag([plain, newer]) == hook.platform_tag([newer])


@pytest.mark.parametrize("data", [b"", b"#!/bin/sh\n", b"\x7fELF\x02\x01\x01"])
def test_file_that_is_not_a_library_is_rejected(hook: ModuleType, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "broken.so"
    path.write_bytes(data)
    with pytest.raises(hook.BuildError, match=r"broken\.so"):
        hook.platform_tag([path])


def test_plugin_must_export_the_symbols_of_its_host(hook: ModuleType, tmp_path: Path) -> None:
    plugin = compiled("void InitPlugin(void) {}", tmp_path / "plugin.so")
    caller = compiled("void InitPlugin(void); void other(void) { InitPlugin(); }", tmp_path / "caller.so")
    hook.check_exports([plugin], "InitPlugin")
    hook.check_exports([caller], None)
    with pytest.raises(hook.BuildError, match="exports `InitPlugin`"):
        hook.check_exports([caller], "InitPlugin")


@pytest.mark.parametrize(
    ("variables", "complaint"),
    [
        ({"CARGO": "", "PATH": ""}, "error: building this needs Rust 1.89 or newer, but there is no `cargo`"),
        ({"TENON_GLIBC": "2.17", "PATH": ""}, "error: TENON_GLIBC builds with cargo-zigbuild"),
        ({"TENON_GLIBC": "old"}, "error: TENON_GLIBC is `old`, which is not a version such as `2.17`"),
    ],
)
def test_failed_build_prints_one_line(variables: dict[str, str], complaint: str, tmp_path: Path) -> None:
    done = build("wheel", tmp_path, {"CARGO": "cargo", **variables})
    assert done.returncode != 0
    (line,) = (done.stdout + done.stderr).splitlines()
    assert line.startswith(complaint)


def test_source_distribution_contains_all_that_cargo_needs(tmp_path: Path) -> None:
    done = build("sdist", tmp_path)
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("tenon-*.tar.gz")
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.glob("tenon-*/")
    for name in ("PKG-INFO", "hatch_build.py", "src/tenon/__init__.py", "rust/Cargo.lock", "rust/spec/spec.yaml"):
        assert (unpacked / name).is_file()
    # Only what the packages need: nothing of the plugins for hosts.
    assert [folder.name for folder in (unpacked / "rust" / "plugins").iterdir()] == ["cpu-operators"]
    # Cargo reads every manifest and follows every path dependency.
    cargo = [os.environ.get("CARGO", "cargo"), "update", "--quiet", "--workspace", "--offline"]
    subprocess.run(cargo, cwd=unpacked / "rust", check=True)
    # There is no workspace around it, so the version comes from its metadata.
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "metadata", "version"],
        cwd=unpacked,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == archive.name.removeprefix("tenon-").removesuffix(".tar.gz")


def test_paddle_plugin_has_no_source_distribution(tmp_path: Path) -> None:
    done = build("sdist", tmp_path, project=PROJECT.parent / "plugins" / "paddle" / "python")
    assert done.returncode != 0
    assert "has no source distribution" in done.stdout + done.stderr
