"""Measures whole processes: the time that the plugin adds to `import paddle`, and peak memory.

The import runs alternately with the plugin and without it. Each training step runs alternately on
the device and on PaddlePaddle's CPU. Each run is a process of its own, with one thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
DEFAULT_DEVICE = os.environ.get("TENON_PADDLE_DEVICE_TYPE", "CustomCPU")

IMPORT = """
import sys
import paddle
assert bool(paddle.device.get_all_custom_device_type()) == (sys.argv[1] == "with")
"""

NAMES = """
from workloads import is_default, workloads
for name, workload in workloads().items():
    if workload.kind == "step" and is_default(name):
        print("name", name)
"""

TRAIN = """
import resource
import sys
import paddle
from workloads import workloads

device, name, steps = sys.argv[1:]
paddle.set_device(device)
paddle.seed(1)
step = workloads()[name].prepare()
for _ in range(int(steps)):
    step()
if device != "cpu":
    paddle.device.synchronize(device)
print("KiB", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(program: str, *arguments: str, **variables: str) -> tuple[float, list[str]]:
    """Runs a program in a process of its own.

    Returns its wall time in seconds, and the lines of its output.
    """
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TENON_CPU_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent / "demo")]),
        **variables,
    }
    command = [sys.executable, "-c", program, *arguments]
    start = time.perf_counter()
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wall = time.perf_counter() - start
    if ended.returncode != 0:
        raise SystemExit(f"a process failed:\n{ended.stderr}")
    return wall, ended.stdout.splitlines()


def found(lines: list[str], word: str) -> list[str]:
    """Returns what follows a word at the start of lines."""
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]


def imports(rounds: int) -> None:
    """Prints the time of `import paddle` with the plugin and without it."""
    with tempfile.TemporaryDirectory() as empty:
        # PaddlePaddle searches this folder in place of the one that the wheel is installed in.
        sides: dict[str, dict[str, str]] = {"with": {}, "without": {"CUSTOM_DEVICE_ROOT": empty}}
        times: dict[str, list[float]] = {side: [] for side in sides}
        for number in range(rounds + 1):
            for side in sides if number % 2 == 0 else reversed(sides):
                wall, _ = run(IMPORT, side, **sides[side])
                # The first round reads the files from the disk.
                if number > 0:
                    times[side].append(wall)
    pairs = zip(times["with"], times["without"])
    added = median(ours - theirs for ours, theirs in pairs)
    print("### A process that imports PaddlePaddle\n")
    print("| With the plugin, ms | Without it, ms | Difference, ms |\n|--:|--:|--:|")
    with_plugin, without = (median(times[side]) for side in ("with", "without"))
    print(f"| {with_plugin * 1e3:,.0f} | {without * 1e3:,.0f} | {added * 1e3:,.0f} |\n")


def memory(device: str, rounds: int, steps: int) -> None:
    """Prints the peak memory of training on the device and on PaddlePaddle's CPU."""
    print(f"### Peak resident memory of a process with {steps} training steps\n")
    print("| | Device, MiB | PaddlePaddle's CPU, MiB | Ratio |\n|---|--:|--:|--:|")
    for name in found(run(NAMES)[1], "name"):
        peaks: dict[str, list[float]] = {device: [], "cpu": []}
        for _ in range(rounds):
            for side, values in peaks.items():
                _, lines = run(TRAIN, side, name, str(steps))
                values.append(int(found(lines, "KiB")[0]) / 1024)
        ours, theirs = (median(values) for values in peaks.values())
        print(f"| {name} | {ours:,.0f} | {theirs:,.0f} | {ours / theirs:.2f} |", flush=True)


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="default: %(default)s")
    parser.add_argument("--steps", type=int, default=20, help="default: %(default)s")
    parser.add_argument("--device", default=f"{DEFAULT_DEVICE}:0", help="default: %(default)s")
    options = parser.parse_args()
    imports(options.rounds)
    memory(options.device, max(1, options.rounds // 5), options.steps)


if __name__ == "__main__":
    main()
