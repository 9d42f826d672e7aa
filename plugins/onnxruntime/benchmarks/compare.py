"""Measures models on the device and on ONNX Runtime's CPU provider.

Each runs in a process of its own, and they take turns. The table has the median time of a run, and
ratios of the device to the CPU provider: of that time, with oneDNN and without, of the time to make
a session, and of the most memory of the process.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time
from importlib import metadata
from pathlib import Path
from typing import IO, Any

import numpy
import onnxruntime
import provider
from models import MODELS, Builder, Made


def chain(batch: int) -> Made:
    """A thousand additions of four numbers, which show what a node costs."""
    b = Builder()
    x = b.input("x", numpy.zeros((batch, 4), numpy.float32))
    one = b.constant(numpy.full(4, 1e-3, numpy.float32))
    for _ in range(1000):
        x = b.node("Add", x, one)
    return b.made(x)


ALL = {"chain": chain, **MODELS}


def onednn() -> str:
    """Returns the path of oneDNN, which the extra of the wheel installs."""
    files = metadata.files("onednn-cpu-gomp") or []
    (path,) = (file.locate() for file in files if file.name == "libdnnl.so.3")
    return str(path)


def work(name: str, batch: int, threads: int, on_device: bool) -> None:
    """Serves runs: reads a number of runs from a line, and answers with their seconds."""
    model, inputs = ALL[name](batch)
    if on_device:
        onnxruntime.register_execution_provider_library("tenon", str(provider.library()))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    if name == "chain":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if on_device:
        options.add_provider_for_devices(provider.devices()[:1], {})
    text = model.SerializeToString()
    start = time.perf_counter()
    session = onnxruntime.InferenceSession(text, options)
    created = time.perf_counter() - start
    session.run(None, inputs)
    print(json.dumps(created), flush=True)
    for line in sys.stdin:
        start = time.perf_counter()
        for _ in range(int(line)):
            session.run(None, inputs)
        print(json.dumps(time.perf_counter() - start), flush=True)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, flush=True)


class Worker:
    """A process that runs a model.

    It is stopped between its turns, because idle threads of a session poll for work.
    """

    def __init__(self, name: str, batch: int, threads: int, on_device: bool, library: str) -> None:
        task = [name, str(batch), str(threads), str(int(on_device))]
        environment = {
            **os.environ,
            "TENON_DNNL": library,
            "TENON_CPU_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
        }
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--work", *task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.created = float(self.read())
        self.process.send_signal(signal.SIGSTOP)

    def read(self) -> str:
        """Reads an answer."""
        output: IO[str] | None = self.process.stdout
        line = output.readline() if output else ""
        assert line, "the worker ended"
        return line

    def run(self, count: int) -> float:
        """Returns the seconds of some runs."""
        assert self.process.stdin
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        seconds = float(self.read())
        self.process.send_signal(signal.SIGSTOP)
        return seconds

    def end(self) -> int:
        """Ends the process, and returns the most memory that it had in KiB."""
        assert self.process.stdin
        self.process.send_signal(signal.SIGCONT)
        self.process.stdin.close()
        memory = int(self.read())
        self.process.wait()
        return memory


def compare(name: str, batch: int, threads: int, rounds: int) -> dict[str, Any]:
    """Measures a model in three processes: the CPU provider, the device, the device with oneDNN."""
    kinds = ((False, "off"), (True, "off"), (True, onednn()))
    workers = [Worker(name, batch, threads, *kind) for kind in kinds]
    once = max(worker.run(3) / 3 for worker in workers)
    count = max(1, int(0.2 / once))
    times: list[list[float]] = [[], [], []]
    for _ in range(rounds):
        for worker, seconds in zip(workers, times, strict=True):
            seconds.append(worker.run(count) / count)
    host, device, faster = (statistics.median(seconds) for seconds in times)
    created = [worker.created for worker in workers]
    memory = [worker.end() for worker in workers]
    return {
        "host": host,
        "device": device,
        "onednn": faster,
        "ratio": device / host,
        "onednn ratio": faster / host,
        "session": created[1] / created[0],
        "memory": memory[1] / memory[0],
    }


BEGIN, END = "<!-- begin: bench onnxruntime -->", "<!-- end: bench onnxruntime -->"


def replaced(page: str, content: str) -> str:
    """Returns a page with other content between its two markers."""
    before, first, rest = page.partition(BEGIN)
    _, last, after = rest.partition(END)
    if not first or not last:
        raise SystemExit(f"the page lacks the lines {BEGIN} and {END}")
    return f"{before}{first}\n\n{content}\n\n{last}{after}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help=f"some of: {', '.join(ALL)}")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each measurement")
    parser.add_argument("--threads", type=int, nargs="*", default=[1, 2], help="numbers of threads")
    parser.add_argument("--batches", type=int, nargs="*", default=[1, 16], help="sizes of a batch")
    parser.add_argument("--page", type=Path, help="page with markers for the table")
    parser.add_argument("--work", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        name, batch, threads, on_device = options.work
        work(name, int(batch), int(threads), on_device == "1")
        return
    lines = [
        "| Model | Batch | Threads | CPU provider | Device | Ratio | With oneDNN | Ratio "
        "| Session | Memory |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    rows = []
    for name in options.models or ALL:
        for batch in options.batches:
            for threads in options.threads:
                row = compare(name, batch, threads, options.rounds)
                rows.append(row)
                host, device, faster = (
                    f"{1e6 * row[key]:.0f} µs" for key in ("host", "device", "onednn")
                )
                ratio, fast, made, memory = (
                    f"{row[key]:.2f}" for key in ("ratio", "onednn ratio", "session", "memory")
                )
                cells = [
                    f"`{name}`",
                    batch,
                    threads,
                    host,
                    device,
                    ratio,
                    faster,
                    fast,
                    made,
                    memory,
                ]
                lines.append(f"| {' | '.join(str(cell) for cell in cells)} |")
                print(lines[-1], flush=True)
    mean, mean_fast = (
        statistics.geometric_mean(row[key] for row in rows) for key in ("ratio", "onednn ratio")
    )
    said = (
        f"ONNX Runtime {onnxruntime.__version__}, {os.cpu_count()} cores, median of "
        f"{options.rounds} rounds. Geometric mean of the ratios: {mean:.2f}, "
        f"oneDNN {mean_fast:.2f}."
    )
    content = "\n".join([said, "", *lines])
    print(content)
    if options.page:
        options.page.write_text(replaced(options.page.read_text(), content))


if __name__ == "__main__":
    main()
