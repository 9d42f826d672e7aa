"""Measures models and operators on the device against PaddlePaddle's own CPU.

Three processes take turns: one uses the device, and two use PaddlePaddle's CPU, with
`FLAGS_use_mkldnn` 0 and 1. The baseline of a workload is the one of these two that takes less
processor time. All have the same number of threads. With `--page`, a fourth process uses the
device without oneDNN.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any, NamedTuple

from page import page
from report import Measured, Side, markdown, text

DEFAULT_DEVICE = os.environ.get("TENON_PADDLE_DEVICE_TYPE", "CustomCPU")


class Setting(NamedTuple):
    """The measurements of a process."""

    device: str
    mkldnn: str
    onednn: bool = True
    """Whether the device may use oneDNN."""


class Worker:
    """A process that measures workloads in one setting."""

    def __init__(self, setting: Setting, threads: int, seconds: float) -> None:
        here = Path(__file__).parent
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(threads),
            "TENON_CPU_THREADS": str(threads),
            "FLAGS_use_mkldnn": setting.mkldnn,
            "PYTHONPATH": os.pathsep.join([str(here), str(here.parent / "demo")]),
            **({} if setting.onednn else {"TENON_DNNL": "off"}),
        }
        self.child = subprocess.Popen(
            [sys.executable, str(here / "worker.py"), setting.device, str(seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.stdin: IO[str] = self._pipe(self.child.stdin)
        self.stdout: IO[str] = self._pipe(self.child.stdout)
        self.setting = setting

    @staticmethod
    def _pipe(pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def ask(self, **request: object) -> Any:
        """Sends a request, and returns the answer."""
        print(json.dumps(request), file=self.stdin, flush=True)
        for line in self.stdout:
            if line.startswith("answer "):
                return json.loads(line.removeprefix("answer "))
        raise SystemExit(f"{self.setting} ended at {request}")

    def end(self) -> None:
        """Ends the process."""
        self.stdin.close()
        self.child.wait()


def measure(name: str, workers: list[Worker], rounds: int) -> list[Side]:
    """Measures a workload in all settings alternately."""
    calls = min(worker.ask(name=name) for worker in workers)
    found: list[Side] = [[] for _ in workers]
    for number in range(rounds):
        # Forwards and backwards, so that none always runs behind the same one.
        order = range(len(workers))
        for index in order if number % 2 == 0 else reversed(order):
            wall, processor = workers[index].ask(name=name, calls=calls)
            found[index].append((wall, processor))
    return found


def arguments() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only",
        action="append",
        metavar="WORD",
        help="only workloads whose name contains this, such as `step` or `gelu` (may be repeated)",
    )
    parser.add_argument("--all", action="store_true", help="all models, instead of the usual ones")
    parser.add_argument("--list", action="store_true", help="print the names of the workloads")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1], help="numbers of threads (default: 1)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="default: %(default)s")
    parser.add_argument(
        "--seconds",
        type=float,
        default=0.1,
        help="length of a round of an operator (default: %(default)s); of a model, five times that",
    )
    parser.add_argument("--device", default=f"{DEFAULT_DEVICE}:0", help="default: %(default)s")
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--page", type=Path, help="write a page with tables and plots to this file")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    return parser


def selected(options: argparse.Namespace, worker: Worker) -> dict[str, str]:
    """Returns the kinds of the workloads to measure, by name."""
    words: list[str] | None = options.only
    return {
        name: kind
        for name, (kind, default) in worker.ask().items()
        if (options.all or default or (words and name in words))
        and (words is None or any(word in name for word in words))
    }


def main() -> None:
    """Prints the tables."""
    options = arguments().parse_args()
    settings = [Setting(options.device, "0"), Setting("cpu", "0"), Setting("cpu", "1")]
    if options.page is not None:
        settings.append(Setting(options.device, "0", onednn=False))
    found: list[Measured] = []
    for threads in options.threads:
        workers = [Worker(setting, threads, options.seconds) for setting in settings]
        names = selected(options, workers[0])
        if options.list:
            print("\n".join(names))
            return
        for name, kind in names.items():
            sides = measure(name, workers, options.rounds)
            found.append(Measured(name, kind, threads, *sides))
            print(text(found[-1]), flush=True)
        for worker in workers:
            worker.end()
    tables = markdown(found)
    print(f"\n{tables}")
    if options.page is not None:
        options.page.write_text(page(found))
    if options.markdown is not None:
        options.markdown.write_text(tables)
    if options.json is not None:
        options.json.write_text(json.dumps([one._asdict() for one in found], indent=1) + "\n")


if __name__ == "__main__":
    main()
