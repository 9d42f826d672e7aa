"""The provider in ONNX Runtime: devices, sessions, memory, and what goes wrong."""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

import numpy
import onnxruntime
import pytest
from onnx import helper

import provider
from provider import Array, model, random, session

ADD = [helper.make_node("Add", ["a", "b"], ["y"])]


def sum_model(*shape: int) -> Any:
    """Returns a model that adds two tensors."""
    return model(ADD, {"a": random(*shape), "b": random(*shape)}, ["y"])


def test_devices_have_names_and_versions() -> None:
    (device,) = provider.devices()
    assert (device.ep_name, device.ep_vendor) == (provider.PROVIDER, "Tenon")
    assert device.ep_metadata["version"].count(".") == 2


def test_session_runs_on_the_device_alone() -> None:
    a, b = random(3, 4), random(3, 4, seed=1)
    made = session(sum_model(3, 4), optimised=False, only_device=provider.minor() > 24)
    assert provider.PROVIDER in made.get_providers()
    assert numpy.array_equal(made.run(None, {"a": a, "b": b})[0], a + b)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (), (1, 0, 2)])
def test_empty_tensors_and_tensors_without_dimensions(shape: tuple[int, ...]) -> None:
    inputs = {"a": random(*shape), "b": random(*shape)}
    result = session(model(ADD, inputs, ["y"])).run(None, inputs)[0]
    assert result.shape == shape and numpy.array_equal(result, inputs["a"] + inputs["b"])


def test_nodes_without_kernels_run_on_the_host_between_those_of_the_device() -> None:
    nodes = [
        helper.make_node("Add", ["a", "a"], ["s"]),
        # No kernel of the device.
        helper.make_node("HannWindow", ["n"], ["w"]),
        helper.make_node("Mul", ["s", "w"], ["y"]),
    ]
    inputs: dict[str, Array] = {"a": random(5), "n": numpy.array(5, numpy.int64)}
    of_test = model(nodes, inputs, ["y"])
    expected = session(of_test, on_device=False).run(None, inputs)[0]
    numpy.testing.assert_allclose(session(of_test).run(None, inputs)[0], expected, rtol=1e-6)


def test_shapes_that_values_decide() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["dims"]),
        helper.make_node("Add", ["dims", "more"], ["wanted"]),
        helper.make_node("Mul", ["wanted", "factor"], ["twice"]),
        helper.make_node("Expand", ["one", "twice"], ["y"]),
    ]
    inputs = {"x": random(2, 3), "one": random(1, 1)}
    weights = {"more": numpy.array([1, 1]), "factor": numpy.array([2, 1])}
    made = session(model(nodes, inputs, ["y"], weights), optimised=False)
    for _ in range(20):
        assert made.run(None, inputs)[0].shape == (6, 4)


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        ("Gather", {"x": random(3, 2), "i": numpy.array([-4])}),
        ("GatherND", {"x": random(3, 2), "i": numpy.array([[-4, 0]])}),
        ("ScatterND", {"x": random(3, 2), "i": numpy.array([[0, -3]]), "u": random(1)}),
        ("Gather", {"x": random(3, 2), "i": numpy.array([0, 3])}),
        ("GatherElements", {"x": random(3, 2), "i": numpy.array([[-4, 0]])}),
        ("GatherND", {"x": random(3, 2), "i": numpy.array([[1, 2]])}),
        ("ScatterND", {"x": random(3, 2), "i": numpy.array([[2, 2]]), "u": random(1)}),
        ("ScatterElements", {"x": random(3, 2), "i": numpy.array([[7, 0]]), "u": random(1, 2)}),
    ],
)
def test_indices_out_of_range_are_errors(operator: str, inputs: dict[str, Array]) -> None:
    made = session(model([helper.make_node(operator, list(inputs), ["y"])], inputs, ["y"]))
    with pytest.raises(Exception, match=r"(?i)index|indices|range|bounds"):
        made.run(None, inputs)
    # The next run works.
    good = {**inputs, "i": numpy.zeros_like(inputs["i"])}
    assert made.run(None, good)[0] is not None


