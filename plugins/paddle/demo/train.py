"""Train a LeNet and a small Transformer on the plugin's device and on Paddle's CPU, side by side.

Each run is a process of its own: a clean start for the clock, and a peak of memory that is its
own. The data is made on the spot, and both devices see the same batches from the same weights.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Callable

TASKS = ("lenet", "transformer")
MODES = ("dygraph", "to_static", "executor")
DEFAULT_DEVICE = os.environ.get("TENON_PADDLE_DEVICE_TYPE", "CustomCPU")


@dataclass
class Run:
    """The results of one run."""

    task: str
    device: str
    mode: str
    steps: int
    first_loss: float
    final_loss: float
    seconds: float
    memory_mib: float
    """How far the process grew: comparable, since the device's memory is the host's."""
    device_memory_mib: float | None
    """Paddle's own count of the device's peak, where the release keeps one."""


def arguments() -> argparse.ArgumentParser:
    """Parses the command line."""
    parser = argparse.ArgumentParser(
        description=(
            "Train a LeNet (digits) and a small Transformer (sentences said backwards) on a "
            "custom device and on Paddle's CPU, from the same weights and on the same batches, "
            "and compare the losses, the time and the memory."
        ),
        epilog=(
            "The plugin is found in site-packages/paddle_custom_device, or in the folder that "
            "CUSTOM_DEVICE_ROOT names. The exit status is 1 if a network did not learn, or did "
            "not learn the same on both devices."
        ),
    )
    parser.add_argument(
        "--task", choices=TASKS, action="append", help="train only this network (may be repeated)"
    )
    parser.add_argument(
        "--mode",
        choices=MODES,
        default="dygraph",
        help="how Paddle runs the network: eager, compiled, or as a static program "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--steps", type=_positive, default=60, help="batches to train on (default: %(default)s)"
    )
    parser.add_argument(
        "--device", default=f"{DEFAULT_DEVICE}:0", help="the custom device (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--run-here", action="store_true", help=argparse.SUPPRESS)
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number of steps")
    return number


class Progress:
    """A progress bar, shown only on a terminal."""

    WIDTH = 24

    def __init__(self, title: str, steps: int) -> None:
        self.title, self.steps = title, steps
        self.shown = sys.stderr.isatty()

    def at(self, step: int, loss: float) -> None:
        """Draws the bar after a step."""
        if self.shown:
            full = self.WIDTH * step // self.steps
            bar = "━" * full + " " * (self.WIDTH - full)
            sys.stderr.write(f"\r{self.title:<28} {bar} {step:>4}/{self.steps}  loss {loss:.4f}")
            sys.stderr.flush()

    def done(self) -> None:
        """Clears the line."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _grown_mib() -> float:
    """Returns the largest size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _device_peak_mib(device: str) -> float | None:
    """Returns Paddle's count of a device's peak. Before 3.0 it does not count custom devices."""
    import paddle

    kind, _, number = device.partition(":")
    if kind == "cpu" or paddle.__version__.startswith("2."):
        return None
    stat = paddle.base.core.device_memory_stat_peak_value
    return float(stat("Allocated", int(number or 0))) / 2**20


def run_here(task: str, device: str, mode: str, steps: int) -> None:
    """Trains in this process: prints a line of JSON for each step, then one for the run."""
    import paddle

    from models import TASKS as NETWORKS
    from models import train

    def say(step: int, loss: float) -> None:
        print(json.dumps({"step": step, "loss": loss}), flush=True)

    present = ["cpu", *paddle.device.get_available_custom_device()]
    if device not in present:
        print(json.dumps({"error": f"no device {device}: Paddle has {', '.join(present)}"}))
        return
    paddle.set_device(device)
    paddle.ones([1]).numpy()
    before = _grown_mib()
    # A first step on its own, so that the clock does not count what happens only once.
    train(NETWORKS[task], device, 1, mode)
    history = train(NETWORKS[task], device, steps, mode, on_step=say)
    if device != "cpu":
        paddle.device.synchronize(device)
    run = Run(
        task,
        device,
        mode,
        steps,
        history.losses[0],
        history.final(),
        history.seconds,
        _grown_mib() - before,
        _device_peak_mib(device),
    )
    print(json.dumps({"run": asdict(run)}), flush=True)


def run_apart(task: str, device: str, mode: str, steps: int, on_step: Callable[..., None]) -> Run:
    """Trains in a separate process and shows its progress."""
    command = [sys.executable, str(Path(__file__).resolve()), "--run-here"]
    command += ["--task", task, "--device", device, "--mode", mode, "--steps", str(steps)]
    # Paddle logs to stderr while it works well, so its words are only shown if it does not.
    # A thread drains them: a full pipe would stop the run.
    said: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        listener = threading.Thread(target=said.extend, args=(child.stderr,))
        listener.start()
        run = None
        for line in child.stdout:
            if not line.startswith("{"):
                continue
            message = json.loads(line)
            if "run" in message:
                run = Run(**message["run"])
            elif "error" in message:
                raise SystemExit(message["error"])
            else:
                on_step(message["step"], message["loss"])
        listener.join()
    if child.returncode != 0 or run is None:
        sys.stderr.write("".join(said))
        raise SystemExit(f"training {task} on {device} ended with status {child.returncode}")
    return run


def same(ours: Run, wanted: Run) -> bool:
    """Returns True if both runs reduced the loss and their losses agree."""
    close = abs(ours.final_loss - wanted.final_loss) <= 0.02 + 0.1 * wanted.final_loss
    return close and ours.final_loss < ours.first_loss


def table(runs: list[tuple[Run, Run]]) -> str:
    """Formats the results as text."""
    heads = ("network", "", "first loss", "final loss", "time", "memory", "on device")
    rows: list[tuple[str, ...]] = [heads]
    for ours, host in runs:
        for index, run in enumerate((ours, host)):
            counted = run.device_memory_mib
            rows.append(
                (
                    "" if index else run.task,
                    run.device,
                    f"{run.first_loss:.4f}",
                    f"{run.final_loss:.4f}",
                    f"{run.seconds:.2f} s",
                    f"{run.memory_mib:.1f} MiB",
                    "-" if counted is None else f"{counted:.1f} MiB",
                )
            )
        growth = f"{ours.memory_mib / host.memory_mib:.2f} x" if host.memory_mib >= 1 else "-"
        rows.append(("", "ratio", "", "", f"{ours.seconds / host.seconds:.2f} x", growth, ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(heads))]
    lines = []
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row[:2], widths)]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:])]
        lines.append("  ".join(cells).rstrip())
        if number == 0 or row[1] == "ratio":
            lines.append("─" * (sum(widths) + 2 * len(widths) - 2))
    return "\n".join(lines)


def main() -> int:
    """Runs the selected tasks and compares the results."""
    options = arguments().parse_args()
    tasks: list[str] = options.task or list(TASKS)
    if options.run_here:
        run_here(tasks[0], options.device, options.mode, options.steps)
        return 0
    runs = []
    for task in tasks:
        pair = []
        for device in (options.device, "cpu"):
            progress = Progress(f"{task} on {device}", options.steps)
            try:
                pair.append(run_apart(task, device, options.mode, options.steps, progress.at))
            finally:
                progress.done()
        runs.append((pair[0], pair[1]))
    agreed = all(same(ours, host) for ours, host in runs)
    if options.json:
        results = [asdict(run) for pair in runs for run in pair]
        print(json.dumps({"runs": results, "agreed": agreed}, indent=2))
    else:
        print(table(runs))
        if not agreed:
            print("The two devices did not learn the same.")
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
