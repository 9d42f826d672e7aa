"""Nodes with subgraphs, whose own nodes run on the device too."""

from __future__ import annotations

from typing import Any

import numpy
from onnx import TensorProto, helper

import provider
from provider import model, random, session

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def subgraph(nodes: list[Any], inputs: dict[str, int], outputs: dict[str, int]) -> Any:
    """Makes a subgraph whose inputs and outputs have names and types of elements.

    Integers and conditions are single ones.
    """

    def described(values: dict[str, int]) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, kind, None if kind == FLOAT else [])
            for name, kind in values.items()
        ]

    return helper.make_graph(nodes, "subgraph", described(inputs), described(outputs))


def test_branches_run_on_the_device() -> None:
    branches = {
        name: subgraph([helper.make_node(operator, ["x"], ["r"])], {}, {"r": FLOAT})
        for name, operator in (("then_branch", "Relu"), ("else_branch", "Neg"))
    }
    nodes = [helper.make_node("If", ["c"], ["y"], **branches)]
    x = random(4)
    for condition, expected in ((True, numpy.maximum(x, 0)), (False, -x)):
        inputs = {"c": numpy.array(condition), "x": x}
        made = session(model(nodes, inputs, ["y"]), only_device=provider.minor() > 24)
        numpy.testing.assert_array_equal(made.run(None, inputs)[0], expected)


def test_outputs_of_the_steps_of_a_loop_are_joined() -> None:
    body = subgraph(
        [
            helper.make_node("Add", ["state", "one"], ["next"]),
            helper.make_node("Mul", ["next", "x"], ["step"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        {"i": INT64, "go": BOOL, "state": FLOAT},
        {"on": BOOL, "next": FLOAT, "step": FLOAT},
    )
    nodes = [helper.make_node("Loop", ["n", "", "start"], ["last", "steps"], body=body)]
    inputs = {"start": numpy.zeros(3, numpy.float32), "x": random(3)}
    weights = {"one": numpy.ones(3, numpy.float32), "n": numpy.array(5)}
    made = model(nodes, inputs, ["last", "steps"], weights)
    last, steps = session(made, only_device=provider.minor() > 24).run(None, inputs)
    numpy.testing.assert_array_equal(last, [5, 5, 5])
    expected = numpy.arange(1, 6, dtype=numpy.float32)[:, None] * inputs["x"]
    numpy.testing.assert_array_equal(steps, expected)


def test_tensors_of_a_scan_are_transposed() -> None:
    body = subgraph(
        [
            helper.make_node("Add", ["sum", "part"], ["next"]),
            helper.make_node("Identity", ["next"], ["step"]),
        ],
        {"sum": FLOAT, "part": FLOAT},
        {"next": FLOAT, "step": FLOAT},
    )
    axes = {"scan_input_axes": [1], "scan_output_axes": [1]}
    scan = {"body": body, "num_scan_inputs": 1, **axes}
    nodes = [helper.make_node("Scan", ["start", "x"], ["last", "steps"], **scan)]
    inputs = {"start": numpy.zeros(3, numpy.float32), "x": random(3, 4)}
    made = model(nodes, inputs, ["last", "steps"])
    last, steps = session(made, only_device=provider.minor() > 24).run(None, inputs)
    expected = numpy.cumsum(inputs["x"], axis=1)
    numpy.testing.assert_allclose(steps, expected, rtol=1e-6)
    numpy.testing.assert_allclose(last, expected[:, -1], rtol=1e-6)
