"""The report as text for a terminal."""

from __future__ import annotations

import linecache
import os
import textwrap
from collections.abc import Iterator, Sequence

from tenon.paddle.log import Total, Where
from tenon.paddle.report import Comparison, Difference, Report

ROWS = 20
"""Rows of each table."""
LINES = 3
"""Lines of the program for each operator."""


def size(count: int) -> str:
    """Returns a number of bytes as people write it."""
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    raise AssertionError


def time(seconds: float) -> str:
    """Returns a time in milliseconds."""
    return f"{seconds * 1e3:,.2f} ms" if seconds < 1 else f"{seconds * 1e3:,.0f} ms"


def place(where: Where | None) -> str:
    """Returns a line of the program; relative to the current folder if it is below it."""
    if where is None:
        return "line unknown"
    relative = os.path.relpath(where.file)
    file = where.file if relative.startswith("..") else relative
    return f"{file}:{where.line}" + ("" if where.function == "<module>" else f" in {where.function}")


def source(where: Where | None) -> str:
    """Returns the text of a line of the program, on a line of its own, if the file can be read."""
    text = "" if where is None else linecache.getline(where.file, where.line).strip()
    return f"\n    {text}" if text else ""


def plural(count: int, noun: str) -> str:
    """Returns a count with its noun."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ending(status: int) -> str:
    """Returns how the program ended, if not well."""
    if status == 0:
        return ""
    if status > 128:
        return f"The program was ended by signal {status - 128}. "
    return f"The program ended with the status {status}. "


def remarks(report: Report) -> Iterator[str]:
    """Returns what else there is to know."""
    if ending(report.status):
        yield ending(report.status).strip()
    if not report.is_complete:
        yield "The process ended at once, so the calls on the device were not counted."
    if report.device is None:
        yield (
            "The program used no custom device. PaddlePaddle has "
            f"{', '.join(report.devices)}: add --device {report.devices[0]}, or call paddle.set_device."
        )
    if report.inputs.calls:
        yield (
            f"{plural(report.inputs.calls, 'input')} of operators had to be moved, with {size(both(report.inputs))}: "
            "they were not on the device of the operator."
        )
    if report.compiled and report.others.calls:
        yield (
            f"{plural(report.others.calls, 'copy').replace('copys', 'copies')} with {size(both(report.others))} "
            "belong to no operator of the log; those of compiled programs are among them."
        )


def both(total: Total) -> int:
    """Returns the bytes in both directions."""
    return total.to_host + total.to_device


def table(head: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[Sequence[str]]) -> Iterator[str]:
    """Returns the lines of a table: the first column to the left, the others to the right, with notes below rows."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    for row, below in zip((head, *rows), ((), *notes)):
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:])),
        ]
        yield "  ".join(cells).rstrip()
        for note in below:
            yield f"    {note}"


def render(report: Report, width: int = 100) -> str:
    """Returns the report as text."""
    total = report.fallback_total
    operators = len({row.operator for row in report.fallbacks})
    lines = [
        f"{' '.join(report.command)}: PaddlePaddle {report.paddle}, {report.device or 'no custom device'}",
        f"  on the device  {plural(len(report.native), 'operator')}, {plural(sum(report.native.values()), 'call')}",
        f"  on the CPU     {plural(operators, 'operator')}, {plural(total.calls, 'call')}, "
        f"{time(total.seconds)}{share(report, total)}, {size(both(total))} copied",
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
    return "\n".join(lines) + "\n"


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


def comparison_list(comparison: Comparison) -> Iterator[str]:
    """Returns the operators whose results differ from PaddlePaddle's CPU."""
    yield (
        f"compared with PaddlePaddle's CPU: {plural(comparison.operators, 'operator')}, "
        f"{plural(comparison.calls, 'call')}; {plural(len(comparison.differences), 'operator')} with differences"
    )
    for row in comparison.differences:
        yield f"{row.operator} ({plural(row.calls, 'call')}): {values(row)}"
        inputs = ", ".join(f"{dtype} {shape}" for dtype, shape in row.inputs)
        yield f"    inputs {inputs}; attributes {row.attributes or 'none'}; seed {row.seed}"
        yield f"    {place(row.where)}"
    for operator, reason in comparison.failed.items():
        yield f"{operator} could not be compared: {reason}"


def values(row: Difference) -> str:
    """Returns how a result differs."""
    ends = f"{row.device} on the device, {row.cpu} on the CPU"
    if row.index is None:
        return f"result {row.output} is {ends}"
    return f"result {row.output} differs by up to {row.largest:.3g}; at {row.index} it is {ends}"


def rest(count: int) -> Iterator[str]:
    """Says that a table goes on."""
    if count > ROWS:
        yield f"… and {count - ROWS:,} more; --json and --html have all"


def compiled_list(report: Report, width: int) -> Iterator[str]:
    """Returns the operators of compiled programs."""
    yield "compiled programs; where they ran is concluded from the kernels"
    for is_on_device, head in ((False, "on the CPU: "), (True, "on the device: ")):
        rows = [row for row in report.compiled if row.is_on_device == is_on_device]
        if rows:
            text = head + ", ".join(f"{row.operator} ({row.calls:,})" for row in rows)
            yield from textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ")
