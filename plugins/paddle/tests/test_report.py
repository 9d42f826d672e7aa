"""`python -m tenon.report` on PaddlePaddle, each program in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from host import DEVICE, RELEASE, name

KNOWN = """
import paddle
x = paddle.eye(10) * 2
x.stop_gradient = False
for step in range(3):
    loss = paddle.i0e(
        x
    ).sum()
    loss.backward()
count = paddle.bincount(paddle.to_tensor([1, 2, 3]))
print("done")
"""
"""The plugin has neither `i0e` nor `bincount`. A matrix has 400 bytes."""

NATIVE = """
import paddle
x = paddle.ones([4]) + 1
print("done")
"""


def report(
    folder: Path, program: str, *arguments: str, options: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the command on a program; `environment` is added."""
    script = folder / "program.py"
    script.write_text(program)
    command = [sys.executable, "-m", "tenon.report", *options, "program.py", *arguments]
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def measured(folder: Path, program: str, **environment: str) -> Any:
    """Returns the report of a program on the device, which must end well."""
    options = ("--device", name(), "--json", "report.json")
    result = report(folder, program, options=options, **environment)
    assert result.returncode == 0, result.stderr
    return paddle(folder)


def paddle(folder: Path) -> Any:
    """Returns the part of a written report that is about PaddlePaddle."""
    return json.loads((folder / "report.json").read_text())["paddle"]


def test_known_fallbacks_are_counted(tmp_path: Path) -> None:
    found = measured(tmp_path, KNOWN)
    rows = {row["operator"]: row for row in found["fallbacks"]}
    assert set(rows) == {"i0e", "i0e_grad", "bincount"}
    keys = ("dtype", "calls", "bytes_to_host", "bytes_to_device")
    counts = {operator: tuple(row[key] for key in keys) for operator, row in rows.items()}
    assert counts == {
        "i0e": ("float32", 3, 1200, 1200),
        "i0e_grad": ("float32", 3, 3600, 1200),
        "bincount": ("int64", 1, 24, 32),
    }
    lines = {operator: [line["line"] for line in row["lines"]] for operator, row in rows.items()}
    assert lines == {"i0e": [6], "i0e_grad": [9], "bincount": [10]}
    files = {line["file"] for row in rows.values() for line in row["lines"]}
    assert files == {str(tmp_path / "program.py")}
    assert rows["i0e"]["advice"] == "write a kernel `i0e`: the device has none"
    times = [row["milliseconds"] for row in found["fallbacks"]]
    assert times == sorted(times, reverse=True) and times[-1] > 0
    native = {row["operator"]: row["calls"] for row in found["native"]}
    assert native["sum"] == 3 and "i0e" not in native
    assert native["sum_grad"] == 3 and "i0e_grad" not in native


def test_json_has_the_fields_of_the_guide(tmp_path: Path) -> None:
    found = measured(tmp_path, KNOWN + "for step in range(12): x.sum().item()\n")
    whole = json.loads((tmp_path / "report.json").read_text())
    assert set(whole) == {"schema", "command", "exit_status", "paddle", "onnxruntime"}
    assert whole["schema"] == 2 and whole["exit_status"] == 0
    assert whole["command"] == ["program.py"] and whole["onnxruntime"] is None
    assert found["device"] == name() and DEVICE in found["devices"]
    assert found["complete"] is True and found["seconds"] > 0
    assert found["version"].startswith(f"{RELEASE[0]}.{RELEASE[1]}.")
    costs = {"calls", "milliseconds", "bytes_to_host", "bytes_to_device"}
    place = {"file", "line", "function"}
    assert set(found) == {
        *("version", "device", "devices", "complete"),
        *("seconds", "summary", "native", "fallbacks", "reads", "compiled"),
        *("comparison", "moved_inputs", "other_copies"),
    }
    assert set(found["fallbacks"][0]) == costs | {"operator", "dtype", "lines", "advice"}
    assert set(found["fallbacks"][0]["lines"][0]) == place | {"calls"}
    assert set(found["reads"][0]) == costs | place | {"advice"}
    assert set(found["moved_inputs"]) == set(found["other_copies"]) == costs
    summary = found["summary"]
    assert summary["fallback_operators"] == 3 and summary["fallback_calls"] == 7
    assert summary["fallback_bytes"] == 2400 + 4800 + 56
    assert summary["fallback_milliseconds"] == pytest.approx(
        sum(row["milliseconds"] for row in found["fallbacks"]), abs=0.01
    )


def test_reads_in_a_loop_are_advised_against(tmp_path: Path) -> None:
    program = "import paddle\nx = paddle.ones([4])\n"
    program += "for step in range(12):\n    float(x.sum())\nx.numpy()\n"
    found = measured(tmp_path, program)
    loop, once = sorted(found["reads"], key=lambda row: -row["calls"])
    assert (loop["line"], loop["calls"], loop["bytes_to_host"]) == (4, 12, 48)
    assert "read on the host in a loop" in loop["advice"]
    assert (once["line"], once["calls"], once["bytes_to_host"]) == (5, 1, 16)
    assert once["advice"] == ""


def test_advice_names_the_types_of_the_kernel(tmp_path: Path) -> None:
    """Complex numbers have no arithmetic on the device."""
    program = "import paddle\nx = paddle.to_tensor([1 + 2j])\nx * x\n"
    (row,) = measured(tmp_path, program)["fallbacks"]
    assert (row["operator"], row["dtype"]) == ("multiply", "complex64")
    assert row["advice"].startswith("add complex64 to the kernel `multiply`: it has ")
    assert row["lines"][0]["line"] == 3


