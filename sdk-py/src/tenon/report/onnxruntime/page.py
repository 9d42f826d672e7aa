"""The report on ONNX Runtime as a part of a web page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from tenon.report.html import cell, lines, named, section, sums, with_code
from tenon.report.html import remarks as of_remarks
from tenon.report.onnxruntime.results import Operator, Report, Session, advice_on_copies, copies, direction
from tenon.report.onnxruntime.table import (
    comparison_list,
    each,
    names_of,
    nodes,
    remarks,
    remarks_on,
    runs,
    title,
)
from tenon.report.text import size, time

OPERATORS = (("operator", False), ("types", False), ("nodes", True), ("calls", True), ("ms a run", True))
DEVICE = (*OPERATORS, ("ms of the device", True))
CPU = (*OPERATORS, ("what to do", False))
COPIES = (("copied", False), ("tensor", False), ("calls", True), ("bytes", True), ("ms a run", True))


def render(report: Report) -> list[str]:
    """Returns the parts of the page."""
    devices = ", ".join(report.devices) or "no device"
    parts = [
        f'<p class="dim">ONNX Runtime {escape(report.version)}, {escape(devices)}</p>',
        *of_remarks(remarks(report)),
    ]
    for session in report.sessions:
        parts += of_session(session)
    return parts


def of_session(session: Session) -> Iterable[str]:
    """Returns the parts of a session."""
    yield f"<h2><code>{escape(title(session))}</code></h2>"
    yield f'<p class="dim">{escape(runs(session))}</p>'
    if session.profiled:
        yield sums(boxes(session))
    yield from of_remarks(remarks_on(session))
    if session.wanted:
        yield from section("On the CPU", operators(session, session.on_cpu, is_on_cpu=True), CPU)
    yield from section("Copies", copy_rows(session), COPIES)
    if advice_on_copies(session):
        yield f'<p class="dim">{with_code(advice_on_copies(session))}</p>'
    yield from section("On the device", operators(session, session.on_device, is_on_cpu=False), DEVICE)
    if session.comparison is not None:
        first, *others = comparison_list(session)
        yield from lines(first, others)


def boxes(session: Session) -> Iterable[tuple[str, str, str]]:
    """Returns the sums at the top."""
    total = session.copies
    number = session.profiled
    for kind, where, rows in (("device", "device", session.on_device), ("cpu", "CPU", session.on_cpu)):
        seconds = sum(row.seconds for row in rows)
        yield kind, time(session.each(seconds)), f"a run on the {where}, {nodes(session, rows).partition(',')[0]}"
    yield "cpu", time(session.each(total.seconds)), f"a run for copies of {size(total.bytes // number)}"
    yield "dim", time(session.each(session.outside)), "a run outside nodes"


def operators(session: Session, rows: Sequence[Operator], is_on_cpu: bool) -> Iterable[str]:
    """Returns a row for each operator."""
    slowest = max((row.seconds for row in rows), default=0.0) or 1.0
    for row in rows:
        number = max(len(row.nodes) // session.sessions, 1)
        last = cell("ms of the device", each(session, row.device_seconds) if row.device_seconds else "", True)
        if is_on_cpu:
            below = "<br>".join(f"<code>{escape(names)}</code>" for names in names_of(row.nodes))
            last = f'<td class="places">{with_code(row.advice)}<div class="dim">{below}</div></td>'
        yield (
            f"<tr>{named(row.operator, row.seconds / slowest)}"
            + cell("types", f"<code>{escape(row.types)}</code>")
            + cell("nodes", f"{number:,}", True)
            + cell("calls", f"{row.calls:,}", True)
            + cell("ms a run", each(session, row.seconds), True)
            + f"{last}</tr>"
        )


def copy_rows(session: Session) -> Iterable[str]:
    """Returns a row for each copy between the memories of providers."""
    for node in copies(session):
        value = " ".join(f"{kind} {shape}" for kind, shape in node.outputs)
        yield (
            f"<tr>{named(direction(node))}"
            + cell("tensor", f"<code>{escape(value)}</code>")
            + cell("calls", f"{node.calls:,}", True)
            + cell("bytes", size(node.bytes), True)
            + cell("ms a run", each(session, node.seconds), True)
            + "</tr>"
        )
