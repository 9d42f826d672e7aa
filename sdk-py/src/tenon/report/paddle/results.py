"""What a run on PaddlePaddle means, in order of cost, with advice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tenon.report.comparison import Comparison, Difference, pairs
from tenon.report.figures import Total, Where, milliseconds, of_total, of_where
from tenon.report.run import Run

OFTEN = 10
"""Reads of one line from which the report advises against them."""
SMALL = 64
"""Bytes of a value that is read on its own, such as a loss."""

HALF = ("float16", "bfloat16")
INTEGERS = ("int8", "uint8", "int16", "int32")
ON_THE_HOST = {"full_int_array"}
"""Operators of compiled programs that only make arguments of others."""


@dataclass
class Fallback:
    """An operator that ran on the CPU, for one type of elements."""

    operator: str
    dtype: str
    total: Total
    lines: list[tuple[Where | None, int]]
    """The lines that called it, and how often, most often first."""
    advice: str


@dataclass
class Read:
    """A line of the program that reads values of the device on the host."""

    where: Where | None
    total: Total
    advice: str


@dataclass
class Compiled:
    """An operator of a compiled program, and where it ran by the kernels that are registered."""

    operator: str
    calls: int
    is_on_device: bool


@dataclass
class OperatorDifference(Difference):
    """The first result of an operator that differs from PaddlePaddle's CPU."""

    calls: int
    """Calls that differ."""
    where: Where | None
    seed: int


