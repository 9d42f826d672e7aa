"""What the sessions of a program mean, in order of cost, with advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from tenon.report.comparison import Comparison, Difference, pairs
from tenon.report.figures import Total, Where, milliseconds, of_total, of_where
from tenon.report.onnxruntime.profile import CPU, TO_HOST, Node, Profile
from tenon.report.run import Run


@dataclass
class Operator:
    """The nodes of an operator with the same types that ran on the same provider."""

    operator: str
    types: str
    provider: str
    nodes: list[Node]
    advice: str = ""

    @property
    def calls(self) -> int:
        """The calls of all nodes."""
        return sum(node.calls for node in self.nodes)

    @property
    def seconds(self) -> float:
        """The time of all calls, on the host."""
        return sum(node.seconds for node in self.nodes)

    @property
    def device_seconds(self) -> float:
        """The time of all calls on the device, if the provider measures it."""
        return sum(node.device_seconds for node in self.nodes)


@dataclass
class NodeDifference(Difference):
    """The result of a node that differs from ONNX Runtime's CPU provider."""

    node: str


@dataclass
class Session:
    """A session, or several that one line made for one model."""

    model: str
    where: Where | None
    wanted: list[str]
    """The providers of devices that the program asked for."""
    providers: list[str]
    """The providers that it has."""
    error: str | None
    """Why it could not be made with the device."""
    sessions: int = 1
    runs: int = 0
    seconds: float = 0.0
    """The time of all runs, as the program sees it."""
    first: float | None = None
    """The time of the first run."""
    usual: float | None = None
    """The median time of runs without a profile."""
    profile: Profile = field(default_factory=Profile)
    comparison: Comparison[NodeDifference] | None = None
    on_device: list[Operator] = field(default_factory=list)
    on_cpu: list[Operator] = field(default_factory=list)
    of_shapes: list[Operator] = field(default_factory=list)
    """On the CPU, as they may compute with shapes only."""

    @property
    def profiled(self) -> int:
        """The number of runs with the times of nodes."""
        return len(self.profile.runs)

    @property
    def has_device(self) -> bool:
        """Whether it has a provider other than that of the CPU."""
        return any(provider != CPU for provider in self.providers)

    def each(self, seconds: float) -> float:
        """Returns the time in one run of a time in all profiled runs."""
        return seconds / max(self.profiled, 1)

    @property
    def usual_profiled(self) -> float | None:
        """The median time of profiled runs, which take longer than others."""
        return median(self.profile.runs) if self.profile.runs else None

    @property
    def copies(self) -> Total:
        """The copies between the memories of providers."""
        return self.profile.copies()

    @property
    def outside(self) -> float:
        """The time of profiled runs outside of nodes: inputs, outputs, waits, and the profile."""
        return max(sum(self.profile.runs) - sum(node.seconds for node in self.profile.nodes), 0.0)

    def to_json(self) -> dict[str, Any]:
        """Returns the session as JSON, as the guide describes it."""
        return {
            "model": self.model,
            **of_where(self.where),
            "wanted": self.wanted,
            "providers": self.providers,
            "error": self.error,
            "sessions": self.sessions,
            "runs": self.runs,
            "milliseconds": milliseconds(self.seconds),
            "first_milliseconds": None if self.first is None else milliseconds(self.first),
            "usual_milliseconds": None if self.usual is None else milliseconds(self.usual),
            "profiled_runs": self.profiled,
            "profiled_milliseconds": milliseconds(sum(self.profile.runs)),
            "outside_milliseconds": milliseconds(self.outside),
            "on_device": [of_operator(row) for row in self.on_device],
            "on_cpu": [of_operator(row) for row in self.on_cpu],
            "of_shapes": [of_operator(row) for row in self.of_shapes],
            "copies": {
                **of_total(self.copies),
                "nodes": [of_node(node) for node in self.profile.nodes if node.is_copy],
            },
            "comparison": of_comparison(self.comparison),
        }


