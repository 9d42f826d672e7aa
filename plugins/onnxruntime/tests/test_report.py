"""`python -m tenon.report` on ONNX Runtime, each program in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import onnx
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from tenon.report import __main__ as command
from tenon.report.recorder import arrays
from tenon.report.recorder.onnxruntime_compare import Comparison
from tenon.report.run import Run

import provider
from provider import PROVIDER, random
from test_doctor import compiled

CPU = "CPUExecutionProvider"

PROGRAM = """
import sys
import numpy
import onnxruntime

onnxruntime.set_default_logger_severity(3)
options = onnxruntime.SessionOptions()
options.log_severity_level = 3

def session():
    return onnxruntime.InferenceSession("model.onnx", options)

def use(session, runs):
    x = numpy.full((2, 8), 0.5, "float32")
    for _ in range(runs):
        result = session.run(None, {"x": x})
    return result
"""

CHOOSE = """
onnxruntime.register_execution_provider_library("tenon", sys.argv[1])
devices = [one for one in onnxruntime.get_ep_devices() if one.ep_name != "CPUExecutionProvider"]
options.add_provider_for_devices(devices[:1], {})
"""

USE = "use(session(), 5)\nprint('done', options.enable_profiling)\n"


def model() -> ModelProto:
    """Returns a model with one node that the device does not take, `DFT`, and one for shapes."""
    nodes = [
        helper.make_node("Relu", ["x"], ["positive"], "first"),
        helper.make_node("Unsqueeze", ["positive", "axis"], ["signal"], "second"),
        helper.make_node("DFT", ["signal"], ["spectrum"], "transform", axis=1),
        helper.make_node("Exp", ["spectrum"], ["y"], "last"),
    ]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8, 2])],
        [numpy_helper.from_array(numpy.array([2]), "axis")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def report(
    folder: Path, program: str, *arguments: str, options: tuple[str, ...] = (), **environment: str
) -> subprocess.CompletedProcess[str]:
    """Runs the command on a program, beside the model."""
    onnx.save(model(), folder / "model.onnx")
    (folder / "program.py").write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "tenon.report", *options, "program.py", *arguments],
        cwd=folder,
        # The device also takes nodes that are not worth their copies.
        env={**os.environ, "TENON_ONNXRUNTIME_NODES": "all", **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def measured(folder: Path, program: str, *arguments: str, options: tuple[str, ...] = ()) -> Any:
    """Returns the part of a report that is about ONNX Runtime. The program must end well."""
    result = report(folder, program, *arguments, options=("--json", "report.json", *options))
    assert result.returncode == 0, result.stderr
    return json.loads((folder / "report.json").read_text())["onnxruntime"]


def on_device(folder: Path, program: str, *options: str) -> Any:
    """Returns the only session of a program that chooses the device."""
    found = measured(folder, PROGRAM + CHOOSE + program, str(provider.library()), options=options)
    assert found["devices"] == [PROVIDER] and found["complete"] is True
    (session,) = found["sessions"]
    return session


def test_nodes_are_where_they_ran(tmp_path: Path) -> None:
    session = on_device(tmp_path, USE)
    assert session["model"] == "model.onnx"
    assert (session["file"], session["function"]) == (str(tmp_path / "program.py"), "session")
    assert PROGRAM.splitlines()[session["line"] - 1].strip().startswith("return onnxruntime.Inf")
    assert session["wanted"] == [PROVIDER] and session["providers"] == [PROVIDER, CPU]
    # The first run is not like the others.
    assert (session["runs"], session["profiled_runs"]) == (5, 4)
    assert session["milliseconds"] > session["first_milliseconds"] > 0
    rows = {row["operator"]: row for row in session["on_device"]}
    assert set(rows) == {"Relu", "Unsqueeze", "Exp"}
    (row,) = session["on_cpu"]
    assert (row["operator"], row["types"], row["calls"]) == ("DFT", "float", 4)
    assert row["advice"].startswith("write a kernel `DFT`")
    (node,) = row["nodes"]
    assert node["name"] == "transform" and node["provider"] == CPU
    assert node["inputs"] == [["float", [2, 8, 1]]] and node["outputs"] == [["float", [2, 8, 2]]]
    inside = [*session["on_device"], *session["on_cpu"], session["copies"]]
    total = sum(row["milliseconds"] for row in inside) + session["outside_milliseconds"]
    assert total == pytest.approx(session["profiled_milliseconds"], abs=0.01)
    if provider.minor() >= 25:
        assert all(row["device_milliseconds"] > 0 for row in rows.values())


def test_copies_are_counted(tmp_path: Path) -> None:
    copies = on_device(tmp_path, USE)["copies"]
    if not provider.has_own_memory():
        assert copies["calls"] == 0 and copies["nodes"] == []
        return
    assert copies["calls"] == 8
    assert (copies["bytes_to_host"], copies["bytes_to_device"]) == (4 * 64, 4 * 128)
    assert {node["operator"] for node in copies["nodes"]} == {"MemcpyToHost", "MemcpyFromHost"}


def test_json_has_the_fields_of_the_guide(tmp_path: Path) -> None:
    found = measured(tmp_path, PROGRAM + CHOOSE + USE, str(provider.library()))
    assert set(found) == {"version", "devices", "complete", "sessions"}
    assert found["version"] == onnxruntime.__version__
    (session,) = found["sessions"]
    assert set(session) == {
        *("model", "file", "line", "function", "wanted", "providers", "error", "sessions", "runs"),
        *("milliseconds", "first_milliseconds", "usual_milliseconds"),
        *("profiled_runs", "profiled_milliseconds"),
        *("outside_milliseconds", "on_device", "on_cpu", "of_shapes", "copies", "comparison"),
    }
    times = {"calls", "milliseconds", "device_milliseconds"}
    row = session["on_device"][0]
    assert set(row) == times | {"operator", "types", "provider", "advice", "nodes"}
    node = {"name", "operator", "provider", "inputs", "outputs", "output_bytes"}
    assert set(row["nodes"][0]) == times | node
    copies = {"calls", "milliseconds", "bytes_to_host", "bytes_to_device", "nodes"}
    assert set(session["copies"]) == copies


def test_a_library_is_given_to_a_program_that_knows_none(tmp_path: Path) -> None:
    options = ("--provider", str(provider.library()))
    found = measured(tmp_path, PROGRAM + USE, options=options)
    (session,) = found["sessions"]
    assert session["wanted"] == [PROVIDER]
    assert {row["operator"] for row in session["on_device"]} == {"Relu", "Unsqueeze", "Exp"}


def test_the_program_is_not_changed(tmp_path: Path) -> None:
    program = PROGRAM + CHOOSE + "options.enable_profiling = True\nmade = session()\nuse(made, 2)\n"
    program += "print(len(open(made.end_profiling()).read()) > 100)\nsys.exit(7)\n"
    options = ("--quiet", "--json", "report.json")
    result = report(tmp_path, program, str(provider.library()), options=options)
    assert (result.returncode, result.stdout) == (7, "True\n"), result.stderr
    # A profile of the program stays where it is, and is read too.
    assert len(list(tmp_path.glob("onnxruntime_profile_*.json"))) == 1
    found = json.loads((tmp_path / "report.json").read_text())
    (session,) = found["onnxruntime"]["sessions"]
    assert found["exit_status"] == 7 and session["profiled_runs"] == 1


def test_sessions_of_one_line_are_one(tmp_path: Path) -> None:
    session = on_device(tmp_path, "for _ in range(3):\n    use(session(), 4)\n")
    assert (session["sessions"], session["runs"], session["profiled_runs"]) == (3, 12, 9)
    (row,) = session["on_cpu"]
    assert row["calls"] == 9


def test_a_long_program_is_profiled_at_its_beginning(tmp_path: Path) -> None:
    session = on_device(tmp_path, "use(session(), 250)\n")
    assert (session["runs"], session["profiled_runs"]) == (250, 29)
    assert 0 < session["usual_milliseconds"] < session["first_milliseconds"]


def test_a_restart_forgets_the_warm_up(tmp_path: Path) -> None:
    program = "from tenon.report import restart\nmade = session()\nuse(made, 7)\nrestart()\n"
    session = on_device(tmp_path, program + "use(made, 3)\n")
    assert (session["runs"], session["profiled_runs"]) == (3, 2)


def test_a_failed_program_has_a_report(tmp_path: Path) -> None:
    program = PROGRAM + CHOOSE + USE + "raise ValueError('broken')\n"
    result = report(tmp_path, program, str(provider.library()))
    assert result.returncode == 1
    assert "ValueError: broken" in result.stderr and "recorder" not in result.stderr
    assert "The program ended with the status 1." in result.stderr
    assert "write a kernel `DFT`" in result.stderr


def test_a_program_that_is_killed_has_a_report(tmp_path: Path) -> None:
    program = PROGRAM + CHOOSE + USE + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    result = report(tmp_path, program, str(provider.library()))
    assert result.returncode == 128 + 9
    assert "The process ended at once, so ONNX Runtime left no profiles." in result.stderr
    assert f"model.onnx on {PROVIDER}, {CPU}" in result.stderr


def test_a_session_that_was_made_without_the_device_is_told(tmp_path: Path) -> None:
    program = PROGRAM.replace('"model.onnx", options', '"model.onnx", providers=["Npu"]')
    result = report(tmp_path, program + USE)
    assert result.returncode == 0, result.stderr
    expected = "The program asked for Npu, but ONNX Runtime made the session without it."
    assert expected in result.stderr, result.stderr


def test_a_session_that_fails_is_explained(tmp_path: Path) -> None:
    options = ("--json", "report.json")
    library = str(compiled(tmp_path, "NO_SESSION"))
    result = report(tmp_path, PROGRAM + CHOOSE + USE, library, options=options)
    (session,) = json.loads((tmp_path / "report.json").read_text())["onnxruntime"]["sessions"]
    assert session["wanted"] == ["FaultyExecutionProvider"]
    assert "the firmware does not answer" in session["error"]
    said = " ".join(result.stderr.split())
    if result.returncode == 1:
        assert f"The session could not be made: {session['error']}" in said
        assert "model.onnx on no provider; program.py:11 in session" in said
    else:
        # Up to 1.31, ONNX Runtime goes on with its CPU.
        assert result.returncode == 0, result.stderr
        assert "ONNX Runtime made the session without it. It failed: " in said


def test_a_device_that_takes_nothing_is_told(tmp_path: Path) -> None:
    result = report(tmp_path, PROGRAM + CHOOSE + USE, str(compiled(tmp_path, "NONE")))
    assert result.returncode == 0, result.stderr
    assert "FaultyExecutionProvider took no node of the model." in result.stderr


def test_a_program_without_a_device_is_told_how(tmp_path: Path) -> None:
    result = report(tmp_path, PROGRAM + USE, options=("--forbid-fallback",))
    assert result.returncode == 0, result.stderr
    assert "The sessions use the CPU provider only." in result.stderr


def test_forbidden_fallbacks_are_shown(tmp_path: Path) -> None:
    options = ("--quiet", "--forbid-fallback")
    result = report(tmp_path, PROGRAM + CHOOSE + USE, str(provider.library()), options=options)
    assert (result.returncode, result.stdout) == (3, "done False\n"), result.stderr
    last = result.stderr.splitlines()[-1]
    assert last == "tenon: DFT (float) of model.onnx ran on the CPU: transform"


def test_the_page_needs_no_other_file(tmp_path: Path) -> None:
    options = ("--html", "report.html", "--compare")
    result = report(tmp_path, PROGRAM + CHOOSE + USE, str(provider.library()), options=options)
    assert result.returncode == 0, result.stderr
    page = (tmp_path / "report.html").read_text()
    assert "<code>DFT</code>" in page and "<code>transform</code>" in page
    assert "Compared with ONNX Runtime&#x27;s CPU provider: 3 operators" in page
    assert not re.search(r"https?:|<script|<link|src=", page)


@pytest.mark.parametrize(
    ("program", "options", "message"),
    [
        ("import onnxruntime\n", ("--provider", "no.so"), "no.so"),
        ("import onnxruntime\n", ("--provider", "model.onnx"), "ONNX Runtime cannot use "),
        ("raise SystemExit(0)\n", (), "program.py imported neither paddle nor onnxruntime"),
    ],
)
def test_errors_are_clear(
    program: str, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    result = report(tmp_path, program, options=options)
    assert result.returncode == 2, result.stderr
    assert message in result.stderr and "Traceback" not in result.stderr


def test_a_library_without_a_device_is_refused(tmp_path: Path) -> None:
    options = ("--provider", str(compiled(tmp_path, "NO_FACTORY")))
    result = report(tmp_path, PROGRAM + USE, options=options)
    assert result.returncode == 2
    assert "lists no device: `tenon doctor --onnxruntime " in result.stderr


class Altered:
    """A session whose results are changed."""

    def __init__(self, running: onnxruntime.InferenceSession, change: Any) -> None:
        self.running = running
        self.change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self.running, name)

    def run(self, names: Any, inputs: Any) -> list[Any]:
        return [self.change(result) for result in self.running.run(names, inputs)]


def compared(of_test: ModelProto, inputs: dict[str, Any], change: Any) -> Comparison:
    """Compares a device whose results are changed."""
    places: Any = ([(provider.devices()[:1], {})], None, None)
    content = of_test.SerializeToString()
    comparison = Comparison(onnxruntime, arrays, content, places)
    make = comparison.session
    comparison.session = lambda model, on_device: (  # type: ignore[method-assign]
        Altered(make(model, on_device), change) if on_device else make(model, on_device)
    )
    results = provider.session(of_test).run(None, inputs)
    comparison.compare(None, inputs, results)
    return comparison


def test_equal_results_are_no_difference() -> None:
    found = compared(model(), {"x": random(2, 8)}, lambda result: result + 1e-7)
    assert (found.compared, found.differences, found.failed) == (3, [], {})
    assert found.operators == {"Relu", "Unsqueeze", "Exp"}


@pytest.mark.parametrize(
    ("change", "index"),
    [
        (lambda result: result.astype("float64"), None),
        (lambda result: result[:1], None),
        (lambda result: result * numpy.float32("nan"), "first"),
        (lambda result: result + numpy.float32(0.1), "first"),
    ],
)
def test_each_wrong_node_is_told_once(change: Any, index: str | None) -> None:
    found = compared(model(), {"x": random(2, 8)}, change)
    assert [row["node"] for row in found.differences] == ["first", "second", "last"]
    for row in found.differences:
        expected = None if index is None else [0] * len(row["index"])
        assert row["index"] == expected
    assert found.differences[0]["inputs"] == [["float32", [2, 8]]]


def test_a_wrong_result_of_the_whole_model_is_told() -> None:
    of_test, x = model(), random(2, 8)
    comparison = Comparison(onnxruntime, arrays, of_test.SerializeToString(), ([], [CPU], None))
    (result,) = provider.session(of_test).run(None, {"x": x})
    comparison.compare(None, {"x": x}, [result + 1])
    (row,) = comparison.differences
    assert (row["operator"], row["largest"]) == ("the whole model", pytest.approx(1.0, rel=1e-3))


def test_subgraphs_and_text_are_compared_or_said_to_be_not() -> None:
    body = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["twice"])],
        "body",
        [],
        [helper.make_tensor_value_info("twice", TensorProto.FLOAT, None)],
    )
    other = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["same"])],
        "other",
        [],
        [helper.make_tensor_value_info("same", TensorProto.FLOAT, None)],
    )
    nodes = [
        helper.make_node("If", ["is_on"], ["y"], "choice", then_branch=body, else_branch=other)
    ]
    inputs = {"x": random(3), "is_on": numpy.array(True)}
    found = compared(provider.model(nodes, inputs, ["y"]), inputs, lambda result: result)
    assert (found.compared, found.differences, found.failed) == (1, [], {})


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    comparison = Comparison(onnxruntime, arrays, b"", ([], [CPU], None))
    comparison.compare(None, {}, [])
    assert comparison.failed == {"the model": "the package onnx is missing: pip install onnx"}


def test_differences_are_shown_and_fail(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    difference = {
        **{"operator": "Relu", "node": "first", "output": 0, "inputs": [["float32", [2]]]},
        **{"attributes": "", "device": "-1.0", "cpu": "0.0", "index": [1], "largest": 1.0},
    }
    comparison = {"operators": 4, "calls": 9, "differences": [difference], "failed": {"If": "no"}}
    made = {
        **{"model": "model.onnx", "where": ["use.py", 3, "<module>"], "wanted": ["Npu"]},
        **{
            "providers": ["Npu"],
            "error": None,
            "usual": None,
            "runs": 1,
            "seconds": 0.1,
            "first": 0.1,
            "mark": None,
        },
        "comparison": comparison,
    }
    facts = {"version": "1.32.0", "devices": ["Npu"], "complete": True, "sessions": [made]}
    run = Run(["use.py"], 0, None, {"onnxruntime": facts}, {})  # type: ignore[arg-type]
    monkeypatch.setattr(command, "run", lambda *_, **__: run)
    assert command.main(["--compare", "use.py"]) == 4
    shown = capfd.readouterr().err
    assert "CPU provider: 4 operators, 9 nodes; 1 with differences" in shown
    assert "Relu (first): result 0 differs by up to 1; at [1] it is -1.0 on the device" in shown
    assert "    inputs float32 [2]; attributes none\n" in shown
    assert "If could not be compared: no" in shown
