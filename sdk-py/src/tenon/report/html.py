"""Parts of a report as a web page, for all hosts: one file, for phones and wide screens, that needs no network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

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


def document(title: str, parts: Iterable[str]) -> str:
    """Returns a page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def sums(boxes: Iterable[tuple[str, str, str]]) -> str:
    """Returns the sums at the top: for each its class, its value, and what it is."""
    return (
        '<div class="sums">'
        + "".join(f'<div class="{kind}"><b>{escape(value)}</b>{escape(text)}</div>' for kind, value, text in boxes)
        + "</div>"
    )


def remarks(sentences: Iterable[str]) -> list[str]:
    """Returns what else there is to know."""
    return [f'<p class="remark">{escape(sentence)}</p>' for sentence in sentences]


def cell(name: str, content: str, is_number: bool = False) -> str:
    """Returns a cell; its name is shown where the screen is too narrow for columns."""
    kind = ' class="number"' if is_number else ""
    return f'<td data-name="{escape(name)}"{kind}>{content}</td>'


def named(name: str, share: float | None = None) -> str:
    """Returns the first cell of a row: a name in code, with a bar for a share of the largest value."""
    bar = "" if share is None else f'<span class="bar" style="width:{share:.1%}"></span>'
    return f"<td><b><code>{escape(name)}</code></b>{bar}</td>"


def section(title: str, rows: Iterable[str], head: Sequence[tuple[str, bool]]) -> list[str]:
    """Returns a table with a title, or nothing if it has no rows. The head says which columns have numbers."""
    body = list(rows)
    if not body:
        return []
    kinds = {True: ' class="number"', False: ""}
    cells = "".join(f'<th scope="col"{kinds[is_number]}>{escape(name)}</th>' for name, is_number in head)
    return [
        f"<h2>{escape(title)}</h2>",
        f"<table><thead><tr>{cells}</tr></thead><tbody>",
        *body,
        "</tbody></table>",
    ]


def lines(title: str, rows: Sequence[str]) -> list[str]:
    """Returns lines of text with a title."""
    body = [f'<p class="list">{"<br>".join(escape(row) for row in rows)}</p>'] if rows else []
    return [f"<h2>{escape(title[0].upper() + title[1:])}</h2>", *body]


def with_code(text: str) -> str:
    """Returns a text in which words between backquotes are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def names(rows: Sequence[tuple[str, int]]) -> str:
    """Returns names with their calls."""
    return ", ".join(f"<code>{escape(name)}</code> ({calls:,})" for name, calls in rows)
