"""Traces one training step: the calls of operators on the host's thread, and kernels on the stream.

The step runs with oneDNN, without it, and with one thread of the device, so that calls compute the
kernels themselves: each in a process of its own, after steps that warm it up. Of several steps the
shortest is kept. Each trace is a file in Chrome's format.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from report import processor

HERE = Path(__file__).parent
DEFAULT_DEVICE = os.environ.get("TENON_PADDLE_DEVICE_TYPE", "CustomCPU")

STEPS = """
import os
import sys
import time

import paddle
from paddle import profiler
from workloads import workloads

device, name, file = sys.argv[1:]
paddle.set_device(device)
paddle.seed(1)
step = workloads()[name].prepare()


def run():
    step()
    paddle.device.synchronize(device)


def traced():
    # A process has one profiler at a time.
    target = profiler.ProfilerTarget.CUSTOM_DEVICE
    tracing = profiler.Profiler(targets=[target], on_trace_ready=lambda _: None)
    tracing.start()
    start = time.perf_counter()
    run()
    taken = time.perf_counter() - start
    tracing.stop()
    return taken


for _ in range(10):
    run()
shortest = float("inf")
for _ in range(50):
    taken = traced()
    if taken < shortest:
        shortest = taken
        os.replace(os.environ["TENON_CPU_TRACE"], file)
"""

HEAD = """# Timeline of a training step

One training step of {model} in PaddlePaddle: the calls of operators on the host's thread, and the
kernels on the stream of the device. This page is written by the benchmark:

```console
$ cargo xtask bench timeline -- --page docs/src/guide/timeline.md
```

