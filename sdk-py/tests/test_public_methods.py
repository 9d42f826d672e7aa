"""The docstrings of the bindings name what calls each of them in the public API. This is true."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import tenon
from tenon._native import functions


def named() -> dict[str, str]:
    """Returns the names in the public API, by the function of the bindings."""
    found = {}
    for name, function in vars(functions).items():
        text = re.search(r"In the public API: ``tenon\.([\w.]+)``\.", getattr(function, "__doc__", None) or "")
        if text and not name.startswith("_"):
            found[name] = text[1]
    return found


def buffer(device: tenon.Device) -> tenon.Buffer:
    return tenon.Buffer.from_array(np.zeros(8, dtype="float32"), device=device)


def close_buffers(device: tenon.Device) -> None:
    for make in [tenon.pinned, tenon.unified]:
        make(8, device=device).close()


def close_event(device: tenon.Device) -> None:
    event = device.create_event()
    event.record()
    event.close()


def elapsed(device: tenon.Device) -> None:
    with device.create_stream() as stream:
        start, end = stream.record_event(), stream.record_event()
        end.synchronize()
        start.elapsed_time(end)


def on_stream(action: Callable[[tenon.Device, tenon.Stream], object]) -> Callable[[tenon.Device], object]:
    def run(device: tenon.Device) -> None:
        with device.create_stream() as stream:
            action(device, stream)
            stream.synchronize()

    return run


def alone(action: Callable[[tenon.Communicator, tenon.Buffer], object]) -> Callable[[tenon.Device], object]:
    """Runs an action in a group of one process."""

    def run(device: tenon.Device) -> None:
        with tenon.Communicator("127.0.0.1:1", 0, 1, device=device) as communicator:
            action(communicator, buffer(device))

    return run


def to_itself(communicator: tenon.Communicator, data: tenon.Buffer) -> None:
    with communicator.group():
        communicator.send(data, 0)
        communicator.recv(buffer(communicator.device), 0)


#: What is done with a device, by the name in the public API and whether it gets a stream.
ACTIONS: dict[tuple[str, bool], Callable[[tenon.Device], object]] = {
    ("Buffer.close", False): close_buffers,
    ("Buffer.copy", False): lambda device: buffer(device).copy(),
    ("Buffer.copy", True): on_stream(lambda device, stream: buffer(device).copy(stream=stream)),
    ("Buffer.copy_from", False): lambda device: buffer(device).copy_from(np.ones(8, dtype="float32")),
    ("Buffer.copy_from", True): on_stream(
        lambda device, stream: buffer(device).copy_from(tenon.pinned(8, device=device), stream=stream)
    ),
    ("Buffer.copy_to", False): lambda device: buffer(device).copy_to(np.ones(8, dtype="float32")),
    ("Buffer.copy_to", True): on_stream(
        lambda device, stream: buffer(device).copy_to(tenon.pinned(8, device=device), stream=stream)
    ),
    ("Buffer.fill", False): lambda device: buffer(device).fill(0),
    ("Buffer.fill", True): on_stream(lambda device, stream: buffer(device).fill(1, stream=stream)),
    ("Buffer.to", False): lambda device: buffer(device).to(tenon.device("cpu:1")),
    ("Buffer.to", True): on_stream(lambda device, stream: buffer(device).to(tenon.device("cpu:1"), stream=stream)),
    ("Communicator.all_gather", False): alone(lambda group, data: group.all_gather(data)),
    ("Communicator.all_reduce", False): alone(lambda group, data: group.all_reduce(data)),
    ("Communicator.all_to_all", False): alone(lambda group, data: group.all_to_all([data])),
    ("Communicator.broadcast", False): alone(lambda group, data: group.broadcast(data)),
    ("Communicator.close", False): alone(lambda group, data: None),
    ("Communicator.group", False): alone(to_itself),
    ("Communicator.name", False): alone(lambda group, data: group.name),
    ("Communicator.recv", False): alone(to_itself),
    ("Communicator.reduce", False): alone(lambda group, data: group.reduce(data)),
    ("Communicator.reduce_scatter", False): alone(lambda group, data: group.reduce_scatter(data.reshape(1, 8))),
    ("Communicator.send", False): alone(to_itself),
    ("Device.create_event", False): lambda device: device.create_event().handle,
    ("Device.create_stream", False): lambda device: device.create_stream(),
    ("Device.memory_stats", False): lambda device: device.memory_stats(),
    ("Device.synchronize", False): lambda device: device.synchronize(),
    ("Event.close", False): close_event,
    ("Event.elapsed_time", False): elapsed,
    ("Event.query", False): lambda device: device.create_event().record().query(),
    ("Event.record", False): lambda device: device.create_event().record(),
    ("Event.synchronize", False): lambda device: device.create_event().record().synchronize(),
    ("Plugin.devices", False): lambda device: device.plugin.devices(),
    ("Stream.add_callback", True): on_stream(lambda device, stream: stream.add_callback(int)),
    ("Stream.close", False): lambda device: device.create_stream().close(),
    ("Stream.query", True): on_stream(lambda device, stream: stream.query()),
    ("Stream.synchronize", True): on_stream(lambda device, stream: stream.synchronize()),
    ("Stream.wait_event", True): on_stream(lambda device, stream: stream.wait_event(device.create_event().record())),
    ("pinned", False): lambda device: tenon.pinned(8, device=device),
    ("unified", False): lambda device: tenon.unified(8, device=device),
}


@pytest.mark.parametrize(("function", "method"), named().items())
def test_method_calls_the_function(
    function: str, method: str, device: tenon.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    foreign = getattr(functions, f"_{function}")

    def spy(*arguments: object) -> object:
        called.append(function)
        return foreign(*arguments)

    monkeypatch.setattr(functions, f"_{function}", spy)
    actions = [action for (name, _), action in ACTIONS.items() if name == method]
    assert actions, f"no action for {method}"
    for action in actions:
        action(device)
    assert called, f"{method} does not call {function}"


def test_every_action_belongs_to_a_function() -> None:
    assert {method for method, _ in ACTIONS} == set(named().values())
