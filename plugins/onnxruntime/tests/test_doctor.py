"""Broken providers and set-ups, and what `tenon doctor --onnxruntime` says about each.

`TENON_EXAMPLES` names the folder with the command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

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
        ("NO_SESSION", "a session on it cannot be made: "),
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
