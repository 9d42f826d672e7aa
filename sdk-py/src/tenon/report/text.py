"""Parts of a report as text for a terminal, for all hosts."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterator, Sequence

from tenon.report.figures import Where

ROWS = 20
"""Rows of each table."""


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


def path(file: str) -> str:
    """Returns the path of a file; relative to the current folder if it is below it."""
    relative = os.path.relpath(file)
    return file if relative.startswith("..") else relative


def place(where: Where | None) -> str:
    """Returns a line of the program."""
    if where is None:
        return "line unknown"
    return f"{path(where.file)}:{where.line}" + ("" if where.function == "<module>" else f" in {where.function}")


def source(where: Where | None) -> str:
    """Returns the text of a line of the program, on a line of its own, if the file can be read."""
    text = "" if where is None else linecache.getline(where.file, where.line).strip()
    return f"\n    {text}" if text else ""


def plural(count: int, noun: str) -> str:
    """Returns a count with its noun."""
    several = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count:,} {noun if count == 1 else several}"


def ending(status: int) -> Iterator[str]:
    """Returns how the program ended, if not well."""
    if status > 128:
        yield f"The program was ended by signal {status - 128}."
    elif status != 0:
        yield f"The program ended with the status {status}."


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


def rest(count: int) -> Iterator[str]:
    """Says that a table goes on."""
    if count > ROWS:
        yield f"… and {count - ROWS:,} more; --json and --html have all"
