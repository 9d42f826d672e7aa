"""The report as a web page: one file, for phones and wide screens, that needs no network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

from tenon.paddle.report import Fallback, Report
from tenon.paddle.table import both, comparison_list, place, plural, remarks, size, time

STYLE = """
:root { color-scheme: light dark; --text: #1c2330; --dim: #5a6475; --line: #d9dee7; --card: #fff; --page: #f5f7fa;
  --device: #1a7f55; --cpu: #b4530a; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e9ef; --dim: #a0a9b8; --line: #323a48; --card: #1b212b;
  --page: #12161d; --device: #4cc38a; --cpu: #f0a35e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 72rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
p { margin: .25rem 0 .75rem; }
.dim { color: var(--dim); }
code { font-family: ui-monospace, monospace; font-size: .9em; overflow-wrap: break-word; }
td.places code { overflow-wrap: anywhere; }
.sums { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: 1.25rem 0; }
.sums div, table, .list { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
.sums div { padding: .75rem 1rem; }
.sums b { display: block; font-size: 1.5rem; line-height: 1.3; font-variant-numeric: tabular-nums; }
.device b { color: var(--device); } .cpu b { color: var(--cpu); }
.remark { border-left: 4px solid var(--cpu); padding-left: .75rem; }
.list { padding: .75rem 1rem; }
table { width: 100%; border-collapse: separate; border-spacing: 0; }
th, td { padding: .5rem .75rem; text-align: left; vertical-align: top; border-top: 1px solid var(--line); }
thead th { border-top: 0; color: var(--dim); font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: block; height: .35rem; min-width: 2px; margin-top: .3rem; background: var(--cpu); }
@media (max-width: 46rem) {
  thead { position: absolute; clip-path: inset(50%); height: 1px; overflow: hidden; }
  table, tbody, tr, td { display: block; }
  tr { padding: .5rem 0; border-top: 1px solid var(--line); } tbody tr:first-child { border-top: 0; }
  td { border: 0; padding: .15rem .9rem; }
  td[data-name]::before { content: attr(data-name); color: var(--dim); display: inline-block; min-width: 6.5rem; }
  td.number { text-align: left; }
  .bar { display: none; }
}
"""


def render(report: Report) -> str:
    """Returns the report as a web page."""
    title = f"Where {report.command[0]} ran"
    parts = [
        f"<h1>Where <code>{escape(' '.join(report.command))}</code> ran</h1>",
        f'<p class="dim">PaddlePaddle {escape(report.paddle)}, {escape(report.device or "no custom device")}</p>',
        sums(report),
        *(f'<p class="remark">{escape(remark)}</p>' for remark in remarks(report)),
        *section("On the CPU", fallback_rows(report), ("operator", "type", *NUMBERS, "what to do")),
        *section(
            "Values read on the host",
            read_rows(report),
            ("line", "times", "time", "bytes", "what to do"),
        ),
        *comparison(report),
        *compiled(report),
        *native(report),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


NUMBERS = ("calls", "time", "to host", "to device")


def sums(report: Report) -> str:
    """Returns the sums at the top."""
    total = report.fallback_total
    operators = len({row.operator for row in report.fallbacks})
    native = sum(report.native.values())
    boxes = [
        ("device", f"{native:,}", f"calls on the device, {plural(len(report.native), 'operator')}"),
        ("cpu", f"{total.calls:,}", f"calls on the CPU, {plural(operators, 'operator')}"),
        (
            "cpu",
            time(total.seconds),
            "in fallbacks" + (f" of {time(report.seconds)}" if report.seconds else ""),
        ),
        ("cpu", size(both(total)), "copied for them"),
    ]
    return (
        '<div class="sums">'
        + "".join(f'<div class="{kind}"><b>{escape(value)}</b>{escape(text)}</div>' for kind, value, text in boxes)
        + "</div>"
    )


def cell(name: str, content: str, is_number: bool = False) -> str:
    """Returns a cell; its name is shown where the screen is too narrow for columns."""
    kind = ' class="number"' if is_number else ""
    return f'<td data-name="{escape(name)}"{kind}>{content}</td>'


def section(title: str, rows: Iterable[str], head: Sequence[str]) -> list[str]:
    """Returns a table with a title, or nothing if it has no rows."""
    body = list(rows)
    if not body:
        return []
    cells = "".join(f'<th scope="col"{numeric(name)}>{escape(name)}</th>' for name in head)
    return [
        f"<h2>{escape(title)}</h2>",
        f"<table><thead><tr>{cells}</tr></thead><tbody>",
        *body,
        "</tbody></table>",
    ]


def numeric(name: str) -> str:
    """Returns the class of a column of numbers."""
    return ' class="number"' if name in (*NUMBERS, "times", "bytes") else ""


def fallback_rows(report: Report) -> Iterable[str]:
    """Returns a row for each operator on the CPU."""
    slowest = max((row.total.seconds for row in report.fallbacks), default=0.0) or 1.0
    for row in report.fallbacks:
        bar = f'<span class="bar" style="width:{row.total.seconds / slowest:.1%}"></span>'
        yield (
            f"<tr><td><b><code>{escape(row.operator)}</code></b>{bar}</td>"
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


def with_code(text: str) -> str:
    """Returns text as HTML, with what is between backticks as code."""
    return re.sub(r"`(.*?)`", r"<code>\1</code>", escape(text))


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


def comparison(report: Report) -> Iterable[str]:
    """Returns the operators whose results differ from PaddlePaddle's CPU."""
    if report.comparison is not None:
        head, *rows = comparison_list(report.comparison)
        yield f"<h2>{escape(head[0].upper() + head[1:])}</h2>"
        if rows:
            yield f'<p class="list">{"<br>".join(escape(row) for row in rows)}</p>'


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


def names(rows: Sequence[tuple[str, int]]) -> str:
    """Returns operators with their calls."""
    return ", ".join(f"<code>{escape(name)}</code> ({calls:,})" for name, calls in rows)