@dataclass
class Report:
    """Where the sessions of a program ran."""

    version: str
    devices: list[str]
    """The providers of devices that ONNX Runtime lists."""
    is_complete: bool
    """Whether the process reached its end, where profiles are written."""
    sessions: list[Session]

    @property
    def first(self) -> tuple[Session, Operator] | None:
        """The costliest operator on the CPU of a session with a device."""
        found = [(session, row) for session in self.sessions if session.wanted for row in session.on_cpu]
        return max(found, key=lambda item: item[1].seconds, default=None)

    @property
    def differs(self) -> bool:
        """Whether a comparison has found a difference."""
        return any(session.comparison and session.comparison.differences for session in self.sessions)

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON, as the guide describes it."""
        return {
            "version": self.version,
            "devices": self.devices,
            "complete": self.is_complete,
            "sessions": [session.to_json() for session in self.sessions],
        }


def of_node(node: Node) -> dict[str, Any]:
    """Returns a node as JSON."""
    return {
        "name": node.name,
        "operator": node.operator,
        "provider": node.provider,
        "inputs": node.inputs,
        "outputs": node.outputs,
        "calls": node.calls,
        "milliseconds": milliseconds(node.seconds),
        "device_milliseconds": milliseconds(node.device_seconds),
        "output_bytes": node.bytes,
    }


def of_operator(row: Operator) -> dict[str, Any]:
    """Returns an operator as JSON."""
    return {
        "operator": row.operator,
        "types": row.types,
        "provider": row.provider,
        "calls": row.calls,
        "milliseconds": milliseconds(row.seconds),
        "device_milliseconds": milliseconds(row.device_seconds),
        "advice": row.advice,
        "nodes": [of_node(node) for node in row.nodes],
    }


def of_comparison(comparison: Comparison[NodeDifference] | None) -> dict[str, Any] | None:
    """Returns a comparison as JSON."""
    if comparison is None:
        return None
    return {**vars(comparison), "differences": [vars(row) for row in comparison.differences]}


def build(run: Run) -> Report | None:
    """Makes the report on ONNX Runtime, if the program has imported it."""
    facts = run.facts.get("onnxruntime")
    if facts is None:
        return None
    sessions: dict[tuple[str, Where | None, tuple[str, ...]], Session] = {}
    for number, made in enumerate(facts["sessions"]):
        where = None if made["where"] is None else Where(*made["where"])
        key = made["model"], where, tuple(made["providers"])
        session = sessions.get(key)
        if session is None:
            session = sessions[key] = Session(made["model"], where, made["wanted"], made["providers"], made["error"])
        else:
            session.sessions += 1
        add(session, made, run.profiles.get(number))
    for session in sessions.values():
        sort(session)
    return Report(facts["version"], facts["devices"], facts["complete"], list(sessions.values()))


def add(session: Session, made: dict[str, Any], profile: Profile | None) -> None:
    """Adds what was recorded of one session."""
    session.runs += made["runs"]
    session.seconds += made["seconds"]
    session.first = made["first"] if session.first is None else session.first
    session.usual = made["usual"] if session.usual is None else session.usual
    if profile is not None:
        session.profile.nodes += profile.nodes
        session.profile.runs += profile.runs
    found = made["comparison"]
    if found is not None and session.comparison is None:
        rows = [NodeDifference(**{**row, "inputs": pairs(row["inputs"])}) for row in found["differences"]]
        session.comparison = Comparison(found["operators"], found["calls"], rows, found["failed"])


def sort(session: Session) -> None:
    """Groups the nodes of a session by operator, in order of cost, and says what to do about those on the CPU."""
    rows: dict[tuple[str, str, str], Operator] = {}
    for node in session.profile.nodes:
        if not node.is_copy:
            key = node.operator, node.types, node.provider
            rows.setdefault(key, Operator(*key, nodes=[])).nodes.append(node)
    ordered = sorted(rows.values(), key=lambda row: (-row.seconds, row.operator, row.types))
    for row in ordered:
        row.nodes.sort(key=lambda node: -node.seconds)
    session.on_device = [row for row in ordered if row.provider != CPU]
    for row in (row for row in ordered if row.provider == CPU):
        if session.has_device and all(node.is_of_shapes for node in row.nodes):
            session.of_shapes.append(row)
        else:
            session.on_cpu.append(row)
            row.advice = advice(row, session) if session.has_device else ""


def advice(row: Operator, session: Session) -> str:
    """Returns what to do about an operator that the provider did not take."""
    others = [other for other in session.on_device if other.operator == row.operator]
    if any(other.types == row.types for other in others):
        return f"the provider takes other nodes `{row.operator}` with these types: look at attributes and shapes"
    if others:
        types = "; ".join(dict.fromkeys(other.types for other in others))
        return f"add {row.types} to the kernel `{row.operator}`: the provider takes nodes with {types}"
    return f"write a kernel `{row.operator}`, if the provider has none: it took no node of this operator"


def advice_on_copies(session: Session) -> str:
    """Returns what to do about the copies between the memories of providers."""
    causes = sorted(session.on_cpu, key=lambda row: -row.seconds)
    if not causes:
        return ""
    names = ", ".join(f"`{name}`" for name in dict.fromkeys(row.operator for row in causes[:3]))
    return f"the device and the CPU exchange tensors around {names}"


def direction(node: Node) -> str:
    """Returns where a copy goes."""
    return "to the host" if node.operator == TO_HOST else "to the device"


def copies(session: Session) -> Sequence[Node]:
    """Returns the copies in order of cost."""
    return sorted((node for node in session.profile.nodes if node.is_copy), key=lambda node: -node.seconds)
