"""The profile of a session: the device adds the times of its nodes."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from onnx import helper

import provider
from provider import model, random, session

RUNS = 3


def events(running: Any) -> list[dict[str, Any]]:
    """Ends the profile of a session and returns its events."""
    found = json.loads(Path(running.end_profiling()).read_text())
    assert isinstance(found, list)
    return found


def network() -> Any:
    """Makes a model with two nodes, which have names."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["y"], name="second"),
    ]
    return model(nodes, {"x": random(64, 256)}, ["y"], {"w": random(256, 256)})


@pytest.mark.parametrize("threads", [1, 4])
def test_profiles_have_the_nodes_of_the_device(tmp_path: Path, threads: int) -> None:
    running = session(network(), optimised=False, profile=tmp_path / "profile")

    def work() -> None:
        for _ in range(RUNS):
            running.run(None, {"x": random(64, 256)})

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    every = events(running)
    ours = [event for event in every if event["args"].get("parent")]
    if provider.minor() < 25:
        # Providers have no profilers there.
        assert not ours
        return
    assert len(ours) == 2 * RUNS * threads
    hosts = {
        name: [event for event in every if event["name"] == name]
        for name in {e["args"]["parent"] for e in ours}
    }
    for operator, node in (("MatMul", "first"), ("Relu", "second")):
        own = [event for event in ours if event["args"]["operator"] == operator]
        assert len(own) == RUNS * threads
        for event in own:
            assert (event["name"], event["cat"], event["ph"]) == (operator, "Kernel", "X")
            assert event["args"]["parent"] == f"{node}_kernel_time"
            assert event["args"]["device"] == "0"
            assert ("stream" in event["args"]) == provider.has_own_memory()
            # Work begins after the host's event has begun, but a stream may do it later.
            assert any(host["ts"] <= event["ts"] + 1 for host in hosts[event["args"]["parent"]])
    # Work on a stream runs in its order, and so does that of a thread.
    for lane in {(event["pid"], event["tid"]) for event in ours}:
        own = sorted((e for e in ours if (e["pid"], e["tid"]) == lane), key=lambda e: e["ts"])
        for one, other in zip(own, own[1:], strict=False):
            assert one["ts"] + one["dur"] <= other["ts"] + 1


def test_sessions_without_a_profile_measure_nothing(tmp_path: Path) -> None:
    profiled = session(network(), optimised=False, profile=tmp_path / "profile")
    other = session(network(), optimised=False)
    profiled.run(None, {"x": random(64, 256)})
    other.run(None, {"x": random(64, 256)})
    ours = [event for event in events(profiled) if event["args"].get("parent")]
    assert len(ours) == (2 if provider.minor() >= 25 else 0)
    # The session goes on after its profile.
    profiled.run(None, {"x": random(64, 256)})
