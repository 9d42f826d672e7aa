"""The layers between ONNX Runtime and a provider, each program in a process of its own.

`TENON_EXAMPLES` names the folder with the layers and the command.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

import provider
from test_doctor import compiled

EXAMPLES = Path(os.environ["TENON_EXAMPLES"])
LAYERS = EXAMPLES / "onnxruntime_between" / "libtenon_onnxruntime_layers.so"

PROGRAM = """
import gc, sys
import numpy, onnxruntime
import provider
from provider import FLOAT, helper

def use(runs=1, size=64):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], "multiply"),
        helper.make_node("HannWindow", ["n"], ["window"], "of the host"),
        helper.make_node("Add", ["product", "window"], ["sum"], "add"),
        helper.make_node("Relu", ["sum"], ["y"], "cut"),
    ]
    inputs = {"x": provider.random(8, size), "n": numpy.array(size)}
    model = provider.model(nodes, inputs, ["y"], {"w": provider.random(size, size)})
    session = provider.session(model)
    for _ in range(runs):
        (result,) = session.run(None, inputs)
    (expected,) = provider.session(model, on_device=False).run(None, inputs)
    numpy.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    return session

onnxruntime.register_execution_provider_library("between", sys.argv[1])
found = [one for one in onnxruntime.get_ep_devices() if one.ep_name != "CPUExecutionProvider"]
provider.PROVIDER = found[0].ep_name
"""

UNREGISTER = """
gc.collect()
onnxruntime.unregister_execution_provider_library("between")
print("done")
"""


def run(
    library: Path | str, program: str, layers: str = "validate", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program with the layers in front of a provider."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + program, str(LAYERS)],
        env={
            **os.environ,
            "TENON_PLUGIN": str(library),
            "TENON_LAYERS": layers,
            "TENON_ONNXRUNTIME_NODES": "all",
            **variables,
        },
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def reports(output: str) -> list[str]:
    """Returns the rules that were reported."""
    lines = (line.removeprefix("tenon: ") for line in output.splitlines())
    return [line[:4] for line in lines if line[:1] == "P" and line[1:4].isdigit()]


@pytest.mark.parametrize("layers", ["", "validate", "trace", "validate,trace"])
def test_a_provider_without_mistakes_is_not_changed(tmp_path: Path, layers: str) -> None:
    program = "use(5)\nuse(2, 33)\n" + UNREGISTER
    trace = str(tmp_path / "trace.json")
    ran = run(provider.library(), program, layers, TENON_TRACE_FILE=trace)
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
    assert reports(ran.stderr) == []
    assert Path(trace).exists() == ("trace" in layers)


def events(path: Path) -> list[dict[str, Any]]:
    """Returns the calls of a trace."""
    return [event for event in json.loads(path.read_text()) if event["ph"] == "X"]


def test_a_trace_has_the_calls_with_the_names_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    ran = run(provider.library(), "use(5)\n" + UNREGISTER, "trace", TENON_TRACE_FILE=str(path))
    assert ran.returncode == 0, ran.stderr
    found = events(path)
    named = {(event["name"], event["args"]["function"]): event for event in found}
    counts = [event["name"] for event in found if event["args"]["function"].endswith("::Compute")]
    for node in ("MatMul multiply", "Add add", "Relu cut"):
        assert counts.count(node) == 5, counts
        event = named[node, "OrtKernelImpl::Compute"]
        assert event["dur"] > 0 and event["pid"] and event["tid"] and event["ts"] > 0
    for function in ("CreateEpFactories", "OrtEpFactory::CreateEp", "OrtEp::GetCapability"):
        assert (function, function) in named
    copies = [event for event in found if event["name"] == "OrtDataTransferImpl::CopyTensors"]
    given = [event for event in found if event["name"].startswith("OrtAllocator::Alloc")]
    assert bool(copies) == bool(given) == provider.has_own_memory()
    assert all(event["args"]["bytes"] > 0 for event in given)


def summary(path: Path) -> dict[str, Any]:
    """Returns what `tenon trace summary` says about a trace, by function or node."""
    command = [str(EXAMPLES / "tenon"), "trace", "summary", "--json", str(path)]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert not said["truncated"]
    return {function["name"]: function for function in said["functions"]}


def test_a_trace_is_summarised(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    ran = run(provider.library(), "use(5)\n" + UNREGISTER, "trace", TENON_TRACE_FILE=str(path))
    assert ran.returncode == 0, ran.stderr
    found = summary(path)
    assert (found["Relu cut"]["count"], found["Relu cut"]["errors"]) == (5, 0)
    assert found["Relu cut"]["total_ns"] > 0
    for function in ("OrtKernelCreateFunc", "OrtKernelImpl::Release"):
        assert found[function]["count"] == 3
    given = sum(found[name]["bytes"] for name in found if name.startswith("OrtAllocator::Alloc"))
    assert (given > 0) == provider.has_own_memory()


def test_a_summary_counts_calls_that_fail(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    program = """
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(found[:1], {})
model = provider.model([helper.make_node("Relu", ["x"], ["y"])], {"x": provider.random(3)}, ["y"])
try:
    onnxruntime.InferenceSession(model.SerializeToString(), options)
