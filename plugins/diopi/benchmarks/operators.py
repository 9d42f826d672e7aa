"""Measures operators through the functions of DIOPI against NumPy, SciPy and PyTorch, with one thread.

Each operator and its counterparts run alternately on the same arrays, with a place for the result where there can be one. A
call of an operator includes the way through ctypes and the wait for its stream. PyTorch is compared if it is installed.
"""

import importlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from host import Library, Number, build, like

ROUNDS = 7
# The time that a round of one side takes, in seconds.
ROUND = 0.02

Run = Callable[[], Any]


class Case(NamedTuple):
    """An operator with its arguments, and its counterparts."""

    name: str
    args: tuple[Any, ...]
    numpy: Run
    torch: Run


def import_torch() -> Any:
    """Returns PyTorch with one thread, or `None` if it is not installed."""
    try:
        torch: Any = importlib.import_module("torch")
    except ModuleNotFoundError:
        return None
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return torch


def cases(torch: Any, rng: np.random.Generator, size: int) -> list[Case]:
    """Returns operators for some elements."""
    side = int(size**0.5)
    a, b = (rng.uniform(0.5, 2, size).astype(np.float32) for _ in range(2))
    square, other = (
        a[: side * side].reshape(side, side),
        b[: side * side].reshape(side, side),
    )
    out, flat, row = np.empty_like(a), np.empty_like(square), np.empty(side, np.float32)
    one = Number(1, np.float64)
    # The same memory.
    share: Callable[[Any], Any] = torch.from_numpy if torch else lambda array: array
    ta, tb, tout, tsquare, tother, tflat, trow = map(
        share, (a, b, out, square, other, flat, row)
    )
    return [
        Case(
            "diopiAdd",
            (like(a), a, b, one),
            lambda: np.add(a, b, out=out),
            lambda: torch.add(ta, tb, out=tout),
        ),
        Case(
            "diopiMul",
            (like(a), a, b),
            lambda: np.multiply(a, b, out=out),
            lambda: torch.mul(ta, tb, out=tout),
        ),
        Case(
            "diopiExp",
            (like(a), a),
            lambda: np.exp(a, out=out),
            lambda: torch.exp(ta, out=tout),
        ),
        Case(
            "diopiTanh",
            (like(a), a),
            lambda: np.tanh(a, out=out),
            lambda: torch.tanh(ta, out=tout),
        ),
        Case(
            "diopiGelu",
            (like(a), a, "none"),
            lambda: np.multiply(a, special.ndtr(a), out=out),
            lambda: torch.nn.functional.gelu(ta),
        ),
        Case(
            "diopiSum",
            (like(row), square, [1]),
            lambda: np.sum(square, axis=1, out=row),
            lambda: torch.sum(tsquare, 1, out=trow),
        ),
        Case(
            "diopiMax",
            (like(row), like(row, np.int64), square, 1),
            lambda: square.max(axis=1),
            lambda: torch.max(tsquare, 1),
        ),
        Case(
            "diopiMean",
            (like(row), square, [1]),
            lambda: square.mean(axis=1, out=row),
            lambda: torch.mean(tsquare, 1, out=trow),
        ),
        Case(
            "diopiSoftmax",
            (like(square), square, 1),
            lambda: special.softmax(square, axis=1),
            lambda: torch.softmax(tsquare, 1),
        ),
        Case(
            "diopiSort",
            (like(a), like(a, np.int64), a, 0, False, None),
            lambda: np.argsort(a),
            lambda: torch.sort(ta),
        ),
        Case(
            "diopiContiguous",
            (like(square), square.T, "Contiguous"),
            lambda: np.ascontiguousarray(square.T),
            lambda: tsquare.T.contiguous(),
        ),
        Case(
            "diopiMm",
            (like(square), square, other),
            lambda: np.matmul(square, other, out=flat),
            lambda: torch.mm(tsquare, tother, out=tflat),
        ),
    ]


def per_call(run: Callable[[], Any], calls: int) -> float:
    """Returns the seconds that a call takes."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def measure(runs: list[Run]) -> list[list[float]]:
    """Runs functions alternately. Returns the seconds of a call in each round, for each function."""
    calls = max(3, int(ROUND / max(per_call(run, 3) for run in runs)))
    rounds = [[per_call(run, calls) for run in runs] for _ in range(ROUNDS)]
    return [list(times) for times in zip(*rounds, strict=True)]


def cells(ours: list[float], theirs: list[float]) -> str:
    """Returns the columns of a counterpart: its time, and the ratio of the operator's time to it."""
    ratio = statistics.median(
        our / their for our, their in zip(ours, theirs, strict=True)
    )
    return f" {statistics.median(theirs) * 1e6:.1f} | {ratio:.2f} |"


def main() -> None:
    """Prints a table."""
    library = Path(os.environ["TENON_DIOPI_LIBRARY"])
    lib = Library(build(Path(tempfile.mkdtemp())), library)
    torch = import_torch()
    head, rule = (
        "| Operator | Elements | DIOPI, µs | NumPy or SciPy, µs | Ratio |",
        "|---|--:|--:|--:|--:|",
    )
    if torch:
        head, rule = (
            f"{head} PyTorch {torch.__version__}, µs | Ratio |",
            f"{rule}--:|--:|",
        )
    print(f"{head}\n{rule}")
    for size in (64, 4096, 262_144):
        for case in cases(torch, np.random.default_rng(0), size):
            if not lib.has(case.name):
                continue
            with lib.prepared(case.name, *case.args) as run:
                runs = [run, case.numpy, case.torch] if torch else [run, case.numpy]
                ours, *others = measure(runs)
            row = f"| `{case.name}` | {size:,} | {statistics.median(ours) * 1e6:.1f} |"
            print(row + "".join(cells(ours, theirs) for theirs in others), flush=True)


main()
