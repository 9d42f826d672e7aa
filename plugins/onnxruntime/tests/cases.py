"""Runs ONNX's own cases of operators, and prints a line of JSON for each.

The arguments are the path of the library, `device` or `host` (ONNX Runtime's CPU provider), and
names of cases, or none for all. It is a program of its own, because a crash must not end the tests.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy
import onnxruntime
from onnx.backend.test.case import node as node_cases

PROVIDER = "TenonCpuExecutionProvider"


def options(device: Any | None) -> onnxruntime.SessionOptions:
    """Returns the options of a session, on the device or on the CPU provider."""
    made = onnxruntime.SessionOptions()
    made.log_severity_level = 4
    # The optimiser would compute constant nodes itself, or replace nodes.
    made.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    made.intra_op_num_threads = 1
    if device is not None:
        made.add_provider_for_devices([device], {})
        made.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    return made


def matches(outputs: list[Any], expected: list[Any], rtol: float, atol: float) -> str | None:
    """Compares outputs as ONNX's own runner does; returns the difference."""
    if len(outputs) != len(expected):
        return f"{len(outputs)} outputs"
    for output, wanted in zip(outputs, expected, strict=True):
        if isinstance(wanted, list):
            if reason := matches(output, wanted, rtol, atol):
                return reason
            continue
        if wanted is None:
            continue
        output, wanted = numpy.asarray(output), numpy.asarray(wanted)
        if output.shape != wanted.shape:
            return f"the shape {output.shape} instead of {wanted.shape}"
        if output.dtype != wanted.dtype:
            return f"the type {output.dtype} instead of {wanted.dtype}"
        if wanted.dtype.kind == "V":
            # bfloat16 and its like.
            output, wanted = output.astype(numpy.float32), wanted.astype(numpy.float32)
        if wanted.dtype == object or not numpy.issubdtype(wanted.dtype, numpy.number):
            same = output.tolist() == wanted.tolist()
        else:
            same = bool(numpy.allclose(output, wanted, rtol=rtol, atol=atol, equal_nan=True))
        if not same:
            return f"{output.ravel()[:4].tolist()} instead of {wanted.ravel()[:4].tolist()}"
    return None


def run(case: Any, device: Any | None) -> tuple[str, Any]:
    """Runs a case; returns how it ended, and the session if it was made."""
    try:
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), options(device))
    except Exception as error:
        return f"load: {error}", None
    names = [value.name for value in session.get_inputs()]
    for inputs, expected in case.data_sets:
        try:
            outputs = session.run(None, dict(zip(names, inputs, strict=False)))
        except Exception as error:
            return f"run: {error}", session
        if reason := matches(outputs, list(expected), case.rtol, case.atol):
            return f"differs: {reason}", session
    return "passed", session


def nodes_on_device(session: Any) -> tuple[list[str], list[str]]:
    """Returns the operators on the device, and those elsewhere."""
    on: list[str] = []
    off: list[str] = []
    if session is None or not hasattr(session, "get_provider_graph_assignment_info"):
        return on, off
    for part in session.get_provider_graph_assignment_info():
        for node in part.get_nodes():
            (on if part.ep_name == PROVIDER else off).append(node.op_type)
    return on, off


def main() -> None:
    """Runs the cases."""
    warnings.simplefilter("ignore")
    library, target, *names = sys.argv[1:]
    onnxruntime.set_default_logger_severity(4)
    device = None
    if target == "device":
        onnxruntime.register_execution_provider_library("tenon", library)
        device = next(
            device for device in onnxruntime.get_ep_devices() if device.ep_name == PROVIDER
        )
    for case in node_cases.collect_testcases(None):
        if names and case.name not in names:
            continue
        print(json.dumps({"begins": case.name}), flush=True)
        result, session = run(case, device)
        on, off = nodes_on_device(session) if device is not None else ([], [])
        del session
        print(json.dumps({"case": case.name, "result": result, "on": on, "off": off}), flush=True)


if __name__ == "__main__":
    main()
