"""Report which operators of common networks the device computes, and which Paddle's CPU does.

Each network is trained for one step and used once, in a process of its own, under
`tenon.report`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from tenon.report import restart
from tenon.report.paddle.results import Report, build
from tenon.report.run import run as run_script
from tenon.report.text import size

DEFAULT_DEVICE = os.environ.get("TENON_PADDLE_DEVICE_TYPE", "CustomCPU")

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
    "detector",
    "graph",
    "transducer",
    "spectrogram",
    "linear_algebra",
)
"""The networks of `zoo`, whose import needs PaddlePaddle."""


def run(network: str, device: str) -> None:
    """Trains a network for one step and uses it once."""
    import paddle

    paddle.set_device(device)
    paddle.seed(1)
    from zoo import NETWORKS

    model, loss = NETWORKS[network]()
    optimizer = paddle.optimizer.AdamW(1e-3, parameters=model.parameters())
    # The start draws the parameters.
    restart()
    value = loss()
    value.backward()
    optimizer.step()
    optimizer.clear_grad()
    model.eval()
    with paddle.no_grad():
        loss()
    json.dump({"loss": float(value)}, sys.stdout)


def measure(network: str, device: str) -> tuple[float, Report]:
    """Runs a network in a process of its own; returns its loss, and the report."""
    quiet = {**os.environ, "GLOG_minloglevel": "1", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryFile("w+") as output:
        arguments = ["--device", device, "--run", network]
        finished = run_script(__file__, arguments, stdout=output, environment=quiet)
        output.seek(0)
        printed = output.read()
    if finished.status != 0:
        raise SystemExit(f"{network} failed")
    loss: float = json.loads(printed[printed.index('{"loss"') :])["loss"]
    report = build(finished)
    if report is None:
        raise SystemExit(f"PaddlePaddle has no device {device}")
    return loss, report


def fallen(report: Report) -> dict[str, int]:
    """Returns the operators that ran on the CPU, and how often."""
    calls: dict[str, int] = {}
    for row in report.fallbacks:
        calls[row.operator] = calls.get(row.operator, 0) + row.total.calls
    return calls


def to_json(loss: float, report: Report) -> dict[str, object]:
    """Returns the results of a network."""
    fallbacks = fallen(report)
    return {
        "loss": loss,
        "operators": sorted({*report.native, *fallbacks}),
        "fallbacks": fallbacks,
        "bytes": report.fallback_total.bytes,
    }


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
    reports = {}
    print(f"{'network':<14}{'operators':>10}{'on the CPU':>12}{'calls':>7}{'copied':>11}  which")
    for network in options.network or NAMES:
        loss, report = measure(network, options.device)
        total = report.fallback_total
        reports[network] = to_json(loss, report)
        fallbacks = fallen(report)
        names = ", ".join(f"{name} ({count})" for name, count in fallbacks.items())
        print(
            f"{network:<14}{len(report.native):>10}{len(fallbacks):>12}{total.calls:>7}"
            f"{size(total.bytes):>11}  {names}",
            flush=True,
        )
    if options.json is not None:
        options.json.write_text(json.dumps(reports, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
