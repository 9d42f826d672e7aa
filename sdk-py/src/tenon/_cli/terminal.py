"""Output of the command: colours, aligned columns, sizes and a progress bar."""

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
    """Colours for a terminal. Disabled for files and pipes, and if `NO_COLOR` is set."""

    def __init__(self, output: TextIO) -> None:
        self.coloured = output.isatty() and not os.environ.get("NO_COLOR")

    def strong(self, text: str) -> str:
        """Formats important text."""
        return self._painted("1", text)

    def faint(self, text: str) -> str:
        """Formats less important text."""
        return self._painted("2", text)

    def bad(self, text: str) -> str:
        """Formats an error."""
        return self._painted("31", text)

    def _painted(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.coloured and text else text


def columns(rows: Sequence[Sequence[str]], *, right: Sequence[int] = (), indent: str = "  ") -> list[str]:
    """Aligns cells in columns and returns the lines.

    Args:
        rows: The cells of each row.
        right: The indices of the right-aligned columns.
        indent: The prefix of each line.
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
    """Formats a number of bytes, such as `4 KiB` or `1.5 GiB`."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count / 1024**power:.1f}".removesuffix(".0") + f" {_UNITS[power]}"


def parse_size(text: str) -> int:
    """Parses a number of bytes, such as `4KiB`, `1 MiB` or `512`.

    Raises:
        ValueError: The text is not a size, or the size is 0.
    """
    match = re.fullmatch(r"\s*(\d+)\s*(?:([kmgt])i?b?|b|bytes)?\s*", text, re.IGNORECASE)
    count = int(match[1]) << 10 * (" kmgt".index(match[2].lower()) if match[2] else 0) if match else 0
    if count == 0:
        raise ValueError(f"`{text}` is not a valid size: expected a size such as 4KiB or 64MiB")
    return count


def as_json(value: object) -> str:
    """Formats a value as JSON."""
    return json.dumps(value, indent=2)


class Bar:
    """A progress bar on standard error. Shown only on a terminal."""

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._done = 0
        self._shown = sys.stderr.isatty()

    def step(self, what: str) -> None:
        """Shows the step that begins now."""
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
