"""What the command writes: colours where there is a terminal, aligned columns, sizes, and a bar for long work."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_CLEAR_LINE = "\r\x1b[2K"
_BAR_WIDTH = 24


class Style:
    """Colours for a terminal, unless `NO_COLOR` is set; nothing for a file or a pipe."""

    def __init__(self, output: TextIO) -> None:
        self.coloured = output.isatty() and not os.environ.get("NO_COLOR")

    def strong(self, text: str) -> str:
        """What one looks for first."""
        return self._painted("1", text)

    def faint(self, text: str) -> str:
        """What one may skip."""
        return self._painted("2", text)

    def bad(self, text: str) -> str:
        """What went wrong."""
        return self._painted("31", text)

    def _painted(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured and text else text


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: str = "  ") -> list[str]:
    """Lines in which the cells of each column stand below each other.

    Args:
        rows: The cells; the last one of a row may be as long as it likes.
        right: The columns that are aligned to the right, as figures are.
        indent: What each line begins with.
    """
    widths = [max((len(row[at]) for row in rows if at < len(row)), default=0) for at in range(max(map(len, rows)))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if at in right else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append((indent + "  ".join(cells)).rstrip())
    return lines


def size(count: int) -> str:
    """A number of bytes for people: `4 KiB`, `1.5 GiB`."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count / 1024**power:.1f}".removesuffix(".0") + f" {_UNITS[power]}"


def parse_size(text: str) -> int:
    """A number of bytes as people write it: `4KiB`, `1 MiB`, `512`.

    Raises:
        ValueError: It is none.
    """
    match = re.fullmatch(r"\s*(\d+)\s*(?:([kmgt])i?b?|b|bytes)?\s*", text, re.IGNORECASE)
    count = int(match[1]) << 10 * (" kmgt".index(match[2].lower()) if match[2] else 0) if match else 0
    if count == 0:
        raise ValueError(f"`{text}` is no size: it should look like 4KiB or 64MiB")
    return count


def as_json(value: object) -> str:
    """A value for programs."""
    return json.dumps(value, indent=2)


class Bar:
    """How far a long work is, on standard error, where somebody watches."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._done = 0
        self._shown = sys.stderr.isatty()

    def step(self, what: str) -> None:
        """Shows what begins now."""
        if self._shown:
            filled = self._done * _BAR_WIDTH // max(self._steps, 1)
            bar = "█" * filled + "░" * (_BAR_WIDTH - filled)
            print(f"{_CLEAR_LINE}{bar} {self._done}/{self._steps}  {what}", end="", file=sys.stderr, flush=True)
        self._done += 1

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._shown:
            print(_CLEAR_LINE, end="", file=sys.stderr, flush=True)
