"""Cases about sessions: how they are made, and how they live side by side."""

from __future__ import annotations

import gc
import json
import tempfile
import threading
from pathlib import Path

import numpy
from host import (
    HEADER,
    Host,
    case,
    chain,
    difference,
    expect,
    fail,
    of_arrays,
    of_chain,
    pair,
    random,
    require,
    said,
    skip,
)
from models import Node

SESSIONS = 30
GROWTH = 15 << 20
"""Bytes that a process may grow while sessions with 1 MiB of weights each come and go."""


@case(
    "session.made",
    "a session has the provider that the program chose",
    f"{HEADER}, `OrtEpFactory::CreateEp`",
    "required",
)
def made(host: Host) -> None:
    inputs = pair(2, 3)
    session = host.session(of_arrays(chain(), inputs, {"y": "float32"}))
    providers = session.get_providers()
    require(host.device().ep_name in providers, f"the session has {', '.join(providers)} only")
    expect(session.run(None, inputs)[0], of_chain(inputs), "Relu(a + b) * a")


@case(
    "session.not_optimised",
    "a model that ONNX Runtime does not optimise has the same results",
    f"{HEADER}, `OrtEp::GetCapability`",
)
def not_optimised(host: Host) -> None:
    inputs = pair(2, 3)
    session = host.session(of_arrays(chain(), inputs, {"y": "float32"}), is_optimised=False)
    expect(session.run(None, inputs)[0], of_chain(inputs), "Relu(a + b) * a")


@case(
    "session.nothing_taken",
    "a model of which the provider takes nothing runs on the CPU",
    f"{HEADER}, `OrtEp::GetCapability`",
    "required",
)
def nothing_taken(host: Host) -> None:
    inputs = {"x": numpy.array(["a", "b", "c"], object), "places": numpy.array([2, 0])}
    nodes = [Node("Gather", ["x", "places"], ["y"])]
    session = host.session(of_arrays(nodes, inputs, {"y": "str"}))
    expect(session.run(None, inputs)[0], numpy.array(["c", "a"], object), "texts")


@case(
    "session.only_device",
    "a session that forbids the CPU fails, or has the results of the device",
    "`session.disable_cpu_ep_fallback` in onnxruntime_session_options_config_keys.h",
)
def only_device(host: Host) -> None:
    inputs = pair(2, 3)
    model = of_arrays(chain(), inputs, {"y": "float32"})
    try:
        session = host.session(model, entries={"session.disable_cpu_ep_fallback": "1"})
    except Exception as error:
        skip(f"the provider does not take all nodes: {said(error)}")
    expect(session.run(None, inputs)[0], of_chain(inputs), "Relu(a + b) * a")


@case(
    "session.unknown_option",
    "an option that the provider does not know is an error or is ignored",
    f"{HEADER}, `OrtEpFactory::CreateEp`",
)
def unknown_option(host: Host) -> None:
    inputs = pair(2, 3)
    model = of_arrays(chain(), inputs, {"y": "float32"})
    try:
        session = host.session(model, settings={"tenon_no_such_option": "1"})
        expect(session.run(None, inputs)[0], of_chain(inputs), "with the option")
    except Exception as error:
        if not str(error).strip():
            fail("the session fails without a reason")
    session = host.session(model)
    expect(session.run(None, inputs)[0], of_chain(inputs), "after it, without the option")


@case(
    "session.two",
    "sessions that are alive at once have results of their own",
    f"{HEADER}, `OrtEpFactory::CreateEp`",
)
def two(host: Host) -> None:
    given = [pair(4, seed=1), pair(2, 3, seed=2)]
    sessions = [host.session(of_arrays(chain(), inputs, {"y": "float32"})) for inputs in given]
    for turn in range(3):
        for session, inputs in zip(sessions, given):
            expect(session.run(None, inputs)[0], of_chain(inputs), f"in turn {turn}")


@case(
    "session.one_ends",
    "the end of a session leaves others as they are",
    f"{HEADER}, `OrtEpFactory::ReleaseEp`",
)
def one_ends(host: Host) -> None:
    inputs = pair(300)
    model = of_arrays(chain(), inputs, {"y": "float32"})
    session, other = host.session(model), host.session(model)
    other.run(None, inputs)
    del other
    gc.collect()
    expect(session.run(None, inputs)[0], of_chain(inputs), "after the end of another session")


@case(
    "session.threads",
    "several threads can run one session at once",
    f"{HEADER}, `OrtEp::IsConcurrentRunSupported`",
)
def threads(host: Host) -> None:
    shapes = {"a": ["n"], "b": ["n"]}
    session = host.session(of_arrays(chain(), pair(1), {"y": "float32"}, shapes=shapes))
    wrong: list[str] = []

    def run(number: int) -> None:
        for turn in range(25):
            inputs = pair(1 + 37 * number + turn, seed=number)
            try:
                found = difference(session.run(None, inputs)[0], of_chain(inputs))
            except Exception as error:
                found = str(error)
            if found is not None:
                wrong.append(f"thread {number}, run {turn}: {found}")
                return

    started = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if wrong:
        fail(wrong[0])


@case(
    "session.memory",
    "what a session has reserved is free after its end",
    f"{HEADER}, `OrtEpFactory::ReleaseEp`",
)
def memory(host: Host) -> None:
    weights = {"w": random(256, 1024)}
    inputs = {"x": random(256, 1024)}
    nodes = [Node("Add", ["x", "w"], ["sum"]), Node("Relu", ["sum"], ["y"])]
    model = of_arrays(nodes, inputs, {"y": "float32"}, weights)

    def use(count: int) -> None:
        for _ in range(count):
            host.session(model).run(None, inputs)
            gc.collect()

    # The first ones prepare what stays.
    use(5)
    before = resident()
    use(SESSIONS)
    grown = resident() - before
    require(grown < GROWTH, f"{SESSIONS} sessions have left {grown >> 20} MiB")


def resident() -> int:
    """Returns the bytes of the process that are in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@case(
    "session.profile",
    "a profile changes no result, and has all nodes that ran",
    f"{HEADER}, `OrtEp::CreateProfiler`",
)
def profile(host: Host) -> None:
    inputs = pair(2, 3)
    with tempfile.TemporaryDirectory() as folder:
        model = of_arrays(chain(), inputs, {"y": "float32"})
        session = host.session(model, profile=f"{folder}/profile")
        for _ in range(2):
            expect(session.run(None, inputs)[0], of_chain(inputs), "with a profile")
        try:
            events = json.loads(Path(session.end_profiling()).read_text())
        except ValueError as error:
            fail(f"the profile is no JSON: {error}")
        expect(session.run(None, inputs)[0], of_chain(inputs), "after the profile")
    nodes = [event for event in events if event.get("cat") == "Node"]
    require(bool(nodes), "the profile has no node")