@dataclass
class Report:
    """Where the operators of a program ran."""

    version: str
    device: str | None
    """The custom device that the program used; None if it used none."""
    devices: list[str]
    """The types of custom devices that PaddlePaddle has."""
    seconds: float | None
    """From the import of PaddlePaddle to the end. None if the process ended at once."""
    native: dict[str, int] = field(default_factory=dict)
    """Calls of operators on the device, most often first."""
    fallbacks: list[Fallback] = field(default_factory=list)
    """In order of cost."""
    reads: list[Read] = field(default_factory=list)
    compiled: list[Compiled] = field(default_factory=list)
    inputs: Total = field(default_factory=Total)
    others: Total = field(default_factory=Total)
    comparison: Comparison[OperatorDifference] | None = None
    first: Fallback | None = None
    """The fallback that came first, with its line only."""

    @property
    def is_complete(self) -> bool:
        """Whether the process reached its end, where the calls of operators are counted."""
        return self.seconds is not None

    @property
    def differs(self) -> bool:
        """Whether a comparison has found a difference."""
        return self.comparison is not None and bool(self.comparison.differences)

    @property
    def fallback_total(self) -> Total:
        """The sum of all fallbacks."""
        totals = [row.total for row in self.fallbacks]
        return Total(
            sum(total.calls for total in totals),
            sum(total.seconds for total in totals),
            sum(total.to_host for total in totals),
            sum(total.to_device for total in totals),
        )

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON, as the guide describes it."""
        total = self.fallback_total
        return {
            "version": self.version,
            "device": self.device,
            "devices": self.devices,
            "complete": self.is_complete,
            "seconds": self.seconds,
            "summary": {
                "native_operators": len(self.native),
                "native_calls": sum(self.native.values()),
                "fallback_operators": len({row.operator for row in self.fallbacks}),
                "fallback_calls": total.calls,
                "fallback_milliseconds": milliseconds(total.seconds),
                "fallback_bytes": total.bytes,
            },
            "native": [{"operator": name, "calls": calls} for name, calls in self.native.items()],
            "fallbacks": [
                {
                    "operator": row.operator,
                    "dtype": row.dtype,
                    **of_total(row.total),
                    "lines": [{**of_where(where), "calls": calls} for where, calls in row.lines],
                    "advice": row.advice,
                }
                for row in self.fallbacks
            ],
            "reads": [{**of_where(row.where), **of_total(row.total), "advice": row.advice} for row in self.reads],
            "compiled": [
                {"operator": row.operator, "calls": row.calls, "on_device": row.is_on_device} for row in self.compiled
            ],
            "comparison": of_comparison(self.comparison),
            "moved_inputs": of_total(self.inputs),
            "other_copies": of_total(self.others),
        }


def of_comparison(comparison: Comparison[OperatorDifference] | None) -> dict[str, Any] | None:
    """Returns a comparison as JSON."""
    if comparison is None:
        return None
    differences = [
        {**{key: value for key, value in vars(row).items() if key != "where"}, **of_where(row.where)}
        for row in comparison.differences
    ]
    return {**vars(comparison), "differences": differences}


def compared(run: Run, found: dict[str, Any] | None) -> Comparison[OperatorDifference] | None:
    """Returns what was compared, if anything was."""
    if found is None and not run.log.differences:
        return None
    found = found or {"compared": {}, "differing": {}, "failed": {}}
    differences = []
    for content in run.log.differences:
        row = {**content, "where": None if content["where"] is None else Where(*content["where"])}
        row["calls"] = found["differing"].get(row["operator"], 1)
        row["inputs"] = pairs(row["inputs"])
        differences.append(OperatorDifference(**row))
    return Comparison(len(found["compared"]), sum(found["compared"].values()), differences, found["failed"])


def build(run: Run) -> Report | None:
    """Makes the report on PaddlePaddle, if the program has imported it and it has a custom device."""
    begin, end, log = run.facts.get("paddle-begin"), run.facts.get("paddle-end", {}), run.log
    if begin is None or not begin["devices"]:
        return None
    device = end.get("device")
    if device is None or device.partition(":")[0] not in begin["devices"]:
        device = next(iter(sorted(log.devices)), None)
    report = Report(
        version=begin["paddle"],
        device=device,
        devices=begin["devices"],
        seconds=end.get("seconds"),
        inputs=log.inputs,
        others=log.others,
        comparison=compared(run, end.get("comparison")),
    )
    kernels: dict[str, dict[str, list[str]]] = begin["kernels"]
    kind = "" if device is None else device.partition(":")[0]
    report.fallbacks = fallbacks(run, kernels, kind)
    if log.first is not None:
        kernel, dtype, where = log.first
        report.first = Fallback(kernel, dtype, Total(), [(where, 1)], advice(kernel, dtype, kernels, kind))
    if device is not None and report.is_complete:
        count(report, end.get("operators", {}), log.backward, kernels, kind)
    report.reads = [
        Read(where, total, advice_on_read(total))
        for where, total in sorted(log.reads.items(), key=lambda item: -item[1].seconds)
    ]
    return report


def fallbacks(run: Run, kernels: dict[str, dict[str, list[str]]], kind: str) -> list[Fallback]:
    """Returns the fallbacks in order of cost."""
    rows: dict[tuple[str, str], Fallback] = {}
    for (kernel, dtype, where), total in run.log.fallbacks.items():
        row = rows.get((kernel, dtype))
        if row is None:
            row = Fallback(kernel, dtype, Total(), [], advice(kernel, dtype, kernels, kind))
            rows[kernel, dtype] = row
        row.total.calls += total.calls
        row.total.seconds += total.seconds
        row.total.to_host += total.to_host
        row.total.to_device += total.to_device
        row.lines.append((where, total.calls))
    for row in rows.values():
        row.lines.sort(key=lambda item: -item[1])
    return sorted(rows.values(), key=lambda row: (-row.total.seconds, row.operator, row.dtype))


def count(
    report: Report,
    calls: dict[str, int],
    backward: dict[str, int],
    kernels: dict[str, dict[str, list[str]]],
    kind: str,
) -> None:
    """Splits the calls that PaddlePaddle has counted: on the device, fallen back, and of compiled programs.

    Args:
        report: The report, which has the fallbacks.
        calls: PaddlePaddle's count, without kernels of backward passes.
        backward: Calls of such kernels on the device.
        kernels: The types of elements for each kernel and backend.
        kind: The type of the device.
    """
    fallen: dict[str, int] = {}
    for row in report.fallbacks:
        fallen[row.operator] = fallen.get(row.operator, 0) + row.total.calls
    native: dict[str, int] = {}
    for name, number in calls.items():
        dialect, _, operator = name.rpartition(".")
        # Operators in place, such as `adamw_`, have the kernels of the others.
        kernel = operator if operator in kernels else operator.rstrip("_")
        if operator in ON_THE_HOST:
            continue
        if dialect:
            backends = kernels.get(kernel, {})
            is_on_device = "CPU" not in backends or kind in backends or "CUSTOM" in backends
            report.compiled.append(Compiled(operator, number, is_on_device))
        else:
            native[kernel] = native.get(kernel, 0) + number
    left = {name: number - fallen.get(name, 0) for name, number in native.items()}
    for name, number in backward.items():
        left[name] = max(left.get(name, 0), 0) + number
    report.native = {
        name: number for name, number in sorted(left.items(), key=lambda item: (-item[1], item[0])) if number > 0
    }
    report.compiled.sort(key=lambda row: (row.is_on_device, -row.calls, row.operator))


def advice(kernel: str, dtype: str, kernels: dict[str, dict[str, list[str]]], kind: str) -> str:
    """Returns what to do about an operator that falls back."""
    has = [name for name in kernels.get(kernel, {}).get(kind, []) if name != dtype]
    if not has:
        forward = kernel[: -len("_grad")] if kernel.endswith("_grad") else None
        if forward is not None and kind in kernels.get(forward, {}):
            return f"write a kernel `{kernel}`: the device has `{forward}`, but not its gradient"
        return f"write a kernel `{kernel}`: the device has none"
    types = ", ".join(sorted(has))
    if dtype in HALF and "float32" in has:
        return f"cast to float32, or add {dtype} to the kernel `{kernel}`: it has {types}"
    if dtype == "float64" and "float32" in has:
        return f"use float32 if it is precise enough, or add float64 to the kernel `{kernel}`: it has {types}"
    wider = next((name for name in ("int32", "int64") if name in has), None)
    if dtype in INTEGERS and wider is not None:
        return f"cast to {wider}, or add {dtype} to the kernel `{kernel}`: it has {types}"
    return f"add {dtype} to the kernel `{kernel}`: it has {types}"


def advice_on_read(total: Total) -> str:
    """Returns what to do about a line that reads values."""
    if total.calls < OFTEN:
        return ""
    if total.to_host <= SMALL * total.calls:
        return "a value is read on the host in a loop, as by item() or float(): read it less often"
    return "a tensor is read on the host in a loop: keep it on the device, or read it less often"