except Exception as error:
    print(error)
"""
    library = compiled(tmp_path, "NO_SESSION")
    ran = run(library, program, "trace", TENON_TRACE_FILE=str(path))
    assert "the firmware does not answer" in ran.stdout, ran.stderr
    function = summary(path)["OrtEpFactory::CreateEp"]
    assert function["errors"] == function["count"] > 0


def test_a_trace_of_a_killed_program_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    program = "use(5)\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"
    ran = run(provider.library(), program, "trace", TENON_TRACE_FILE=str(path))
    assert ran.returncode == -9
    # Perfetto and Chrome read a list without an end.
    lines = path.read_text().splitlines()
    assert lines[0] == "["
    complete = [json.loads(line.rstrip(",")) for line in lines[1:-1]]
    assert all(event["ph"] in "MX" for event in complete)


@pytest.mark.parametrize(
    ("fault", "rule", "message"),
    [
        ("NO_VERSION", "P001", "`OrtEp` states the release 0"),
        ("NEWER_VERSION", "P001", f"`OrtEp` states the release {provider.minor() + 1}"),
        ("NO_FUNCTION", "P002", "`OrtEp` has no function `GetCapability`"),
        ("NO_OBJECT", "P003", "CreateEp: it succeeded without an object `OrtEp`"),
        ("OTHER_NAME", "P004", "`AnotherExecutionProvider`, and its factory `FaultyExecution"),
        ("CONSTANT", "P005", "an object `OrtEp` cannot be written"),
    ],
)
def test_a_mistake_of_a_provider_is_reported(
    tmp_path: Path, fault: str, rule: str, message: str
) -> None:
    program = """
options = onnxruntime.SessionOptions()
options.add_provider_for_devices(found[:1], {})
model = provider.model([helper.make_node("Relu", ["x"], ["y"])], {"x": provider.random(3)}, ["y"])
onnxruntime.InferenceSession(model.SerializeToString(), options, enable_fallback=0)
"""
    # The host may crash after it.
    ran = run(compiled(tmp_path, fault), program)
    assert reports(ran.stderr)[:1] == [rule], ran.stderr
    assert message in ran.stderr


def test_a_provider_that_makes_the_same_object_again_works(tmp_path: Path) -> None:
    program = """
model = provider.model([helper.make_node("Relu", ["x"], ["y"])], {"x": provider.random(3)}, ["y"])
for _ in range(3):
    options = onnxruntime.SessionOptions()
    options.add_provider_for_devices(found[:1], {})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    session.run(None, {"x": provider.random(3)})
    del session
del found
"""
    ran = run(compiled(tmp_path, "SAME_AGAIN"), program + UNREGISTER)
    assert (ran.returncode, ran.stdout) == (0, "done\n"), ran.stderr
    assert reports(ran.stderr) == []


def test_objects_that_are_left_are_reported() -> None:
    ran = run(provider.library(), "alive = use()\n" + UNREGISTER)
    assert ran.stdout == "done\n", ran.stderr
    assert "P011" in reports(ran.stderr)
    assert "ReleaseEpFactory: one object `OrtEp` of `CreateEp` was not released" in ran.stderr


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"TENON_PLUGIN": ""}, "TENON_PLUGIN does not say which"),
        ({"TENON_PLUGIN": str(LAYERS)}, "is libtenon_onnxruntime_layers.so itself"),
        ({"TENON_PLUGIN": "/no/such.so"}, "/no/such.so"),
        ({"TENON_PLUGIN": __file__}, "cannot be loaded"),
        ({"TENON_LAYERS": "capture"}, "there is no layer `capture`"),
        ({"TENON_VALIDATE_GUARDS": "maybe"}, "TENON_VALIDATE_GUARDS=maybe: expected 1 or 0"),
        (
            {"TENON_LAYERS": "trace", "TENON_TRACE_FILE": "/no/folder/trace.json"},
            "the trace cannot be written to /no/folder/trace.json",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_refused(variables: dict[str, str], message: str) -> None:
    ran = run(variables.pop("TENON_PLUGIN", str(provider.library())), "", **variables)
    assert ran.returncode == 1
    assert message in ran.stderr.splitlines()[-1], ran.stderr


def test_all_cases_for_providers_pass_through_the_layers(tmp_path: Path) -> None:
    ran = subprocess.run(
        [str(EXAMPLES / "tenon"), "check", str(LAYERS), "--onnxruntime", sys.executable],
        env={
            **os.environ,
            "TENON_PLUGIN": str(provider.library()),
            "TENON_LAYERS": "validate,trace",
            "TENON_TRACE_FILE": str(tmp_path / "trace.json"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"in ONNX Runtime {onnxruntime.__version__}" in ran.stdout
