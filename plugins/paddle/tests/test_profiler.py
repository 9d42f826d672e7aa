"""Traces that Paddle's profiler collects from the device."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from host import DEVICE, python

TRACED = """
import paddle
from paddle import profiler

paddle.set_device("NAME")
large, small = (paddle.ones([size, size]) for size in (512, 4))
tracing = profiler.Profiler(
    targets=[profiler.ProfilerTarget.CUSTOM_DEVICE], on_trace_ready=lambda _: None
)
tracing.start()
paddle.exp(small)
paddle.device.synchronize("NAME")
paddle.matmul(large, large)
paddle.device.synchronize("NAME")
tracing.stop()
"""


@pytest.mark.parametrize(("value", "library"), [(None, "oneDNN"), ("off", None)])
def test_trace_names_the_library_of_a_kernel(
    tmp_path: Path, value: str | None, library: str | None
) -> None:
    file = tmp_path / "trace.json"
    ran = python(TRACED.replace("NAME", DEVICE), TENON_CPU_TRACE=str(file), TENON_DNNL=value)
    assert ran.returncode == 0, ran.stderr
    libraries = {
        event["name"]: event.get("args", {}).get("library")
        for event in json.loads(file.read_text())["traceEvents"]
        if event.get("cat") == "kernel"
    }
    assert libraries["matmul"] == library
    assert libraries["exp"] is None


def test_profiler_leaves_a_trace_of_calls_and_kernels(tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    ran = python(TRACED.replace("NAME", DEVICE), TENON_CPU_TRACE=str(file), TENON_CPU_THREADS="2")
    assert ran.returncode == 0, ran.stderr
    events = json.loads(file.read_text())["traceEvents"]
    spans = {
        (event["name"], event["cat"]): (event["ts"], event["ts"] + event["dur"])
        for event in events
        if event["ph"] == "X"
    }
    assert {
        (name, kind) for name in ("exp", "matmul") for kind in ("call", "kernel")
    } <= spans.keys()
    (start, end), (begun, ended) = spans["exp", "call"], spans["exp", "kernel"]
    assert start <= begun <= ended <= end, "a small kernel is computed by its call"
    assert spans["matmul", "kernel"][1] > spans["matmul", "call"][1], "a large one by a thread"
