"""Cases about runs: inputs, outputs, shapes and errors."""

from __future__ import annotations

from typing import Any

import models
import numpy
from host import HEADER, Array, Host, case, chain, expect, fail, of_arrays, of_chain, pair, random, require
from models import Node

KERNEL = f"{HEADER}, `OrtKernelImpl::Compute` and `OrtNodeComputeInfo::Compute`"
GUARD = 64
"""Elements before and after an output that nothing may change."""


def dynamic(host: Host, rank: int = 1) -> Any:
    """Returns a session whose inputs have any size."""
    names = [f"n{place}" for place in range(rank)]
    shapes = {"a": names, "b": names}
    inputs = pair(*[1] * rank)
    return host.session(of_arrays(chain(), inputs, {"y": "float32"}, shapes=shapes))


@case("run.shapes", "a session runs with inputs of any shape that the model allows", KERNEL)
def shapes(host: Host) -> None:
    session = dynamic(host, 2)
    for shape in [(1, 1), (7, 3), (64, 65), (1, 1000), (7, 3), (129, 1), (2, 2)]:
        inputs = pair(*shape)
        expect(session.run(None, inputs)[0], of_chain(inputs), f"for {list(shape)}")


@case("run.empty", "tensors without elements have results without elements", KERNEL)
def empty(host: Host) -> None:
    session = dynamic(host, 2)
    for shape in [(0, 3), (3, 0), (0, 0), (2, 3)]:
        inputs = pair(*shape)
        expect(session.run(None, inputs)[0], of_chain(inputs), f"for {list(shape)}")


@case("run.scalars", "tensors without dimensions are single numbers", KERNEL)
def scalars(host: Host) -> None:
    inputs = pair()
    session = host.session(of_arrays(chain(), inputs, {"y": "float32"}))
    expect(session.run(None, inputs)[0], of_chain(inputs), "for numbers")


@case("run.large", "tensors of many megabytes are computed completely", KERNEL)
def large(host: Host) -> None:
    inputs = pair(3, 1 << 20)
    session = host.session(of_arrays(chain(), inputs, {"y": "float32"}))
    expect(session.run(None, inputs)[0], of_chain(inputs), "for 12 MiB")


@case("run.inputs_stay", "a run does not change its inputs", KERNEL)
def inputs_stay(host: Host) -> None:
    inputs = pair(1000)
    before = {name: array.copy() for name, array in inputs.items()}
    session = host.session(of_arrays(chain(), inputs, {"y": "float32"}))
    for _ in range(3):
        session.run(None, inputs)
    for name, array in inputs.items():
        require(bool((array == before[name]).all()), f"the input `{name}` has other elements after a run")


@case("run.outputs_stay", "the outputs of a run do not change in later runs", KERNEL)
def outputs_stay(host: Host) -> None:
    session = dynamic(host)
    given = [pair(500, seed=seed) for seed in range(4)]
    results = [session.run(None, inputs)[0] for inputs in given]
    for number, (inputs, result) in enumerate(zip(given, results)):
        expect(result, of_chain(inputs), f"the output of run {number} after later ones")


@case("run.repeated", "the same inputs have the same results, bit for bit", KERNEL, "good")
def repeated(host: Host) -> None:
    weights = {"w": random(64, 48)}
    inputs = {"x": random(33, 64)}
    nodes = [Node("MatMul", ["x", "w"], ["m"]), Node("Softmax", ["m"], ["y"], {"axis": 1})]
    session = host.session(of_arrays(nodes, inputs, {"y": "float32"}, weights))
    first = session.run(None, inputs)[0]
    for turn in range(5):
        again = session.run(None, inputs)[0]
        require(first.tobytes() == again.tobytes(), f"run {turn + 2} has other bits than the first one")


