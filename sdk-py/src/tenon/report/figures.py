"""What the reports of all hosts count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Where(NamedTuple):
    """A line of the program."""

    file: str
    line: int
    function: str


@dataclass
class Total:
    """The totals of one place: calls, seconds, and bytes."""

    calls: int = 0
    seconds: float = 0.0
    to_host: int = 0
    to_device: int = 0

    @property
    def bytes(self) -> int:
        """The bytes in both directions."""
        return self.to_host + self.to_device


def milliseconds(seconds: float) -> float:
    """Returns milliseconds, to the microsecond that logs and profiles have."""
    return round(seconds * 1e3, 3)


def of_total(total: Total) -> dict[str, Any]:
    """Returns a total as JSON."""
    return {
        "calls": total.calls,
        "milliseconds": milliseconds(total.seconds),
        "bytes_to_host": total.to_host,
        "bytes_to_device": total.to_device,
    }


def of_where(where: Where | None) -> dict[str, Any]:
    """Returns a line of the program as JSON."""
    if where is None:
        return {"file": None, "line": None, "function": None}
    return {"file": where.file, "line": where.line, "function": where.function}
