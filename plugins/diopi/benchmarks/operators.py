"""Measures operators through the functions of DIOPI against NumPy and SciPy, with one thread.

Each operator and its counterpart run alternately on the same arrays, with a place for the result. A call of an operator
includes the way through ctypes and the wait for its stream.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from host import Library, Number, build, like

ROUNDS = 7
# The time that a round of one side takes, in seconds.
ROUND = 0.02

Case = tuple[str, tuple[Any, ...], Callable[[], Any]]


def cases(rng: np.random.Generator, size: int) -> list[Case]:
    """Returns operators with their arguments, and their counterparts, for some elements."""
    side = int(size**0.5)
    a, b = (rng.uniform(0.5, 2, size).astype(np.float32) for _ in range(2))
    square, other = (
        a[: side * side].reshape(side, side),
        b[: side * side].reshape(side, side),
    )
    out, flat, row = np.empty_like(a), np.empty_like(square), np.empty(side, np.float32)
    one = Number(1, np.float64)
    return [
        ("diopiAdd", (like(a), a, b, one), lambda: np.add(a, b, out=out)),
        ("diopiMul", (like(a), a, b), lambda: np.multiply(a, b, out=out)),
        ("diopiExp", (like(a), a), lambda: np.exp(a, out=out)),
        ("diopiTanh", (like(a), a), lambda: np.tanh(a, out=out)),
        (
            "diopiGelu",
            (like(a), a, "none"),
            lambda: np.multiply(a, special.ndtr(a), out=out),
        ),
        ("diopiSum", (like(row), square, [1]), lambda: np.sum(square, axis=1, out=row)),
        (
            "diopiMax",
            (like(row), like(row, np.int64), square, 1),
            lambda: square.max(axis=1),
        ),
        ("diopiMean", (like(row), square, [1]), lambda: square.mean(axis=1, out=row)),
        (
            "diopiSoftmax",
            (like(square), square, 1),
            lambda: special.softmax(square, axis=1),
        ),
        (
            "diopiSort",
            (like(a), like(a, np.int64), a, 0, False, None),
            lambda: np.argsort(a),
        ),
        (
            "diopiContiguous",
            (like(square), square.T, "Contiguous"),
            lambda: np.copyto(flat, square.T),
        ),
        (
            "diopiMm",
            (like(square), square, other),
            lambda: np.matmul(square, other, out=flat),
        ),
    ]


def per_call(run: Callable[[], Any], calls: int) -> float:
    """Returns the seconds that a call takes."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def main() -> None:
    """Prints a table."""
    library = Path(os.environ["TENON_DIOPI_LIBRARY"])
    lib = Library(build(Path(tempfile.mkdtemp())), library)
    print(
        "| Operator | Elements | DIOPI, µs | NumPy or SciPy, µs | Ratio |\n|---|--:|--:|--:|--:|"
    )
    for size in (64, 4096, 262_144):
        for name, args, counterpart in cases(np.random.default_rng(0), size):
            if not lib.has(name):
                continue
            with lib.prepared(name, *args) as run:
                calls = max(
                    3, int(ROUND / max(per_call(run, 3), per_call(counterpart, 3)))
                )
                rounds = [
                    (per_call(run, calls), per_call(counterpart, calls))
                    for _ in range(ROUNDS)
                ]
            ours, theirs = (
                statistics.median(side) * 1e6 for side in zip(*rounds, strict=True)
            )
            ratio = statistics.median(our / their for our, their in rounds)
            print(f"| `{name}` | {size:,} | {ours:.1f} | {theirs:.1f} | {ratio:.2f} |")


main()