It also leaves the traces in `target/timeline`, for [Perfetto](https://ui.perfetto.dev).
[The CPU device](cpu-device.md#traces) says how to trace a program of your own.

The machine: {machine}. PaddlePaddle {version}. The step is the shortest of fifty.

- **Blue**: a call of an operator. Between calls PaddlePaddle and Python prepare the next one.
- **Green**: a kernel on a thread of the device, while the host continues.
- **Yellow**: a short kernel, which the call computes by itself. It is inside a blue call.
"""

WIDTH, LABEL, ROW = 720, 60, 34
"""The width of a picture, of its labels, and the height of a track, in pixels."""

CALL, QUEUED, INLINE = "#5c6bc0", "#2e7d32", "#f9a825"
"""The colours of calls, of kernels on threads of the device, and of those that calls compute."""


class Span(NamedTuple):
    """A call or a kernel, with times in microseconds."""

    name: str
    start: float
    end: float
    library: str | None = None
    """The library that computed a kernel, such as oneDNN."""

    @property
    def time(self) -> float:
        """Returns the length."""
        return self.end - self.start

    def title(self) -> str:
        """Returns the text that the browser shows."""
        library = f", {self.library}" if self.library else ""
        return f"{self.name}{library}, {self.time:.0f} µs"


class Step(NamedTuple):
    """A traced step."""

    calls: list[Span]
    inline: list[Span]
    """Kernels that calls have computed by themselves."""
    queued: list[Span]

    @property
    def end(self) -> float:
        """Returns the end of the last span. The first begins at zero."""
        return max(span.end for spans in self for span in spans)

    def dispatched(self) -> float:
        """Returns the end of the last call: until then the host had something to dispatch."""
        return max(span.end for span in self.calls)

    def overlap(self) -> float:
        """Returns the time of kernels on threads while the host had something to dispatch."""
        last = self.dispatched()
        return sum(max(0.0, min(span.end, last) - span.start) for span in self.queued)


def read(file: Path) -> Step:
    """Reads a trace."""
    spans: dict[str, list[Span]] = {"call": [], "kernel": []}
    for event in json.loads(file.read_text())["traceEvents"]:
        if event["ph"] == "X" and event["cat"] in spans:
            start = event["ts"]
            library = event.get("args", {}).get("library")
            spans[event["cat"]].append(Span(event["name"], start, start + event["dur"], library))
    calls = sorted(spans["call"], key=lambda span: span.start)

    def is_inline(kernel: Span) -> bool:
        return any(
            call.start <= kernel.start and kernel.end <= call.end and call.name == kernel.name
            for call in calls
        )

    inline = [kernel for kernel in spans["kernel"] if is_inline(kernel)]
    return Step(calls, inline, [kernel for kernel in spans["kernel"] if kernel not in inline])


def picture(step: Step, caption: str) -> str:
    """Returns a picture with a track of the host and a track of the stream."""
    scale = (WIDTH - LABEL - 10) / step.end

    def x(time: float) -> str:
        return f"{LABEL + time * scale:.1f}"

    lines = [
        f'<svg viewBox="0 0 {WIDTH} {2 * ROW + 20}" role="img" aria-label="{caption}" '
        f'style="max-width: {WIDTH}px; font: 12px sans-serif" fill="currentColor">',
        f'<text x="0" y="{ROW - 14}">host</text>',
        f'<text x="0" y="{2 * ROW - 14}">stream</text>',
    ]
    tracks = [(0, CALL, step.calls), (1, QUEUED, step.queued), (1, INLINE, step.inline)]
    for track, colour, spans in tracks:
        lines.append(f'<g fill="{colour}">')
        for span in spans:
            # A gap separates one from the next.
            width = max(span.time * scale - 0.7, 0.4)
            lines.append(
                f'<rect x="{x(span.start)}" y="{track * ROW + 4}" width="{width:.1f}" '
                f'height="{ROW - 6}"><title>{span.title()}</title></rect>'
            )
        lines.append("</g>")
    for millisecond in range(int(step.end / 1000) + 1):
        lines.append(
            f'<text x="{x(millisecond * 1000)}" y="{2 * ROW + 16}" text-anchor="middle">'
            f"{millisecond} ms</text>"
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def table(steps: dict[str, Step]) -> str:
    """Returns the times of the steps."""
    lines = ["| ms | " + " | ".join(steps) + " |", "|---|" + "--:|" * len(steps)]

    def row(title: str, *times: float) -> None:
        lines.append(f"| {title} | " + " | ".join(f"{time / 1e3:.2f}" for time in times) + " |")

    row("The step, from the first call on", *(step.end for step in steps.values()))
    row("Until the end of the last call", *(step.dispatched() for step in steps.values()))
    row(
        "Calls of operators, without the kernels in them",
        *(
            sum(span.time for span in step.calls) - sum(span.time for span in step.inline)
            for step in steps.values()
        ),
    )
    row("Kernels in calls", *(sum(span.time for span in step.inline) for step in steps.values()))
    row(
        "Kernels on threads of the device",
        *(sum(span.time for span in step.queued) for step in steps.values()),
    )
    row(
        "… of these before the last call has ended",
        *(step.overlap() for step in steps.values()),
    )
    return "\n".join(lines) + "\n"


def trace(device: str, workload: str, file: Path, **variables: str) -> Step:
    """Traces a workload in a process of its own."""
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "TENON_CPU_TRACE": f"{file}.new",
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent / "demo")]),
        **variables,
    }
    command = [sys.executable, "-c", STEPS, device, workload, str(file)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if ended.returncode != 0:
        raise SystemExit(f"a process failed:\n{ended.stderr}")
    return read(file)


def main() -> None:
    """Writes the traces, and prints the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="lenet", help="default: %(default)s")
    parser.add_argument("--device", default=f"{DEFAULT_DEVICE}:0", help="default: %(default)s")
    default = HERE.parents[2] / "target/timeline"
    parser.add_argument("--folder", type=Path, default=default, help="for the traces: %(default)s")
    parser.add_argument("--page", type=Path, help="write a page with pictures to this file")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    settings: dict[str, dict[str, str]] = {
        "With oneDNN": {},
        "Without oneDNN": {"TENON_DNNL": "off"},
        "With oneDNN, on one thread": {"TENON_CPU_THREADS": "1"},
    }
    steps = {}
    for title, variables in settings.items():
        file = options.folder / f"{title.lower().replace(',', '').replace(' ', '-')}.json"
        steps[title] = trace(options.device, f"{options.model} step", file, **variables)
        print(f"{title}: {file}")
    times = table(steps)
    print(times)
    if options.page is not None:
        head = HEAD.format(
            model=options.model, machine=processor(), version=metadata.version("paddlepaddle")
        )
        pictures = [f"## {title}\n\n{picture(step, title)}" for title, step in steps.items()]
        options.page.write_text("\n".join([head, *pictures, f"## Times\n\n{times}"]))


if __name__ == "__main__":
    main()
