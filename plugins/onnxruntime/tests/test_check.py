"""`tenon check` on providers: on devices that work, and on those with one mistake each.

The devices are the example in C with a line changed. `TENON_EXAMPLES` names the folder with the
command, and `TENON_PLUGIN_ARCHIVE` the library that plugins in C link.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

import provider
from provider import ROOT
from test_doctor import compiled

SOURCES = ROOT / "examples/c-operators"

FAULTS = {
    "a wrong sum": ("operators.c", "summands[0] + summands[1];", "summands[0] - summands[1];"),
    "the last element": (
        "operators.c",
        "position < length; ++position) {\n    float",
        "position + 1 < length; ++position) {\n    float",
    ),
    "an abort for empty tensors": (
        "operators.c",
        "float* results = malloc",
        "if (length == 0) abort();\n  float* results = malloc",
    ),
    "a hang for empty tensors": (
        "operators.c",
        "float* results = malloc",
        "while (length == 0) {}\n  float* results = malloc",
    ),
    "a sum of all calls": (
        "operators.c",
        "return summands[0] + summands[1];",
        "static float all;\n  return summands[0] + summands[1] + ((all += 1) > 40 ? all : 0);",
    ),
    "half copies": (
        "device.c",
        "memcpy(to, memory_of(from), size);",
        "memcpy(to, memory_of(from), size / 2);",
    ),
    "no frees": ("operators.c", "free(results);", "(void)results;"),
    "a version in words": ("device.c", '"0.1.0", 0xFFFF', '"new", 0xFFFF'),
    "no device": ("device.c", "*count = 1;", "*count = 0;"),
    "a crash at the end": (
        "device.c",
        "/* ONNX Runtime looks up",
        "__attribute__((destructor)) static void end(void) { abort(); }\n/* ONNX Runtime looks up",
    ),
}
"""For each mistake the file, the text, and what stands in its place."""


def check(*arguments: str, code: int, python: str = sys.executable) -> str:
    """Returns what the command says."""
    tenon = Path(os.environ["TENON_EXAMPLES"]) / "tenon"
    done = subprocess.run(
        [str(tenon), "check", *arguments, "--onnxruntime", python],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def verdicts(*arguments: str, code: int) -> dict[str, Any]:
    """Returns the result of each case."""
    found = json.loads(check("--json", *arguments, code=code))
    assert found["onnxruntime"] == onnxruntime.__version__
    return {case["id"]: case for case in found["cases"]}


def device(folder: Path, fault: str | None) -> str:
    """Compiles the example, with a mistake or none."""
    for name in ("device", "operators", "convolution"):
        source = (SOURCES / f"{name}.c").read_text()
        if fault is not None and FAULTS[fault][0] == f"{name}.c":
            _, before, after = FAULTS[fault]
            assert source.count(before) == 1, before
            source = source.replace(before, after)
        (folder / f"{name}.c").write_text(source)
    library = folder / "device.so"
    command = ["cc", "-std=gnu11", "-O1", "-shared", "-fPIC", "-o", str(library)]
    command += [f"-I{ROOT / 'sdk-c/include'}", f"-I{SOURCES}"]
    command += [str(folder / f"{name}.c") for name in ("device", "operators", "convolution")]
    command += [os.environ["TENON_PLUGIN_ARCHIVE"], "-lgcc_s", "-lpthread", "-lm", "-ldl"]
    subprocess.run([*command, "-Wl,--exclude-libs,ALL,-z,defs"], check=True)
    return str(library)


def test_our_device_keeps_all_promises() -> None:
    found = verdicts(str(provider.library()), "--level", "good", code=0)
    assert len(found) > 250
    passed = [name for name, case in found.items() if case["verdict"] == "passed"]
    assert len(passed) > 240
    groups = {name.partition(".")[0] for name in passed}
    assert groups >= {"register", "session", "run", "operator"}
    for case in found.values():
        if case["verdict"] == "skipped":
            assert "takes no node" in case["message"] or "memory of the host" in case["message"]


def test_a_device_in_c_keeps_all_promises(tmp_path: Path) -> None:
    # Its convolution is for images only.
    arguments = [device(tmp_path, None)]
    for text in ("register", "session", "run.", "memory", ".Add.", ".Relu."):
        arguments += ["--filter", text]
    found = verdicts(*arguments, code=0)
    assert found["operator.Add.float32"]["verdict"] == "passed"
    assert found["memory.copies"]["verdict"] == "passed"


@pytest.mark.parametrize(
    ("fault", "case", "message"),
    [
        (
            "a wrong sum",
            "operator.Add.float32",
            "Add of float32 [7], [7], output 0: element [0] is ",
        ),
        ("a wrong sum", "session.made", "Relu(a + b) * a: element "),
        ("the last element", "operator.Relu.float32", ""),
        ("an abort for empty tensors", "run.empty", "the process died of signal 6 (abort)"),
        ("a hang for empty tensors", "run.empty", "the process did not end within 3s"),
        ("a sum of all calls", "run.large", "for 12 MiB: element "),
        ("half copies", "memory.copies", " elements of "),
        ("no frees", "session.memory", "30 sessions have left "),
        ("a version in words", "register.version", "not in semantic versioning format"),
        ("no device", "register.devices", "there is no device"),
        ("a crash at the end", "register.unused", "died of signal 6 (abort)"),
    ],
)
def test_a_mistake_is_found(tmp_path: Path, fault: str, case: str, message: str) -> None:
    arguments = (device(tmp_path, fault), "--filter", case, "--timeout", "3")
    found = verdicts(*arguments, code=1)
    assert found[case]["verdict"] == "failed"
    assert message in found[case]["message"], found[case]


def test_a_crash_costs_one_case(tmp_path: Path) -> None:
    library = device(tmp_path, "an abort for empty tensors")
    found = verdicts(library, "--filter", "run.", code=1)
    failed = [name for name, case in found.items() if case["verdict"] == "failed"]
    assert failed == ["run.empty"]
    assert "in empty" in found["run.empty"]["output"]
    names = list(found)
    assert found[names[names.index("run.empty") + 1]]["verdict"] == "passed"


def test_one_reason_is_told_once(tmp_path: Path) -> None:
    said = check(str(compiled(tmp_path, "NO_SESSION")), code=1)
    assert said.count("the firmware does not answer") == 2
    assert "as well:  session.made" in said
    assert "again:    tenon check " in said and "--filter register.again" in said
    assert "promised: a library can be registered again" in said


def test_junit_has_the_cases(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    arguments = (str(provider.library()), "--filter", "register.", "--junit", str(report))
    check(*arguments, code=0)
    root = xml.parse(report).getroot()
    names = [case.get("name") for case in root.iter("testcase")]
    assert names[0] == "register.devices" and len(names) == 6


def test_cases_are_listed_with_their_promises() -> None:
    said = check("--list", code=0)
    assert "register.devices  required\n    a registered library lists the devices" in said
    listed = json.loads(check("--list", "--json", "--level", "required", code=0))
    assert {case["level"] for case in listed} == {"required"}


def test_what_cannot_be_tested_is_an_error(tmp_path: Path) -> None:
    library = str(provider.library())
    assert "cannot be started" in check(library, code=2, python="/no/such/python")
    empty = tmp_path / "python"
    empty.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    empty.chmod(0o755)
    assert "No module named 'numpy'" in check(library, code=2, python=str(empty))
    assert "absent.so: No such file" in check(str(tmp_path / "absent.so"), code=2)
    assert "no case matches `absent`" in check(library, "--filter", "absent", code=2)
