"""Train with each optional function of the device hidden in turn, and compare the losses.

Each training is a process of its own, in which the layers plugin hides one function of the
device. PaddlePaddle then uses its fallback. `cargo xtask hidden` runs it in each release.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

NOTHING = ""
"""The name that hides no function."""

ALL = "all"
"""The name that hides every optional function."""

SAME = "same"
"""The result of a training whose losses are those of the complete device."""

TRAIN = """
import paddle

paddle.set_device(paddle.device.get_all_custom_device_type()[0])
paddle.seed(3)
net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.Adam(parameters=net.parameters(), learning_rate=0.05)
x = paddle.arange(32, dtype="float32").reshape([8, 4]) / 32
y = x.sum(axis=1, keepdim=True)
for step in range(3):
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print(f"loss {float(loss):.6f}")
event = paddle.device.Event()
event.record()
event.query()
event.synchronize()
stream = paddle.device.Stream()
stream.wait_event(event)
stream.query()
stream.synchronize()
paddle.device.synchronize()
"""

Results = dict[str, dict[str, str]]
"""For each function, the result in each release."""


def train(plugin: Path, layers: Path, function: str) -> str:
    """Trains without a function; returns the losses, or the reason of the failure."""
    environment = {
        **os.environ,
        "CUSTOM_DEVICE_ROOT": str(layers.parent),
        "TENON_PADDLE_PLUGIN": str(plugin),
        "TENON_LAYERS": "profile,validate",
        "TENON_PROFILE_HIDE": function,
        "GLOG_minloglevel": "2",
        "PYTHONWARNINGS": "ignore",
    }
    done = subprocess.run(
        [sys.executable, "-c", TRAIN], env=environment, capture_output=True, text=True, check=False
    )
    losses = [line for line in done.stdout.splitlines() if line.startswith("loss ")]
    if done.returncode == 0 and "tenon: error" not in done.stderr:
        return " ".join(losses)
    said = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    return said[-1] if said else f"exit status {done.returncode}"


def run(plugin: Path, layers: Path, functions: Iterable[str]) -> dict[str, str]:
    """Trains without each function; returns the results."""
    complete = train(plugin, layers, NOTHING)
    if not complete.startswith("loss "):
        raise SystemExit(f"the training fails on the complete device: {complete}")
    names = [*functions, ALL]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda name: train(plugin, layers, name), names)
    return {
        name: SAME if result == complete else result.replace("loss ", "")
        for name, result in zip(names, results)
    }


def page(results: Results) -> str:
    """Returns the page of the guide."""
    releases = sorted({release for row in results.values() for release in row})
    outcomes = [result for row in results.values() for result in row.values()]
    functions = len(results) - (ALL in results)
    rows = []
    for name, row in sorted(results.items(), key=lambda item: item[0] == ALL):
        title = "all of them" if name == ALL else f"`{name}`"
        cells = [row.get(release, "not in this release") for release in releases]
        rows.append(f"| {title} | {' | '.join(cells)} |")
    return f"""# Without optional functions

A device may leave out optional functions, and PaddlePaddle then uses a fallback. To try each
fallback, `cargo xtask hidden` trains a small network with Adam on the CPU device and uses streams
and events, while the [layer `profile`](layers.md#profile) hides one optional function. The layer
`validate` checks all calls. A training is the *same* if its losses are those of the complete device
in the same release.

{outcomes.count(SAME)} of {len(outcomes)} trainings are the same, with {functions} functions and
{len(releases)} releases. The command wrote this page.

| Without | {" | ".join(releases)} |
|---|{"---|" * len(releases)}
{chr(10).join(rows)}
"""


def main() -> None:
    """Runs the trainings of this release, or writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--results", type=Path, required=True, help="file for the results, JSON")
    parser.add_argument("--page", type=Path, help="write the page, and train nothing")
    parser.add_argument("--layers", type=Path, help="the layers plugin")
    parser.add_argument("functions", nargs="*", help="the functions to hide")
    options = parser.parse_args()
    results: Results = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.page:
        options.page.write_text(page(results))
        return
    import paddle

    release = ".".join(paddle.__version__.split(".")[:2])
    plugin = Path(paddle.__file__).parent.parent / "paddle_custom_device" / "libtenon_paddle.so"
    for name, result in run(plugin, options.layers, options.functions).items():
        results.setdefault(name, {})[release] = result
        if result != SAME:
            print(f"{release} without {name}: {result}")
    options.results.write_text(json.dumps(results, indent=1))
    same = sum(row.get(release) == SAME for row in results.values())
    print(f"PaddlePaddle {paddle.__version__}: {same} trainings are the same")


if __name__ == "__main__":
    main()
