"""The report on PaddlePaddle as a part of a web page."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from tenon.report.html import cell, lines, named, names, section, sums, with_code
from tenon.report.html import remarks as of_remarks
from tenon.report.paddle.results import Fallback, Report
from tenon.report.paddle.table import comparison_list, remarks
from tenon.report.text import place, plural, size, time

FALLBACKS = (
    *(("operator", False), ("type", False), ("calls", True), ("time", True), ("to host", True), ("to device", True)),
    ("what to do", False),
)
READS = (("line", False), ("times", True), ("time", True), ("bytes", True), ("what to do", False))


def render(report: Report) -> list[str]:
    """Returns the parts of the page."""
    return [
        f'<p class="dim">PaddlePaddle {escape(report.version)}, {escape(report.device or "no custom device")}</p>',
        sums(boxes(report)),
        *of_remarks(remarks(report)),
        *section("On the CPU", fallback_rows(report), FALLBACKS),
        *section("Values read on the host", read_rows(report), READS),
        *(lines(*split(list(comparison_list(report.comparison)))) if report.comparison else ()),
        *compiled(report),
        *native(report),
    ]


def split(rows: list[str]) -> tuple[str, list[str]]:
    """Returns the title of a list, and its lines."""
    return rows[0], rows[1:]


def boxes(report: Report) -> Iterable[tuple[str, str, str]]:
    """Returns the sums at the top."""
    total = report.fallback_total
    operators = len({row.operator for row in report.fallbacks})
    native = sum(report.native.values())
    of_all = f" of {time(report.seconds)}" if report.seconds else ""
    yield "device", f"{native:,}", f"calls on the device, {plural(len(report.native), 'operator')}"
    yield "cpu", f"{total.calls:,}", f"calls on the CPU, {plural(operators, 'operator')}"
    yield "cpu", time(total.seconds), f"in fallbacks{of_all}"
    yield "cpu", size(total.bytes), "copied for them"


def fallback_rows(report: Report) -> Iterable[str]:
    """Returns a row for each operator on the CPU."""
    slowest = max((row.total.seconds for row in report.fallbacks), default=0.0) or 1.0
    for row in report.fallbacks:
        yield (
            f"<tr>{named(row.operator, row.total.seconds / slowest)}"
            + cell("type", f"<code>{escape(row.dtype)}</code>")
            + cell("calls", f"{row.total.calls:,}", True)
            + cell("time", time(row.total.seconds), True)
            + cell("to host", size(row.total.to_host), True)
            + cell("to device", size(row.total.to_device), True)
            + f'<td class="places">{advice(row)}</td></tr>'
        )


def advice(row: Fallback) -> str:
    """Returns the advice and the lines of the program."""
    lines = [f"<code>{escape(place(where))}</code> ({calls:,})" for where, calls in row.lines]
    return f'{with_code(row.advice)}<div class="dim">{"<br>".join(lines)}</div>'


def read_rows(report: Report) -> Iterable[str]:
    """Returns a row for each line that reads values."""
    for row in report.reads:
        yield (
            f'<tr><td class="places"><code>{escape(place(row.where))}</code></td>'
            + cell("times", f"{row.total.calls:,}", True)
            + cell("time", time(row.total.seconds), True)
            + cell("bytes", size(row.total.to_host), True)
            + f"<td>{escape(row.advice)}</td></tr>"
        )


def compiled(report: Report) -> Iterable[str]:
    """Returns the operators of compiled programs."""
    if not report.compiled:
        return
    yield "<h2>Compiled programs</h2>"
    yield '<p class="dim">Where they ran is concluded from the kernels that are registered.</p>'
    for is_on_device, where in ((False, "On the CPU"), (True, "On the device")):
        rows = [(row.operator, row.calls) for row in report.compiled if row.is_on_device == is_on_device]
        if rows:
            yield f'<p class="list"><b>{where}:</b> {names(rows)}</p>'


def native(report: Report) -> Iterable[str]:
    """Returns the operators on the device."""
    if report.native:
        yield "<h2>On the device</h2>"
        yield f'<p class="list">{names(list(report.native.items()))}</p>'
