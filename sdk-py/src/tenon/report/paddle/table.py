"""The report on PaddlePaddle as text for a terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from tenon.report.comparison import Comparison, failures, summary
from tenon.report.figures import Total
from tenon.report.paddle.results import OperatorDifference, Report
from tenon.report.text import ROWS, place, plural, rest, size, source, table, time

LINES = 3
"""Lines of the program for each operator."""
CPU = "PaddlePaddle's CPU"


def remarks(report: Report) -> Iterator[str]:
    """Returns what else there is to know."""
    if not report.is_complete:
        yield "The process ended at once, so the calls on the device were not counted."
    if report.device is None:
        yield (
            "The program used no custom device. PaddlePaddle has "
            f"{', '.join(report.devices)}: add --device {report.devices[0]}, or call paddle.set_device."
        )
    if report.inputs.calls:
        yield (
            f"{plural(report.inputs.calls, 'input')} of operators had to be moved, with {size(report.inputs.bytes)}: "
            "they were not on the device of the operator."
        )
    if report.compiled and report.others.calls:
        yield (
            f"{plural(report.others.calls, 'copy')} with {size(report.others.bytes)} "
            "belong to no operator of the log; those of compiled programs are among them."
        )


def render(report: Report, width: int) -> Iterator[str]:
    """Returns the lines of the report."""
    total = report.fallback_total
    operators = len({row.operator for row in report.fallbacks})
    lines = [
        f"PaddlePaddle {report.version}, {report.device or 'no custom device'}",
        f"  on the device  {plural(len(report.native), 'operator')}, {plural(sum(report.native.values()), 'call')}",
        f"  on the CPU     {plural(operators, 'operator')}, {plural(total.calls, 'call')}, "
        f"{time(total.seconds)}{share(report, total)}, {size(total.bytes)} copied",
    ]
    for remark in remarks(report):
        lines += textwrap.wrap(remark, width, initial_indent="  ", subsequent_indent="  ")
    if report.fallbacks:
        lines += ["", *fallback_table(report)]
    if report.reads:
        lines += ["", *read_table(report)]
    if report.comparison:
        lines += ["", *comparison_list(report.comparison)]
    if report.compiled:
        lines += ["", *compiled_list(report, width)]
    if report.native:
        names = ", ".join(f"{name} ({calls:,})" for name, calls in report.native.items())
        lines += [
            "",
            "on the device, with calls",
        ]
        lines += textwrap.wrap(names, width, initial_indent="  ", subsequent_indent="  ")
    return iter(lines)


def fallback(report: Report) -> str | None:
    """Describes the first operator that fell back, or one of a compiled program that runs on the CPU."""
    first = report.first
    if first is not None:
        where = first.lines[0][0]
        return f"{first.operator} ({first.dtype}) fell back to the CPU: {place(where)}{source(where)}"
    compiled = next((row.operator for row in report.compiled if not row.is_on_device), None)
    return None if compiled is None else f"{compiled} runs on the CPU in a compiled program"


def share(report: Report, total: Total) -> str:
    """Returns the share of the fallbacks in the time of the program."""
    return f" of {time(report.seconds)}" if report.seconds and total.calls else ""


def fallback_table(report: Report) -> Iterator[str]:
    """Returns the table of the operators on the CPU."""
    shown = report.fallbacks[:ROWS]
    rows = [
        (row.operator, row.dtype, f"{row.total.calls:,}", time(row.total.seconds))
        + (size(row.total.to_host), size(row.total.to_device))
        for row in shown
    ]
    notes = []
    for row in shown:
        places = [f"{place(where)} ({calls:,})" for where, calls in row.lines[:LINES]]
        more = len(row.lines) - LINES
        places += [f"{plural(more, 'line')} more"] if more > 0 else []
        notes.append([row.advice, *places])
    yield from table(("on the CPU", "type", "calls", "time", "to host", "to device"), rows, notes)
    yield from rest(len(report.fallbacks))


def read_table(report: Report) -> Iterator[str]:
    """Returns the table of the lines that read values."""
    shown = report.reads[:ROWS]
    rows = [
        (place(row.where), f"{row.total.calls:,}", time(row.total.seconds), size(row.total.to_host)) for row in shown
    ]
    notes = [[row.advice] if row.advice else [] for row in shown]
    yield from table(("read on the host", "times", "time", "bytes"), rows, notes)
    yield from rest(len(report.reads))


def comparison_list(comparison: Comparison[OperatorDifference]) -> Iterator[str]:
    """Returns the operators whose results differ from PaddlePaddle's CPU."""
    yield summary(comparison, CPU, "call")
    for row in comparison.differences:
        yield f"{row.operator} ({plural(row.calls, 'call')}): {row.values()}"
        yield f"    {row.arguments()}; seed {row.seed}"
        yield f"    {place(row.where)}"
    yield from failures(comparison)


def compiled_list(report: Report, width: int) -> Iterator[str]:
    """Returns the operators of compiled programs."""
    yield "compiled programs; where they ran is concluded from the kernels"
    for is_on_device, head in ((False, "on the CPU: "), (True, "on the device: ")):
        rows = [row for row in report.compiled if row.is_on_device == is_on_device]
        if rows:
            text = head + ", ".join(f"{row.operator} ({row.calls:,})" for row in rows)
            yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ")