@pytest.mark.parametrize(
    ("operator", "attributes", "inputs"),
    [
        ("Reshape", {}, {"x": random(2, 3), "s": numpy.array([4, 2])}),
        ("Reshape", {}, {"x": random(2, 3), "s": numpy.array([-5, 2])}),
        ("Expand", {}, {"x": random(2, 3), "s": numpy.array([2, 4])}),
        ("Tile", {}, {"x": random(2, 3), "s": numpy.array([1])}),
        ("Squeeze", {}, {"x": random(2, 3), "s": numpy.array([0])}),
        ("Split", {"num_outputs": 1}, {"x": random(4), "s": numpy.array([3])}),
        ("TopK", {}, {"x": random(4), "s": numpy.array([9])}),
    ],
)
def test_shapes_that_do_not_fit_are_errors(
    operator: str, attributes: dict[str, Any], inputs: dict[str, Array]
) -> None:
    outputs = ["y", "z"] if operator == "TopK" else ["y"]
    if operator == "Split":
        attributes = {}
    node = helper.make_node(operator, list(inputs), outputs, **attributes)
    made = session(model([node], inputs, outputs), optimised=False)
    with pytest.raises(Exception, match=operator):
        made.run(None, inputs)


def test_matrices_that_do_not_fit_are_errors() -> None:
    nodes = [helper.make_node("MatMul", ["a", "b"], ["y"])]
    of_test = model(nodes, {"a": random(2, 3), "b": random(4, 5)}, ["y"])
    for value in of_test.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.dim_param = "?"
    made = session(of_test)
    with pytest.raises(Exception, match="MatMul"):
        made.run(None, {"a": random(2, 3), "b": random(4, 5)})
    assert made.run(None, {"a": random(2, 4), "b": random(4, 5)})[0].shape == (2, 5)


def in_threads(count: int, work: Any) -> None:
    """Runs a function in several threads at once, and raises what one of them raises."""
    failures: list[BaseException] = []

    def guarded(index: int) -> None:
        try:
            work(index)
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


NETWORK = [
    helper.make_node("MatMul", ["x", "w"], ["h"]),
    helper.make_node("Relu", ["h"], ["r"]),
    helper.make_node("Softmax", ["r"], ["y"]),
]


@pytest.mark.parametrize("sessions", [1, 8])
def test_threads_share_a_session_or_have_their_own(sessions: int) -> None:
    weight = random(16, 8)
    of_test = model(NETWORK, {"x": random(4, 16)}, ["y"], {"w": weight})
    made = [session(of_test) for _ in range(sessions)]
    reference = session(of_test, on_device=False)

    def work(index: int) -> None:
        x = random(4, 16, seed=index)
        expected = reference.run(None, {"x": x})[0]
        for _ in range(1000):
            result = made[index % sessions].run(None, {"x": x})[0]
            numpy.testing.assert_allclose(result, expected, rtol=1e-5)

    in_threads(8, work)


def resident() -> int:
    """Returns the resident memory of the process in bytes."""
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def test_sessions_come_and_go_without_growth() -> None:
    of_test = model(NETWORK, {"x": random(4, 512)}, ["y"], {"w": random(512, 512)})

    def once() -> None:
        session(of_test).run(None, {"x": random(4, 512)})

    for _ in range(20):
        once()
    gc.collect()
    before = resident()
    for _ in range(200):
        once()
    gc.collect()
    # A megabyte of weights each would be 200 MB.
    assert resident() - before < 30_000_000


def test_values_on_the_device() -> None:
    if not provider.has_own_memory() or not hasattr(onnxruntime, "copy_tensors"):
        assert provider.minor() < 24 or not provider.has_own_memory()
        return
    (device,) = provider.devices()
    info = device.memory_info(onnxruntime.OrtDeviceMemoryType.DEFAULT)
    assert info.device_vendor_id == 0xFFFF
    x = random(3, 4)
    target = provider.value(x)
    back = onnxruntime.OrtValue.ortvalue_from_numpy(numpy.zeros_like(x))
    onnxruntime.copy_tensors([target], [back])
    assert numpy.array_equal(back.numpy(), x)


