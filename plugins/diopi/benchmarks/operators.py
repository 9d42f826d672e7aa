"""Measures operators through the functions of DIOPI against PyTorch, NumPy and SciPy, with one thread.

Each operator and its counterparts run alternately on the same arrays. PyTorch is compared if it is installed.
"""

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from binding import Binding
from cases import Case, Run, cases, import_torch
from host import Library, build

# The time that a round of one side takes, in seconds.
ROUND = 0.02
# The most that an operator may take, compared to PyTorch.
GOAL = 1.5


class Row(NamedTuple):
    """The measurements of a case: the seconds of a call, for each round."""

    case: Case
    ours: list[float]
    torch: list[float] | None
    numpy: list[float] | None

    def ratio(self, theirs: list[float]) -> float:
        """Returns the median ratio of the operator's time to that of a counterpart."""
        pairs = zip(self.ours, theirs, strict=True)
        return statistics.median(our / their for our, their in pairs)


def per_call(run: Callable[[], Any], calls: int) -> float:
    """Returns the seconds that a call takes."""
    start = time.perf_counter()
    for _ in range(calls):
        run()
    return (time.perf_counter() - start) / calls


def measure(runs: list[Run], rounds: int) -> list[list[float]]:
    """Runs functions alternately. Returns the seconds of a call in each round, for each function."""
    calls = max(3, int(ROUND / max(per_call(run, 3) for run in runs)))
    found = [[per_call(run, calls) for run in runs] for _ in range(rounds)]
    return [list(times) for times in zip(*found, strict=True)]


def cells(row: Row, theirs: list[float] | None) -> str:
    """Returns the columns of a counterpart: its time, and the ratio of the operator's time to it."""
    if theirs is None:
        return " | |"
    return f" {statistics.median(theirs) * 1e6:,.1f} | {row.ratio(theirs):.2f} |"


def line(row: Row) -> str:
    """Returns a row of the table."""
    start = f"| `{row.case.name}` | {row.case.size} | {statistics.median(row.ours) * 1e6:,.1f} |"
    return start + cells(row, row.torch) + cells(row, row.numpy)


HEAD = """\
| Operator | Elements | DIOPI, µs | PyTorch, µs | Ratio | NumPy or SciPy, µs | Ratio |
|---|--:|--:|--:|--:|--:|--:|"""


def summary(rows: list[Row]) -> str:
    """Returns how many ratios to PyTorch meet the goals."""
    ratios = [row.ratio(row.torch) for row in rows if row.torch]
    if not ratios:
        return "PyTorch is not installed.\n"
    even = sum(ratio <= 1 for ratio in ratios)
    high = sum(ratio > GOAL for ratio in ratios)
    middle = statistics.geometric_mean(ratios)
    return (
        f"Of {len(ratios)} ratios to PyTorch, {even} are at most 1.0, and {high} are above {GOAL}. "
        f"Geometric mean: {middle:.2f}, largest: {max(ratios):.2f}.\n"
    )


def processor() -> str:
    """Returns the name of the processor, and the number of its cores."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [
        text.partition(":")[2].strip()
        for text in lines
        if text.startswith("model name")
    ]
    return f"{names[0]}, {len(names)} cores" if names else platform.processor()


def conditions(torch: Any, busy: float) -> str:
    """Returns the sentence that says what the table was measured with."""
    version = f" PyTorch {torch.__version__}." if torch else ""
    chosen = os.environ.get("TENON_DNNL", "")
    if "/" in chosen:
        version += f" oneDNN: `{Path(chosen).resolve().name}`."
    return f"{processor()}, one thread.{version} Load of the machine before the run: {busy:.1f}.\n"


def replaced(page: str, content: str) -> str:
    """Returns a page with other content between its two markers."""
    begin, end = "<!-- begin: bench diopi -->\n", "<!-- end: bench diopi -->"
    before, first, rest = page.partition(begin)
    _, second, after = rest.partition(end)
    if not first or not second:
        raise SystemExit(f"the page lacks the lines {begin.strip()} and {end}")
    return f"{before}{begin}\n{content}\n{end}{after}"


def options() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORD",
        help="only operators whose name contains this",
    )
    parser.add_argument("--rounds", type=int, default=7, help="default: %(default)s")
    parser.add_argument(
        "--page", type=Path, help="write the table between the markers of this page"
    )
    return parser.parse_args()


def main() -> None:
    """Prints a table."""
    chosen = options()
    busy = os.getloadavg()[0]
    torch = import_torch()
    library = Path(os.environ["TENON_DIOPI_LIBRARY"])
    folder = Path(tempfile.mkdtemp())
    runtime = build(folder)
    lib = Library(runtime, library)
    lib.runtime.host_keep_memory()
    found = [
        case
        for case in cases(torch)
        if lib.has(case.name)
        and (not chosen.only or any(word in case.name for word in chosen.only))
    ]
    binding = Binding(folder, sorted({case.name for case in found}), runtime, library)
    print(HEAD, flush=True)
    rows = []
    for case in found:
        with lib.prepared(case.name, *case.args) as values:
            sides = [binding.bind(case.name, values), case.torch, case.numpy]
            times = iter(
                measure([side for side in sides if side is not None], chosen.rounds)
            )
            ours, theirs, plain = (
                next(times) if side is not None else None for side in sides
            )
            assert ours is not None
            rows.append(Row(case, ours, theirs, plain))
        print(line(rows[-1]), flush=True)
    said = f"{conditions(torch, busy)}\n{summary(rows)}"
    print(f"\n{said}")
    if chosen.page:
        table = "\n".join([HEAD, *map(line, rows)])
        page = replaced(chosen.page.read_text(), f"{said}\n{table}\n")
        chosen.page.write_text(page)


main()
