"""The layers between Paddle and a plugin, each run in a process of its own."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import paddle
import pytest

from host import DEVICE, RELEASE, python

EXAMPLES = Path(os.environ["TENON_EXAMPLES"])

OURS = Path(paddle.__file__).parent.parent / "paddle_custom_device" / "libtenon_paddle.so"

TRAIN = """
import sys
import paddle
device = sys.argv[1] if len(sys.argv) > 1 else paddle.device.get_all_custom_device_type()[0]
paddle.set_device(device)
paddle.seed(3)
net = paddle.nn.Sequential(paddle.nn.Linear(4, 8), paddle.nn.ReLU(), paddle.nn.Linear(8, 1))
optimizer = paddle.optimizer.Adam(parameters=net.parameters(), learning_rate=0.05)
x = paddle.arange(32, dtype="float32").reshape([8, 4]) / 32
y = x.sum(axis=1, keepdim=True)
for step in range(10):
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.clear_grad()
    print(f"{float(loss):.6f}")
event = paddle.device.Event()
event.record()
event.synchronize()
"""


def behind_layers(plugin: Path, code: str = TRAIN, **environment: str) -> Any:
    """Runs a program in which Paddle finds the layers, and these the plugin."""
    folders = {"CUSTOM_DEVICE_ROOT": str(EXAMPLES / "between"), "TENON_PADDLE_PLUGIN": str(plugin)}
    return python(code, **{**folders, "RUST_BACKTRACE": "0", **environment})


def losses(output: str) -> list[float]:
    """Returns the numbers that a training printed."""
    return [float(line) for line in output.split()]


def test_training_is_valid_and_the_same(tmp_path: Path) -> None:
    """Real training breaks no rule, and layers do not change what comes out of it."""
    trace = tmp_path / "trace.json"
    plain = python(TRAIN)
    layered = behind_layers(
        OURS,
        TENON_LAYERS="validate,trace",
        TENON_VALIDATE_FATAL="1",
        TENON_TRACE_FILE=str(trace),
    )
    assert plain.returncode == 0, plain.stderr
    assert layered.returncode == 0, layered.stderr
    assert "tenon: error" not in layered.stderr
    assert losses(layered.stdout) == losses(plain.stdout)
    assert losses(layered.stdout)[-1] < losses(layered.stdout)[0]

    events = json.loads(trace.read_text())
    calls = Counter(event["name"] for event in events if "plugin" in event.get("args", {}))
    assert calls["initialize"] == 1
    assert calls["finalize"] == 1
    assert calls["device_memory_allocate"] > 0
    assert calls["memory_copy_h2d"] > 0
    spans = [event for event in events if event["ph"] == "X"]
    work = Counter(span["name"] for span in spans if "plugin" not in span.get("args", {}))
    assert work["record_event"] > 0, "no work on a stream"
    assert any(event["ph"] == "C" for event in events), "no counter of memory"


def test_what_paddle_never_frees_is_listed() -> None:
    """Paddle ends without freeing the memory of live tensors."""
    result = behind_layers(OURS, TENON_LAYERS="validate")
    assert result.returncode == 0, result.stderr
    assert "finalize on libtenon_paddle:0" in result.stderr
    assert "`device_memory_allocate`" in result.stderr


def test_a_plugin_in_c_keeps_what_it_lacks(tmp_path: Path) -> None:
    """Paddle's own fallbacks still apply: no slot is filled that the plugin leaves null."""
    code = TRAIN + "print(paddle.device.get_all_custom_device_type())"
    result = behind_layers(
        EXAMPLES / "c" / "libc_plugin.so",
        code,
        TENON_LAYERS="validate,trace",
        TENON_TRACE_FILE=str(tmp_path / "trace.json"),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.endswith("['c_plugin']\n")
    assert "tenon: error" not in result.stderr


def test_an_old_plugin_is_carried_onto_this_release() -> None:
    """A plugin that takes the table of 2.6 and no other."""
    old = EXAMPLES / "old"
    alone = python(
        "import paddle; print(paddle.device.get_all_custom_device_type())",
        CUSTOM_DEVICE_ROOT=str(old),
    )
    assert alone.stdout == ("['c_plugin']\n" if RELEASE == (2, 6) else "[]\n")
    carried = behind_layers(old / "libold_plugin.so")
    assert carried.returncode == 0, carried.stderr
    assert losses(carried.stdout)[-1] < losses(carried.stdout)[0]


def test_training_without_optional_functions_is_the_same() -> None:
    """Paddle's own fallbacks replace all functions that a plugin may lack."""
    plain = python(TRAIN)
    hidden = behind_layers(OURS, TENON_LAYERS="profile,validate", TENON_PROFILE_HIDE="all")
    assert plain.returncode == 0, plain.stderr
    assert hidden.returncode == 0, hidden.stderr
    assert "tenon: error" not in hidden.stderr
    assert losses(hidden.stdout) == losses(plain.stdout)


def test_a_profile_limits_devices_and_memory() -> None:
    """A tensor that exceeds the memory is refused, and the device can still be used."""
    code = """
import paddle
kind = paddle.device.get_all_custom_device_type()[0]
print(len(paddle.device.get_available_custom_device()))
paddle.set_device(kind)
try:
    paddle.ones([1 << 26])
except Exception as error:
    print("exhausted" in str(error).lower() or "memory" in str(error).lower())
print(float(paddle.ones([8]).sum()))
"""
    small = {"TENON_PROFILE_DEVICES": "1", "TENON_PROFILE_MEMORY": "64MiB"}
    result = behind_layers(OURS, code, TENON_CPU_DEVICES="2", TENON_LAYERS="profile", **small)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["1", "True", "8.0"]


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"TENON_PADDLE_PLUGIN": ""}, "TENON_PADDLE_PLUGIN does not say which"),
        ({"TENON_PADDLE_PLUGIN": "/nowhere/plugin.so"}, "/nowhere/plugin.so"),
        (
            {"TENON_PADDLE_PLUGIN": str(EXAMPLES / "between" / "libtenon_paddle_layers.so")},
            "would load itself without end",
        ),
        ({"TENON_LAYERS": "validat"}, "did you mean `validate`?"),
        ({"TENON_LAYERS": "trace", "TENON_TRACE_LIMIT": "0"}, "TENON_TRACE_LIMIT=0: expected"),
        (
            {"TENON_LAYERS": "profile", "TENON_PROFILE_HIDE": "memory_copy_h2d"},
            "`memory_copy_h2d` is required",
        ),
        (
            {"TENON_LAYERS": "profile", "TENON_PROFILE_HIDE": "query_strea"},
            "did you mean `query_stream`?",
        ),
    ],
)
def test_what_is_wrong_is_said_and_paddle_goes_on(
    environment: dict[str, str], message: str
) -> None:
    """The process continues without the device."""
    code = """
import paddle
print(paddle.device.get_all_custom_device_type(), paddle.ones([1]).item())
"""
    result = behind_layers(OURS, code, **environment)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[] 1.0\n"
    assert message in result.stderr
    assert DEVICE not in result.stdout