@case("run.bound", "an output that the program has reserved is written, and nothing beside it", KERNEL)
def bound(host: Host) -> None:
    for count in (1, 7, 64, 1001):
        inputs = pair(count)
        session = host.session(of_arrays(chain(), inputs, {"y": "float32"}))
        memory = numpy.full(count + 2 * GUARD, 12345.0, "float32")
        target = memory[GUARD : GUARD + count]
        binding = session.io_binding()
        for name, array in inputs.items():
            binding.bind_input(name, "cpu", 0, numpy.float32, array.shape, array.ctypes.data)
        binding.bind_output("y", "cpu", 0, numpy.float32, target.shape, target.ctypes.data)
        session.run_with_iobinding(binding)
        # In ONNX Runtime 1.24.1, a binding that outlives its session uses memory that was freed.
        del binding
        expect(target, of_chain(inputs), f"the output of {count} elements")
        beside = numpy.concatenate([memory[:GUARD], memory[GUARD + count :]])
        require(bool((beside == 12345.0).all()), f"bytes beside an output of {count} elements were written")


@case(
    "run.chosen_outputs",
    "a run can return some of the outputs, also those between nodes",
    f"{HEADER}, `OrtEp::GetCapability`",
)
def chosen_outputs(host: Host) -> None:
    inputs = pair(2, 3)
    model = of_arrays(chain(), inputs, {"y": "float32", "sum": "float32", "positive": "float32"})
    session = host.session(model)
    total = inputs["a"] + inputs["b"]
    expected = {"sum": total, "positive": numpy.maximum(total, 0), "y": of_chain(inputs)}
    for names in (["positive"], ["y", "sum"], ["sum", "positive", "y"]):
        for name, result in zip(names, session.run(names, inputs)):
            expect(result, expected[name], f"`{name}` of {', '.join(names)}")


@case("run.branches", "a model with branches computes the one that its input chooses", KERNEL)
def branches(host: Host) -> None:
    def branch(operator: str) -> bytes:
        nodes = [Node(operator, ["x", "x"], [f"{operator}_result"])]
        return models.graph(nodes, [], [models.described(f"{operator}_result", "float32", None)])

    inputs: dict[str, Array] = {"x": random(7), "is_first": numpy.array(True)}
    attributes = {"then_branch": branch("Add"), "else_branch": branch("Mul")}
    nodes = [Node("If", ["is_first"], ["chosen"], attributes), Node("Relu", ["chosen"], ["y"])]
    session = host.session(of_arrays(nodes, inputs, {"y": "float32"}))
    for is_first in (True, False, True):
        inputs["is_first"] = numpy.array(is_first)
        chosen = inputs["x"] + inputs["x"] if is_first else inputs["x"] * inputs["x"]
        found = session.run(None, inputs)[0]
        expect(found, numpy.maximum(chosen, 0), f"for {is_first}")


@case("run.error", "a run whose shapes do not fit is an error, and later runs work", KERNEL)
def error(host: Host) -> None:
    shapes = {"a": ["n"], "b": ["m"]}
    session = host.session(of_arrays(chain(), pair(2), {"y": "float32"}, shapes=shapes))
    for turn in range(3):
        try:
            session.run(None, {"a": random(2), "b": random(3)})
        except Exception as raised:
            require(bool(str(raised).strip()), "the error has no reason")
        else:
            fail("a tensor of 2 elements and one of 3 were added")
        inputs = pair(4)
        expect(session.run(None, inputs)[0], of_chain(inputs), f"after error {turn + 1}")


@case(
    "run.weights",
    "weights that several nodes use have the values of the model",
    f"{HEADER}, `OrtKernelImpl::PrePackWeight`",
)
def weights(host: Host) -> None:
    constants = {"w": random(16, 16), "bias": random(16)}
    inputs = {"x": random(5, 16)}
    nodes = [
        Node("MatMul", ["x", "w"], ["one"]),
        Node("MatMul", ["one", "w"], ["two"]),
        Node("Add", ["two", "bias"], ["three"]),
        Node("Add", ["w", "bias"], ["other"]),
        Node("MatMul", ["three", "other"], ["y"]),
    ]
    session = host.session(of_arrays(nodes, inputs, {"y": "float32"}, constants))
    w, bias = constants["w"], constants["bias"]
    expected = (inputs["x"] @ w @ w + bias) @ (w + bias)
    for _ in range(2):
        expect(session.run(None, inputs)[0], expected, "three products")
