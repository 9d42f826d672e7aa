"""What a comparison with the CPU of a host has found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tenon.report.text import plural


@dataclass
class Difference:
    """The first result of an operator that differs from the host's CPU."""

    operator: str
    output: int
    """The number of the result."""
    index: list[int] | None
    """The first element that differs; None if the types or shapes do."""
    device: Any
    """The element, or the type and the shape."""
    cpu: Any
    largest: float | None
    """The largest difference of an element; None if the elements are no numbers."""
    inputs: list[tuple[str, list[int]]]
    attributes: str

    def values(self) -> str:
        """Says how the result differs."""
        ends = f"{self.device} on the device, {self.cpu} on the CPU"
        if self.index is None:
            return f"result {self.output} is {ends}"
        by = "" if self.largest is None else f" by up to {self.largest:.3g}"
        return f"result {self.output} differs{by}; at {self.index} it is {ends}"

    def arguments(self) -> str:
        """Says what the operator was called with."""
        inputs = ", ".join(f"{kind} {shape}" for kind, shape in self.inputs)
        return f"inputs {inputs or 'none'}; attributes {self.attributes or 'none'}"


D = TypeVar("D", bound=Difference)


@dataclass
class Comparison(Generic[D]):
    """The outcome of a comparison with the host's CPU."""

    operators: int
    calls: int
    differences: list[D]
    failed: dict[str, str]
    """What could not be compared, and why."""


def summary(comparison: Comparison[Any], cpu: str, calls: str) -> str:
    """Returns the sums of a comparison.

    Args:
        comparison: The comparison.
        cpu: What it was compared with.
        calls: What was compared, such as "call".
    """
    return (
        f"compared with {cpu}: {plural(comparison.operators, 'operator')}, "
        f"{plural(comparison.calls, calls)}; {len(comparison.differences):,} with differences"
    )


def failures(comparison: Comparison[Any]) -> Iterator[str]:
    """Says what could not be compared."""
    for name, reason in comparison.failed.items():
        yield f"{name} could not be compared: {reason}"


def pairs(found: Sequence[Sequence[Any]]) -> list[tuple[str, list[int]]]:
    """Returns the types and shapes that a recorder has noted."""
    return [(kind, list(shape)) for kind, shape in found]
