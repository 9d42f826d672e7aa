"""Report which operators of common networks the device computes, and which Paddle's CPU does.

Each network is trained for one step and used once, in a process of its own. PaddlePaddle logs each
operator that it hands to the CPU because the device has none; the rest ran on the device.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

DEFAULT_DEVICE = os.environ.get("TENON_PADDLE_DEVICE_TYPE", "CustomCPU")

FALLBACK = re.compile(r"missing \w+ kernel: (\w+), .*fallbacking to CPU")
"""The line that PaddlePaddle logs for an operator that it hands to the CPU."""

NAMES = (
    "mlp",
    "lenet",
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "unet",
    "lstm",
    "gru",
    "bert",
    "gpt",
    "vit",
)
"""The networks of `zoo`, whose import needs PaddlePaddle."""

MARK = "coverage: the step begins"
"""Printed behind the start, which draws the parameters."""


def run(network: str, device: str) -> None:
    """Trains a network for one step and uses it once."""
    import paddle

    paddle.set_device(device)
    paddle.seed(1)
    from zoo import NETWORKS

    model, loss = NETWORKS[network]()
    optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
    sys.stderr.write(f"{MARK}\n")
    sys.stderr.flush()
    value = loss()
    value.backward()
    optimizer.step()
    optimizer.clear_grad()
    model.eval()
    with paddle.no_grad():
        loss()
    operators = paddle.base.core.get_low_precision_op_list()
    json.dump({"loss": float(value), "operators": list(operators)}, sys.stdout)
    sys.stdout.flush()
    # With GLOG_vmodule, PaddlePaddle frees a string twice when a process ends in the usual way.
    os._exit(0)


def measure(network: str, device: str) -> tuple[dict[str, object], Counter[str]]:
    """Runs a network in a process of its own; returns what it printed, and its fallbacks."""
    environment = {
        **os.environ,
        "GLOG_vmodule": "kernel_factory=3",
        "GLOG_logtostderr": "1",
        "FLAGS_low_precision_op_list": "1",
    }
    # A file instead of a pipe: nobody reads while the process writes.
    with tempfile.TemporaryFile("w+") as log:
        finished = subprocess.run(
            [sys.executable, __file__, "--device", device, "--run", network],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            check=False,
        )
        log.seek(0)
        lines = log.read()
    if finished.returncode != 0:
        raise SystemExit(f"{network} failed:\n{lines[-2000:]}")
    report: dict[str, object] = json.loads(finished.stdout[finished.stdout.index('{"loss"') :])
    return report, Counter(FALLBACK.findall(lines.partition(MARK)[2]))


class Kernels(NamedTuple):
    """The kernels that PaddlePaddle has for the CPU, by who computes them on a device."""

    plugin: list[str]
    """The plugin of the device."""
    paddle: list[str]
    """PaddlePaddle, for all custom devices alike, such as `reshape`."""
    cpu: list[str]
    """The CPU, on copies."""


def kernels(device: str) -> Kernels:
    """Returns the kernels of the running PaddlePaddle."""
    from paddle.base import core

    found = Kernels([], [], [])
    for kernel, keys in sorted(core._get_registered_phi_kernels("all").items()):
        backends = {key.strip("(").partition(",")[0] for key in keys}
        if "CPU" not in backends:
            continue
        if device.partition(":")[0] in backends:
            found.plugin.append(kernel)
        elif "CUSTOM" in backends:
            found.paddle.append(kernel)
        else:
            found.cpu.append(kernel)
    return found


def list_kernels(device: str) -> None:
    """Prints the kernels that run on the CPU."""
    found = kernels(device)
    print(f"{len(found.plugin):>5} kernels of the plugin")
    print(f"{len(found.paddle):>5} kernels of PaddlePaddle for all custom devices")
    print(f"{len(found.cpu):>5} kernels on the CPU:")
    for kernel in found.cpu:
        print(f"      {kernel}")


def main() -> int:
    """Prints the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", action="append", help="only this network (may be repeated)")
    parser.add_argument("--device", default=f"{DEFAULT_DEVICE}:0", help="default: %(default)s")
    parser.add_argument("--json", type=Path, help="write the report to this file as well")
    parser.add_argument(
        "--kernels", action="store_true", help="list the kernels that run on the CPU, and end"
    )
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        run(options.run, options.device)
        return 0
    if options.kernels:
        list_kernels(options.device)
        return 0
    sys.path.insert(0, str(Path(__file__).parent))
    networks = options.network or NAMES
    reports = {}
    print(f"{'network':<14}{'operators':>10}{'on the CPU':>12}{'calls':>7}  which")
    for network in networks:
        report, fallbacks = measure(network, options.device)
        reports[network] = {**report, "fallbacks": dict(fallbacks)}
        names = ", ".join(f"{name} ({count})" for name, count in fallbacks.most_common())
        operators = report["operators"]
        count = len(operators) if isinstance(operators, list) else 0
        print(f"{network:<14}{count:>10}{len(fallbacks):>12}{sum(fallbacks.values()):>7}  {names}")
    if options.json is not None:
        options.json.write_text(json.dumps(reports, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
