"""Reads the profile of a session of ONNX Runtime, and adds up what its nodes took.

A profile is a list of events in JSON, with one event in each line. Times are in microseconds since the session began to
profile. The event of a node is written when the node ends, so the nodes of its subgraphs come before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tenon.report.figures import Total

NODE = "_kernel_time"
"""What the names of nodes end with."""
CPU = "CPUExecutionProvider"
TO_HOST = "MemcpyToHost"
TO_DEVICE = "MemcpyFromHost"
"""The operators of the copies that ONNX Runtime adds to a model."""
SMALL = 512
"""The bytes up to which integers are taken for those of a shape."""
OF_SHAPES = {"int64", "int32", "bool"}


class Key(NamedTuple):
    """What tells nodes apart. Nodes of a subgraph have numbers of their own, and names may be empty."""

    name: str
    operator: str
    provider: str
    number: str


@dataclass
class Node:
    """A node that ran."""

    name: str
    operator: str
    provider: str
    inputs: list[tuple[str, list[int]]] = field(default_factory=list)
    """The types and shapes of its inputs in its first run."""
    outputs: list[tuple[str, list[int]]] = field(default_factory=list)
    calls: int = 0
    seconds: float = 0.0
    """Without its subgraphs. For a device, the time until the work was queued."""
    device_seconds: float = 0.0
    """As the provider measured it, if it does."""
    bytes: int = 0
    """The bytes of its outputs in all calls."""
    largest: int = 0
    """The bytes of its inputs and outputs in one call, at most."""

    @property
    def is_copy(self) -> bool:
        """Whether it copies between the memories of providers."""
        return self.operator in (TO_HOST, TO_DEVICE)

    @property
    def types(self) -> str:
        """The types of its inputs, or of its outputs if it has none."""
        values = self.inputs or self.outputs
        return ", ".join(dict.fromkeys(kind for kind, _ in values))

    @property
    def is_of_shapes(self) -> bool:
        """Whether it may compute with shapes only, which ONNX Runtime leaves to the CPU."""
        kinds = {kind for kind, _ in (*self.inputs, *self.outputs)}
        if self.operator in ("Shape", "Size"):
            return True
        return bool(kinds) and kinds <= OF_SHAPES and self.largest <= SMALL


@dataclass
class Profile:
    """The nodes and the runs of a session."""

    nodes: list[Node] = field(default_factory=list)
    runs: list[float] = field(default_factory=list)
    """The seconds of each run that was profiled."""

    @property
    def has_device_times(self) -> bool:
        """Whether the provider has measured its work."""
        return any(node.device_seconds for node in self.nodes)

    def copies(self) -> Total:
        """Returns the copies between the memories of providers."""
        total = Total()
        for node in self.nodes:
            if node.is_copy:
                total.calls += node.calls
                total.seconds += node.seconds
                if node.operator == TO_HOST:
                    total.to_host += node.bytes
                else:
                    total.to_device += node.bytes
        return total

    @classmethod
    def read(cls, lines: Iterable[str], mark: float | None = None) -> Profile:
        """Reads a profile, from a time in microseconds on. A profile whose end is missing has what it has.

        The first run prepares much that later ones need not, so it counts only if it is the only one.
        """
        runs: list[float] = []
        first: dict[Key, Node] = {}
        found: dict[Key, Node] = {}
        ended: dict[Any, list[tuple[float, float]]] = {}
        on_device: list[tuple[float, str, float]] = []
        begin = 0.0
        for event in events(lines, mark):
            name, took, about = event["name"], event["dur"] / 1e6, event["args"]
            if event["cat"] == "Node" and name.endswith(NODE):
                inner = within(ended.setdefault(event["tid"], []), event["ts"], event["dur"]) / 1e6
                take(found, name[: -len(NODE)], about, took - inner)
            elif event["cat"] == "Session" and name == "model_run":
                runs.append(took)
                ended.pop(event["tid"], None)
                if len(runs) == 1:
                    first, found, begin = found, {}, event["ts"] + event["dur"]
            elif "parent" in about:
                on_device.append((event["ts"], about["parent"], took))
        if len(runs) < 2:
            found, begin = first or found, 0.0
        nodes = {node.name + NODE: node for node in found.values()}
        for time, parent, took in on_device:
            if time >= begin and parent in nodes:
                nodes[parent].device_seconds += took
        return cls(list(found.values()), runs[1:] or runs)


def events(lines: Iterable[str], mark: float | None) -> Iterator[dict[str, Any]]:
    """Returns the events of a profile from a time on."""
    for line in lines:
        text = line.strip().rstrip(",")
        if text.startswith("{"):
            try:
                event: dict[str, Any] = json.loads(text)
            except ValueError:
                # The last line of a process that was killed.
                continue
            if mark is None or event["ts"] >= mark:
                yield event


def within(ended: list[tuple[float, float]], begin: float, took: float) -> float:
    """Returns the time of the events of a thread that ran within one that ends now, which takes their place."""
    inner = 0.0
    while ended and ended[-1][0] >= begin:
        inner += ended.pop()[1]
    ended.append((begin, took))
    return inner


def take(found: dict[Key, Node], name: str, about: dict[str, Any], seconds: float) -> None:
    """Adds a call of a node."""
    provider = about.get("provider", "")
    key = Key(name, about.get("op_name", ""), provider, about.get("node_index", ""))
    node = found.get(key)
    if node is None:
        node = Node(name, key.operator, provider)
        node.inputs, node.outputs = (values(about.get(f"{end}_type_shape")) for end in ("input", "output"))
        found[key] = node
    outputs = int(about.get("output_size", 0))
    node.calls += 1
    node.seconds += max(seconds, 0.0)
    node.bytes += outputs
    node.largest = max(node.largest, outputs + int(about.get("activation_size", 0)))


def values(described: Any) -> list[tuple[str, list[int]]]:
    """Returns the types and shapes of inputs or outputs. Older releases have a text if there are none."""
    if not isinstance(described, list):
        return []
    return [(kind, list(shape)) for value in described for kind, shape in value.items()]