def test_library_is_registered_once_more_under_another_name() -> None:
    # The last test: ONNX Runtime then forgets the allocator of both.
    name = "once more"
    onnxruntime.register_execution_provider_library(name, str(provider.library()))
    assert len(provider.devices()) == 2
    onnxruntime.unregister_execution_provider_library(name)
    assert len(provider.devices()) == 1
    assert session(sum_model(2)).run(None, {"a": random(2), "b": random(2)})


def test_older_release_refuses_the_library_with_a_sentence() -> None:
    program = f"""
import onnxruntime
try:
    onnxruntime.register_execution_provider_library("tenon", {str(provider.library())!r})
except Exception as refusal:
    print(refusal)
"""
    ran = provider.run(program, PYTHONPATH=os.environ["TENON_ONNXRUNTIME_REFUSED"])
    assert "needs ONNX Runtime 1.24 or newer, and this is 1.23.2" in ran.stdout


OUT_OF_MEMORY = """
import numpy, onnxruntime
from onnx import helper
import provider

onnxruntime.set_default_logger_severity(4)
onnxruntime.register_execution_provider_library("tenon", str(provider.library()))
node = helper.make_node("Expand", ["x", "dims"], ["y"])
inputs = {"x": provider.random(1), "dims": numpy.array([8])}
session = provider.session(provider.model([node], inputs, ["y"]))
for size in (8, 1 << 24, 8, 1 << 24, 1 << 20):
    try:
        (y,) = session.run(None, {**inputs, "dims": numpy.array([size])})
        assert y.shape == (size,)
        print(size)
    except Exception as failure:
        print(failure)
"""


def test_run_after_one_that_was_out_of_memory_works() -> None:
    variables = {"TENON_CPU_MEMORY": "32MiB", "TENON_ONNXRUNTIME_MEMORY": "device"}
    ran = provider.run(OUT_OF_MEMORY, **variables)
    lines = [line for line in ran.stdout.splitlines() if line]
    assert [line for line in lines if line.isdigit()] == ["8", "8", str(1 << 20)]
    assert len(lines) >= 5 and "Expand" in ran.stdout


ISLAND = """
import numpy
from onnx import helper
import onnxruntime, provider

onnxruntime.register_execution_provider_library("tenon", str(provider.library()))
# The device has no kernel for `HannWindow`.
nodes = [helper.make_node("HannWindow", ["n"], ["w"]), helper.make_node("Neg", ["w"], ["y"])]
inputs = {"n": numpy.array(5)}
session = provider.session(provider.model(nodes, inputs, ["y"]), optimised=False)
session.run(None, inputs)
if hasattr(session, "get_provider_graph_assignment_info"):
    for part in session.get_provider_graph_assignment_info():
        if part.ep_name == provider.PROVIDER:
            print(*(node.op_type for node in part.get_nodes()))
"""


@pytest.mark.parametrize(
    ("memory", "nodes", "taken"),
    [("device", "", ""), ("device", "all", "Neg"), ("host", "", "Neg")],
)
def test_nodes_stay_on_the_cpu_where_copies_take_longer(
    memory: str, nodes: str, taken: str
) -> None:
    variables = {
        "TENON_ONNXRUNTIME_MEMORY": memory,
        "TENON_ONNXRUNTIME_NODES": nodes,
        "TENON_LOG": "info",
    }
    ran = provider.run(ISLAND, **variables)
    if hasattr(onnxruntime.InferenceSession, "get_provider_graph_assignment_info"):
        assert ran.stdout.strip() == taken
    reason = "ONNX Runtime computes Neg on its CPU, because of 1 tensor to copy"
    assert (reason in ran.stderr) == (not taken), ran.stderr
