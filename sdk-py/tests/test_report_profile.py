"""Profiles of ONNX Runtime, event by event, without it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tenon.report.onnxruntime.profile import Profile


def node(name: str, ts: float, dur: float, **about: Any) -> str:
    """Returns the line of a node; as of ONNX Runtime, numbers are text."""
    args = {
        "op_name": "Add",
        "provider": "Npu",
        "node_index": "0",
        "output_size": "8",
        "activation_size": "16",
        **about,
    }
    return line("Node", f"{name}_kernel_time", ts, dur, args)


def line(category: str, name: str, ts: float, dur: float, args: dict[str, Any] | None = None) -> str:
    """Returns the line of an event."""
    event = {"cat": category, "pid": 1, "tid": 2, "dur": dur, "ts": ts, "ph": "X", "name": name, "args": args or {}}
    return json.dumps(event) + ",\n"


def run(ts: float, dur: float) -> str:
    """Returns the line of a run."""
    return line("Session", "model_run", ts, dur)


def test_the_first_run_counts_only_if_it_is_the_only_one() -> None:
    lines = ["[\n", node("a", 10, 100), run(0, 200)]
    once = Profile.read(lines)
    assert once.runs == [pytest.approx(200e-6)]
    assert [(one.name, one.calls) for one in once.nodes] == [("a", 1)]
    assert once.nodes[0].seconds == pytest.approx(100e-6)
    lines += [node("a", 210, 10), node("b", 220, 5), run(200, 30), node("a", 240, 20), run(230, 40), "]\n"]
    found = Profile.read(lines)
    assert found.runs == pytest.approx([30e-6, 40e-6])
    assert [(one.name, one.calls) for one in found.nodes] == [("a", 2), ("b", 1)]
    assert found.nodes[0].seconds == pytest.approx(30e-6)
    assert (found.nodes[0].bytes, found.nodes[0].largest) == (16, 24)


def test_nodes_of_subgraphs_are_not_counted_twice() -> None:
    lines = [node("before", 0, 10), node("inner", 20, 10), node("inner", 30, 10), node("outer", 15, 50, op_name="Loop")]
    found = {one.name: one for one in Profile.read([*lines, node("after", 70, 10), run(0, 90)]).nodes}
    assert {name: round(one.seconds * 1e6) for name, one in found.items()} == {
        "before": 10,
        "inner": 20,
        "outer": 30,
        "after": 10,
    }


def test_times_of_the_device_are_those_of_its_nodes() -> None:
    kernel = line("Kernel", "Add", 205, 7, {"parent": "a_kernel_time"})
    early = line("Kernel", "Add", 5, 100, {"parent": "a_kernel_time"})
    other = line("Kernel", "Add", 206, 9, {"parent": "c_kernel_time"})
    lines = [node("a", 0, 10), run(0, 20), node("a", 200, 10), run(200, 20), early, kernel, other]
    (one,) = Profile.read(lines).nodes
    assert one.device_seconds == pytest.approx(7e-6)


def test_a_profile_may_begin_late_and_end_early() -> None:
    lines = [node("a", 0, 10), run(0, 20), node("b", 200, 10), run(200, 20), node("c", 300, 10)[:-30]]
    assert [one.name for one in Profile.read(lines, mark=100).nodes] == ["b"]
    assert Profile.read(lines, mark=400).nodes == []
    # A process that was killed in its first run.
    assert [one.name for one in Profile.read([node("a", 0, 10), "{"]).nodes] == ["a"]


@pytest.mark.parametrize(
    ("about", "is_of_shapes"),
    [
        ({"op_name": "Shape", "input_type_shape": [{"float": [1000, 1000]}]}, True),
        ({"op_name": "Gather", "input_type_shape": [{"int64": [4]}, {"int64": []}]}, True),
        ({"op_name": "Gather", "input_type_shape": [{"int64": [400]}], "activation_size": "3200"}, False),
        ({"op_name": "Gather", "input_type_shape": [{"float": [4]}, {"int64": []}]}, False),
        ({"op_name": "Custom", "input_type_shape": ""}, False),
    ],
)
def test_computations_of_shapes_are_recognised(about: dict[str, Any], is_of_shapes: bool) -> None:
    (one,) = Profile.read([node("a", 0, 10, **about), run(0, 20)]).nodes
    assert one.is_of_shapes == is_of_shapes


def test_copies_have_directions() -> None:
    to_host = node("Memcpy", 0, 10, op_name="MemcpyToHost", output_size="64")
    to_device = node("Memcpy_token", 10, 5, op_name="MemcpyFromHost", output_size="128")
    total = Profile.read([to_host, to_device, run(0, 20)]).copies()
    assert (total.calls, total.to_host, total.to_device) == (2, 64, 128)
    assert total.seconds == pytest.approx(15e-6)
