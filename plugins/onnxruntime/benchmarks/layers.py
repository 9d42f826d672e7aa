"""Measures what the layers between ONNX Runtime and a provider cost.

A model of a thousand additions of four numbers runs on the device, with and without layers, in
processes that take turns. The table has the median time of a node, and the difference.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import onnxruntime
import provider

from compare import chain

NODES = 1000
SETUPS = {"no layers": None, "validate": "validate", "trace": "trace", "both": "validate,trace"}


def work(library: str) -> None:
    """Serves runs: reads lines, and answers each with the seconds of a run."""
    model, inputs = chain(1)
    onnxruntime.register_execution_provider_library("tenon", library)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_provider_for_devices(provider.devices()[:1], {})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    session.run(None, inputs)
    print("ready", flush=True)
    for _ in sys.stdin:
        begin = time.perf_counter()
        session.run(None, inputs)
        print(time.perf_counter() - begin, flush=True)


def start(layers: str | None, between: Path) -> subprocess.Popen[str]:
    """Starts a process that serves runs."""
    environment = dict(os.environ)
    library = provider.library()
    if layers is not None:
        environment.update(
            TENON_PLUGIN=str(library), TENON_LAYERS=layers, TENON_TRACE_FILE=os.devnull
        )
        library = between.resolve()
    command = [sys.executable, __file__, "--work", str(library)]
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    return process


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("between", type=Path, nargs="?", help="the library of the layers")
    parser.add_argument("--rounds", type=int, default=51, help="runs of each (default: 51)")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work is not None:
        work(options.work)
        return
    processes = {name: start(layers, options.between) for name, layers in SETUPS.items()}
    times: dict[str, list[float]] = {name: [] for name in SETUPS}
    for _ in range(options.rounds):
        for name, process in processes.items():
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            times[name].append(float(process.stdout.readline()) / NODES * 1e9)
    medians = {name: statistics.median(found) for name, found in times.items()}
    print(f"{'':<10}{'ns a node':>10}{'added':>8}")
    for name, median in medians.items():
        print(f"{name:<10}{median:>10,.0f}{median - medians['no layers']:>8,.0f}")
    for process in processes.values():
        process.kill()


if __name__ == "__main__":
    main()
