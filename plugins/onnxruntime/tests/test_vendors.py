"""Providers of other devices: the examples in C and Rust, whose addresses the host cannot read.

They are the libraries that PaddlePaddle loads in its tests. Each runs in a program of its own,
because a crash must not end the tests. `TENON_EXAMPLES` names the folder with them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import provider

PROGRAM = """
import os, sys
import numpy, onnxruntime
from onnx import helper
import provider

library, provider.PROVIDER, wanted, fewer = sys.argv[1:]
if os.environ["TENON_ONNXRUNTIME_NODES"] != "all":
    wanted = fewer
onnxruntime.register_execution_provider_library("vendor", library)
(device,) = provider.devices()
assert device.ep_metadata["version"] == "0.1.0"
x = provider.random(1, 3, 8, 8)
nodes = [
    helper.make_node("Conv", ["x", "w"], ["c"], pads=[1] * 4),
    helper.make_node("Relu", ["c"], ["r"]),
    helper.make_node("Add", ["r", "r"], ["a"]),
    helper.make_node("Softmax", ["a"], ["s"]),
    helper.make_node("Mul", ["s", "a"], ["y"]),
]
model = provider.model(nodes, {"x": x}, ["y"], {"w": provider.random(4, 3, 3, 3)})
expected = provider.session(model, on_device=False).run(None, {"x": x})[0]
for optimised in (False, True):
    session = provider.session(model, optimised=optimised)
    for _ in range(20):
        result = session.run(None, {"x": x})[0]
        numpy.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)
    parts = session.get_provider_graph_assignment_info()
    own = [part for part in parts if part.ep_name == provider.PROVIDER]
    taken = [node.op_type for part in own for node in part.get_nodes()]
    assert " ".join(taken) == wanted, taken
del session, parts, own
onnxruntime.unregister_execution_provider_library("vendor")
"""


@pytest.mark.parametrize(
    ("library", "name", "taken", "fewer"),
    [
        (
            "c_operators/libc_operators.so",
            "CNpuExecutionProvider",
            "Conv Relu Add",
            "Conv Relu Add",
        ),
        # Two short nodes between others are not worth two copies.
        ("operators/libexample_rust_operators.so", "MyNpuExecutionProvider", "Relu Add", ""),
    ],
)
@pytest.mark.parametrize("nodes", ["", "all"])
def test_library_for_paddle_runs_here_too(
    library: str, name: str, taken: str, fewer: str, nodes: str
) -> None:
    path = Path(os.environ["TENON_EXAMPLES"]) / library
    arguments = (str(path), name, taken, fewer)
    provider.run(PROGRAM, *arguments, TENON_ONNXRUNTIME_NODES=nodes)
