"""The threads of a session, which compute parts of the device's operators."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest
from onnx import helper

import provider
from models import MODELS
from provider import model, random, session


def seconds_of_threads() -> dict[str, float]:
    """Returns the processor time of each thread of the process, by its number."""
    seconds = {}
    for task in Path("/proc/self/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        seconds[task.name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return seconds


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="a machine with one core")
def test_all_threads_compute() -> None:
    x, weights = random(512, 1024), {"w": random(1024, 1024)}
    of_test = model([helper.make_node("MatMul", ["x", "w"], ["y"])], {"x": x}, ["y"], weights)
    before = set(seconds_of_threads())
    made = session(of_test, threads=2, spinning=False)
    mine = set(seconds_of_threads()) - before
    for _ in range(100):
        made.run(None, {"x": x})
        if not provider.has_own_memory() and any(
            seconds_of_threads()[name] > 0.05 for name in mine
        ):
            return
    # With memory of its own, the device computes with its own threads.
    assert provider.has_own_memory(), "the threads of the session have computed nothing"
    assert all(seconds_of_threads()[name] < 0.05 for name in mine)


@pytest.mark.parametrize("name", MODELS)
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    of_test, inputs = MODELS[name](16)
    one, two = (session(of_test, threads=threads).run(None, inputs) for threads in (1, 2))
    for first, second in zip(one, two, strict=True):
        assert numpy.array_equal(first, second)
