"""Broken providers and set-ups, and what `tenon doctor` and `tenon matrix` say about each.

`TENON_EXAMPLES` names the folder with the command.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import onnxruntime
import pytest

import provider
from provider import ROOT

SOURCE = Path(__file__).parent / "doctor" / "provider.c"


def compiled(folder: Path, fault: str, *flags: str) -> Path:
    """Compiles the provider with a fault."""
    library = folder / f"{fault.lower()}.so"
    command = ["cc", "-shared", "-fPIC", "-o", str(library), str(SOURCE), f"-DFAULT_{fault}"]
    subprocess.run([*command, "-I", str(ROOT / "sdk-c/include"), *flags], check=True)
    return library


def doctor(*arguments: str, code: int, python: str = sys.executable, **variables: str) -> str:
    """Returns what the command says, without the line breaks that it wraps at."""
    tenon = Path(os.environ["TENON_EXAMPLES"]) / "tenon"
    command = [str(tenon), "doctor", *arguments, "--onnxruntime", python]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, timeout=300
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout.replace("\n           ", " ")


def test_provider_that_works_is_described() -> None:
    said = doctor(str(provider.library()), code=0)
    assert f"ok       lists `{provider.PROVIDER}` 0." in said
    assert " of Tenon, for the CPU of " in said
    assert "ok       a model runs" in said and "No problem was found." in said
    if provider.minor() >= 25:
        assert "it computes the nodes Add, Relu" in said


def test_provider_without_kernels_is_noted(tmp_path: Path) -> None:
    strict = ("-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
    said = doctor(str(compiled(tmp_path, "NONE", *strict)), code=0)
    assert "lists `FaultyExecutionProvider` 1.2.3 of Faulty Devices, for the CPU of " in said
    if provider.minor() >= 25:
        assert "note     it takes none of the nodes `Add` and `Relu`, which run on the CPU" in said


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("NO_ENTRY", "does not export `CreateEpFactories`: ONNX Runtime looks up this function"),
        ("CUSTOM_OPERATORS", "it is a library of operators, which sessions load"),
        ("NO_EXIT", "does not export `ReleaseEpFactory`"),
        ("UNDEFINED", "it cannot be loaded: "),
        ("UNDEFINED", "function_of_nobody"),
        ("REFUSES", "ONNX Runtime does not register it: "),
        ("REFUSES", "this provider needs a release of next year"),
        ("NO_FACTORY", "it is registered, and lists no device"),
        ("ONLY_NPU", "it is registered, and lists no device. It said: faulty: no NPU is there"),
        ("ONLY_NPU", "ONNX Runtime sees CPU of "),
        ("CRASH_REGISTER", "aborted (SIGABRT) while it registered the library"),
        ("CRASH_LIST", "aborted (SIGABRT) while it registered the library"),
        ("CRASH_SESSION", "aborted (SIGABRT) while it made a session"),
        ("CRASH_UNREGISTER", "aborted (SIGABRT) while it unregistered the library"),
        ("NO_SESSION", " cannot be made"),
        ("NO_SESSION", "the firmware does not answer"),
        ("NO_VERSION", "ort_version_supported=0"),
    ],
)
def test_faulty_provider_is_explained(tmp_path: Path, fault: str, expected: str) -> None:
    said = doctor(str(compiled(tmp_path, fault)), code=1)
    assert expected in said and "There is 1 problem." in said, said


def test_missing_library_of_a_driver_is_named(tmp_path: Path) -> None:
    driver = tmp_path / "libze_loader.so.1"
    subprocess.run(
        ["cc", "-shared", "-Wl,-soname,libze_loader.so.1", "-o", str(driver), "-xc", os.devnull],
        check=True,
    )
    library = compiled(tmp_path, "NONE", "-Wl,--no-as-needed", str(driver))
    doctor(str(library), code=0, LD_LIBRARY_PATH=str(tmp_path))
    driver.unlink()
    said = doctor(str(library), code=1)
    assert "libze_loader.so.1" in said
    assert "To do: install Level Zero, the driver of Intel's GPUs and NPUs" in said


def test_files_that_are_no_providers_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    made = bytearray(compiled(tmp_path, "NONE").read_bytes())
    made[18] = 0xF3  # RISC-V
    other.write_bytes(made)
    text = tmp_path / "text.so"
    text.write_text("version https://git-lfs.github.com/spec/v1\n")
    damaged = tmp_path / "damaged.so"
    damaged.write_bytes(bytes(made[:200]))
    for file, expected in [
        (other, "it is a library for Riscv64 processors"),
        (text, "it is not a library, but "),
        (damaged, "it is not a library, or a damaged one"),
        (tmp_path / "absent.so", "there is no file"),
        (tmp_path, "is not a file"),
    ]:
        assert expected in doctor(str(file), code=1), file


def test_programs_get_json(tmp_path: Path) -> None:
    answer = json.loads(doctor(str(compiled(tmp_path, "REFUSES")), "--json", code=1))
    assert answer["problems"] == 1
    assert [section["findings"][0]["severity"] for section in answer["sections"]] == [
        "ok",
        "problem",
    ]


def test_matrix_has_a_verdict_for_each_release(tmp_path: Path) -> None:
    refused = Path(os.environ["TENON_ONNXRUNTIME_REFUSED"])
    running = Path(onnxruntime.__file__).parents[1]
    # The command finds these packages in its cache, and installs none.
    packages = tmp_path / "tenon" / "packages" / str(sys.implementation.cache_tag)
    packages.mkdir(parents=True)
    versions = [refused.name, onnxruntime.__version__]
    for version, folder in zip(versions, (refused, running), strict=True):
        (packages / f"onnxruntime=={version}").symlink_to(folder)
    faulty = packages / "faulty-provider==1.0" / "faulty"
    faulty.mkdir(parents=True)
    for name in ("libfaulty.so", "libfaulty.so.1"):
        compiled(tmp_path, "ONLY_NPU").rename(faulty / name)
    (packages / "empty==1.0").mkdir()
    named = [str(provider.library()), "faulty-provider==1.0", "empty==1.0", "./absent.so"]
    crashing = compiled(tmp_path, "CRASH_SESSION")
    tenon = Path(os.environ["TENON_EXAMPLES"]) / "tenon"
    command = [str(tenon), "matrix", *named, str(crashing), "--onnxruntime", sys.executable]
    variables = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, "--versions", ",".join(versions), "--json"],
        capture_output=True,
        text=True,
        check=False,
        env=variables,
    )
    assert done.returncode == 1, done.stderr
    rows = json.loads(done.stdout)["providers"]
    verdicts = {
        row["name"]: [(cell["version"], cell["verdict"]) for cell in row["releases"]]
        for row in rows
    }
    expected = {
        str(provider.library()): ["refuses", "runs"],
        "faulty-provider==1.0": ["no-device", "no-device"],
        "empty==1.0": ["unknown", "unknown"],
        "./absent.so": ["not-loaded", "not-loaded"],
        # In the older release, the provider stops at what it lacks there.
        str(crashing): ["crashes", "crashes"],
    }
    assert verdicts == {
        name: list(zip(versions, verdict, strict=True)) for name, verdict in expected.items()
    }
    assert rows[0]["device"] == provider.PROVIDER
    assert "needs ONNX Runtime 1.24 or newer" in rows[0]["releases"][0]["reason"]
    text = subprocess.run(
        [*command[:3], *command[-2:], "--versions", ",".join(versions)],
        capture_output=True,
        text=True,
        check=True,
        env=variables,
    ).stdout
    assert text.splitlines()[0].split() == ["Provider", "Name", *versions]
    assert text.splitlines()[1].split()[1:] == [provider.PROVIDER, "refuses", "runs"]


def test_matrix_says_what_pip_says(tmp_path: Path) -> None:
    tenon = Path(os.environ["TENON_EXAMPLES"]) / "tenon"
    done = subprocess.run(
        [str(tenon), "matrix", "no such package", "--onnxruntime", sys.executable]
        + ["--versions", "0"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    assert done.returncode == 1
    # A package that cannot be installed is the reason, whatever else is missing.
    assert "pip does not install `no such package`: ERROR: Invalid requirement" in done.stdout


def test_bug_report_has_what_the_commands_say(tmp_path: Path) -> None:
    tenon = Path(os.environ["TENON_EXAMPLES"]) / "tenon"
    library = compiled(tmp_path, "NO_SESSION")
    command = [str(tenon), "report", str(library), "--onnxruntime", sys.executable]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, timeout=300)
    said = (tmp_path / "tenon-report.md").read_text()
    for part in ("doctor", "check"):
        assert re.search(rf"^## tenon {part} .*no_session\.so --onnxruntime ", said, re.MULTILINE)
    assert "the firmware does not answer" in said
    assert f"ONNX Runtime {onnxruntime.__version__}" in said
    assert str(tmp_path) not in said