def test_the_output_and_the_status_are_those_of_the_script(tmp_path: Path) -> None:
    program = (
        "import sys, paddle\nprint(sys.argv, __name__)\nprint('told', file=sys.stderr)\n"
        "import subprocess\n"
        'show = \'import os; os.write(2, os.environ.get("GLOG_vmodule", "no log").encode())\'\n'
        "subprocess.run([sys.executable, '-c', show])\n"
        "sys.exit(7)\n"
    )
    result = report(tmp_path, program, "--json", "b", options=("--quiet",))
    assert result.returncode == 7
    assert result.stdout == "['program.py', '--json', 'b'] __main__\n"
    assert "told\n" in result.stderr and "no log" in result.stderr
    assert "tenon-report" not in result.stderr


@pytest.mark.parametrize("is_safe", ["", "1"])
def test_the_script_finds_itself_where_it_is(is_safe: str, tmp_path: Path) -> None:
    program = "import sys\nprint(sys.path, sys.argv, __file__)\n"
    result = report(tmp_path, program, PYTHONSAFEPATH=is_safe)
    alone = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONSAFEPATH": is_safe},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert result.stdout == alone.stdout


def test_a_failed_script_has_a_report(tmp_path: Path) -> None:
    options = ("--device", name(), "--json", "report.json")
    result = report(tmp_path, KNOWN + "raise ValueError('broken')\n", options=options)
    assert result.returncode == 1
    assert "ValueError: broken" in result.stderr and "recorder" not in result.stderr
    assert "The program ended with the status 1." in result.stderr
    found = paddle(tmp_path)
    assert found["summary"]["fallback_calls"] == 7


def test_a_process_that_ends_at_once_has_a_report(tmp_path: Path) -> None:
    options = ("--device", name(), "--json", "report.json")
    program = KNOWN + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    result = report(tmp_path, program, options=options)
    assert result.returncode == 128 + 9
    found = paddle(tmp_path)
    assert found["complete"] is False and found["seconds"] is None and found["native"] == []
    assert found["summary"]["fallback_calls"] == 7


def test_forbidden_fallbacks_are_shown(tmp_path: Path) -> None:
    options = ("--device", name(), "--quiet", "--forbid-fallback")
    result = report(tmp_path, KNOWN, options=options)
    assert result.returncode == 3
    assert result.stdout == "done\n"
    *_, message, line = result.stderr.splitlines()
    assert message == "tenon: i0e (float32) fell back to the CPU: program.py:6"
    assert line == "    loss = paddle.i0e("


def test_a_program_without_fallbacks_is_not_refused(tmp_path: Path) -> None:
    result = report(tmp_path, NATIVE, options=("--device", name(), "--forbid-fallback"))
    assert result.returncode == 0, result.stderr
    assert "0 operators, 0 calls" in result.stderr


def test_the_page_needs_no_other_file(tmp_path: Path) -> None:
    result = report(tmp_path, KNOWN, options=("--device", name(), "--html", "report.html"))
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "report.html").read_text()
    assert "<code>i0e_grad</code>" in page and "program.py:9" in page
    assert not re.search(r"https?:|<script|<link|src=", page)


def test_a_device_without_kernels(tmp_path: Path) -> None:
    folder = Path(os.environ["TENON_EXAMPLES"]) / "rust"
    program = (
        "import paddle\npaddle.set_device('my_npu')\nx = paddle.to_tensor([1.0, 2.0])\ny = x + x\n"
    )
    result = report(
        tmp_path, program, options=("--json", "report.json"), CUSTOM_DEVICE_ROOT=str(folder)
    )
    assert result.returncode == 0, result.stderr
    found = paddle(tmp_path)
    assert found["device"] == "my_npu:0" and found["native"] == []
    (row,) = found["fallbacks"]
    assert (row["operator"], row["calls"]) == ("add", 1)
    assert (row["bytes_to_host"], row["bytes_to_device"]) == (16, 8)
    assert row["lines"][0]["line"] == 4


def test_a_restart_forgets_the_warm_up(tmp_path: Path) -> None:
    program = KNOWN + (
        "from tenon.report import restart\n"
        "restart()\npaddle.bincount(paddle.to_tensor([1, 2, 3]))\n"
    )
    found = measured(tmp_path, program)
    assert [(row["operator"], row["calls"]) for row in found["fallbacks"]] == [("bincount", 1)]
    assert "sum" not in {row["operator"] for row in found["native"]}


@pytest.mark.parametrize(
    ("program", "options", "environment", "message"),
    [
        ("print(1)\n", (), {}, "program.py imported neither paddle nor onnxruntime"),
        (NATIVE, ("--device", "no_such"), {}, "there is no device 'no_such'"),
        (NATIVE, (), {"CUSTOM_DEVICE_ROOT": "."}, "has no custom device"),
        (NATIVE, ("--jsn", "x"), {}, "unrecognized arguments: --jsn"),
        (NATIVE, ("missing.py",), {}, "there is no file 'missing.py'"),
        (NATIVE, ("--json", "no/folder.json"), {}, "cannot write no/folder.json: No such file"),
    ],
)
def test_errors_are_clear(
    program: str,
    options: tuple[str, ...],
    environment: dict[str, str],
    message: str,
    tmp_path: Path,
) -> None:
    result = report(tmp_path, program, options=options, **environment)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_program_that_uses_no_device_is_told_how(tmp_path: Path) -> None:
    program = "import paddle\npaddle.set_device('cpu')\n" + NATIVE
    result = report(tmp_path, program)
    assert result.returncode == 0
    assert "The program used no custom device." in result.stderr
