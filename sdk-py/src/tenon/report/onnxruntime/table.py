"""The report on ONNX Runtime as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from tenon.report.comparison import failures, summary
from tenon.report.figures import Total
from tenon.report.onnxruntime.profile import Node
from tenon.report.onnxruntime.results import Operator, Report, Session, advice_on_copies, copies, direction
from tenon.report.text import ROWS, place, plural, rest, size, table, time

NODES = 5
"""Names of nodes for each operator."""
CPU = "ONNX Runtime's CPU provider"


def each(session: Session, seconds: float) -> str:
    """Returns the time in one run of a time in all."""
    return f"{session.each(seconds) * 1e3:,.3f}"


def title(session: Session) -> str:
    """Returns what a session is."""
    several = f", {session.sessions} sessions" if session.sessions > 1 else ""
    providers = ", ".join(session.providers) or "no provider"
    return f"{session.model} on {providers}{several}; {place(session.where)}"


def runs(session: Session) -> str:
    """Returns the runs of a session and their times."""
    if session.runs == 0:
        return "no run"
    first = "" if session.first is None else f", the first in {time(session.first)}"
    usual = "" if session.usual is None else f", usually in {time(session.usual)}"
    profiled = "" if session.usual_profiled is None else f", with the profile in {time(session.usual_profiled)}"
    return f"{plural(session.runs, 'run')}{first}{usual}{profiled}"


def sums(session: Session) -> Iterator[tuple[str, str]]:
    """Returns the sums of a session, with their names."""
    yield "runs", runs(session)
    if not session.profiled:
        return
    for name, rows in (("on the device", session.on_device), ("on the CPU", session.on_cpu)):
        yield name, nodes(session, rows)
    if session.of_shapes:
        yield "shapes", f"{nodes(session, session.of_shapes)}, on the CPU, as ONNX Runtime prefers"
    total = session.copies
    if total.calls:
        yield "copies", copied(session, total)
    yield "outside nodes", f"{each(session, session.outside)} ms a run: inputs, outputs, waits, and the profile"


def nodes(session: Session, rows: Sequence[Operator]) -> str:
    """Returns the number of nodes in rows, and their time."""
    number = sum(len(row.nodes) for row in rows) // session.sessions
    seconds = sum(row.seconds for row in rows)
    return f"{plural(number, 'node')}, {each(session, seconds)} ms a run"


def copied(session: Session, total: Total) -> str:
    """Returns what is copied in a run."""
    number = max(session.profiled, 1)
    return (
        f"{total.calls / number:,.3g} a run with {size(total.to_host // number)} to the host and "
        f"{size(total.to_device // number)} to the device, {each(session, total.seconds)} ms"
    )


def remarks(report: Report) -> Iterator[str]:
    """Returns what else there is to know."""
    if not report.is_complete:
        yield "The process ended at once, so ONNX Runtime left no profiles."
    if not report.sessions:
        yield "The program made no session."
    elif not any(session.wanted for session in report.sessions):
        listed = f"ONNX Runtime lists {', '.join(report.devices)}. " if report.devices else ""
        yield (
            f"The sessions use the CPU provider only. {listed}To give them a device, add --provider LIBRARY, or call "
            "SessionOptions.add_provider_for_devices."
        )


def remarks_on(session: Session) -> Iterator[str]:
    """Returns what else there is to know of a session."""
    missing = ", ".join(provider for provider in session.wanted if provider not in session.providers)
    if not session.providers:
        yield f"The session could not be made: {session.error}"
    elif missing:
        reason = "" if session.error is None else f" It failed: {session.error}"
        yield f"The program asked for {missing}, but ONNX Runtime made the session without it.{reason}"
    elif session.wanted and session.profiled and not session.on_device:
        yield f"{', '.join(session.wanted)} took no node of the model."
    if 0 < session.profiled < session.runs - session.sessions:
        yield f"The times of nodes are those of {session.profiled:,} of {session.runs:,} runs."
    elif session.runs and not session.profiled:
        yield "No run was profiled, so the nodes are not known."
    if session.profile.has_device_times:
        yield "The provider measures its work: the times of the device are in brackets."


def operator_table(session: Session, head: str, rows: Sequence[Operator], names: bool) -> Iterator[str]:
    """Returns a table of operators."""
    shown = rows[:ROWS]
    cells, notes = [], []
    for row in shown:
        on_device = f" ({each(session, row.device_seconds)})" if row.device_seconds else ""
        number = max(len(row.nodes) // session.sessions, 1)
        cells.append((row.operator, row.types, f"{number:,}", f"{row.calls:,}", each(session, row.seconds) + on_device))
        below = [row.advice] if row.advice else []
        if names:
            below += names_of(row.nodes)
        notes.append(below)
    yield from table((head, "types", "nodes", "calls", "ms a run"), cells, notes)
    yield from rest(len(rows))


def names_of(nodes: Sequence[Node]) -> list[str]:
    """Returns the names of nodes, as far as they have names."""
    names = list(dict.fromkeys(node.name for node in nodes if node.name))
    more = len(names) - NODES
    return [", ".join(names[:NODES]) + (f" and {more} more" if more > 0 else "")] if names else []


def copy_table(session: Session) -> Iterator[str]:
    """Returns the table of the copies between the memories of providers."""
    found = copies(session)
    cells = []
    for node in found[:ROWS]:
        value = " ".join(f"{kind} {shape}" for kind, shape in node.outputs)
        cells.append((direction(node), value, f"{node.calls:,}", size(node.bytes), each(session, node.seconds)))
    yield from table(("copied", "tensor", "calls", "bytes", "ms a run"), cells, [() for _ in cells])
    yield from rest(len(found))
    if advice_on_copies(session):
        yield f"    {advice_on_copies(session)}"


def comparison_list(session: Session) -> Iterator[str]:
    """Returns the nodes whose results differ from ONNX Runtime's CPU provider."""
    comparison = session.comparison
    if comparison is None:
        return
    yield summary(comparison, CPU, "node")
    for row in comparison.differences:
        yield f"{row.operator} ({row.node}): {row.values()}"
        yield f"    {row.arguments()}"
    yield from failures(comparison)


def render(report: Report, width: int) -> Iterator[str]:
    """Returns the lines of the report."""
    devices = ", ".join(report.devices) or "no device"
    yield f"ONNX Runtime {report.version}, {devices}"
    yield from wrapped(remarks(report), width)
    for session in report.sessions:
        yield ""
        yield title(session)
        found = list(sums(session))
        widest = max(len(name) for name, _ in found)
        for name, value in found:
            yield f"  {name.ljust(widest)}  {value}"
        yield from wrapped(remarks_on(session), width)
        if session.on_cpu and session.wanted:
            yield ""
            yield from operator_table(session, "on the CPU", session.on_cpu, names=True)
        if copies(session):
            yield ""
            yield from copy_table(session)
        if session.on_device:
            yield ""
            yield from operator_table(session, "on the device", session.on_device, names=False)
        if session.comparison is not None:
            yield ""
            yield from comparison_list(session)


def fallback(report: Report) -> str | None:
    """Describes the costliest operator that ran on the CPU although its session has a device."""
    first = report.first
    if first is None:
        return None
    session, row = first
    names = "".join(f": {name}" for name in names_of(row.nodes))
    return f"{row.operator} ({row.types}) of {session.model} ran on the CPU{names}"


def wrapped(sentences: Iterator[str], width: int) -> Iterator[str]:
    """Returns sentences in lines."""
    for sentence in sentences:
        yield from textwrap.wrap(sentence, width, initial_indent="  ", subsequent_indent="  ")
