"""Trainings that the layer `capture` records, repeated on other devices without Paddle."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from host import python
from test_layers import EXAMPLES, OURS, TRAIN, behind_layers, losses

TENON = EXAMPLES / "tenon"
IN_C = EXAMPLES / "c" / "libc_plugin.so"
IN_RUST = EXAMPLES / "rust" / "libexample_rust_plugin.so"


def tenon(*arguments: str | Path, status: int = 0) -> str:
    """Runs the command `tenon`, and returns what it prints."""
    result = subprocess.run([TENON, *arguments], capture_output=True, text=True)
    assert result.returncode == status, result.stdout + result.stderr
    return result.stdout


def replay(file: Path, *arguments: str | Path) -> dict[str, Any]:
    """Repeats a capture, and returns the results."""
    results: dict[str, Any] = json.loads(tenon("replay", file, "--json", *arguments))
    return results


def record(plugin: Path, file: Path, code: str = TRAIN) -> Any:
    """Runs a program in Paddle with the layer between it and a plugin."""
    return behind_layers(plugin, code, TENON_LAYERS="capture", TENON_CAPTURE_FILE=str(file))


@pytest.fixture(scope="module", params=[OURS, IN_C], ids=["cpu", "c"])
def training(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the capture of a training: with operators on the device, or all on the CPU."""
    file = tmp_path_factory.mktemp("capture") / "training.cap"
    recorded = record(request.param, file)
    assert recorded.returncode == 0, recorded.stderr
    if request.param == OURS:
        assert losses(recorded.stdout) == losses(python(TRAIN).stdout), "the layer changes nothing"
    return file


@pytest.mark.parametrize("device", [None, OURS, IN_C, IN_RUST], ids=["builtin", "cpu", "c", "rust"])
def test_training_is_repeated_on_other_devices(training: Path, device: Path | None) -> None:
    """All calls succeed there too, and what they determine is equal."""
    plugin = () if device is None else ("--plugin", device)
    results = replay(training, *plugin, "--device", "0")
    assert results["differences"] == []
    assert results["skipped"] == []
    assert results["repeated"] == len(tenon("capture", "list", training).splitlines())
    copies = tenon("capture", "list", training, "--function", "memory_copy_d2h").splitlines()
    compared = results["equal_contents"]
    assert compared + results["undetermined_contents"] == len(copies)
    if results["plugin"] == IN_C.stem:
        # Its operators run on the CPU, so the calls determine nearly all copies.
        assert compared > len(copies) * 0.9
    else:
        # Ten losses, each computed by an operator of the device.
        assert results["undetermined_contents"] == 10


def test_a_step_is_cut_out(training: Path, tmp_path: Path) -> None:
    """The last step has what it needs of the steps before it."""
    calls = tenon("capture", "list", training).splitlines()
    first = int(calls[len(calls) * 9 // 10].split()[0])
    step = tmp_path / "step.cap"
    tenon("trim", training, "--from", str(first), "-o", step)
    kept = tenon("capture", "list", step).splitlines()
    assert calls[-1] == kept[-1]
    assert len(calls) * 0.1 <= len(kept) < len(calls) * 0.3
    whole, part = replay(training, "--plugin", IN_C), replay(step, "--plugin", IN_C)
    assert part["differences"] == part["skipped"] == []
    if whole["plugin"] == IN_C.stem:
        assert 0 < part["equal_contents"] < whole["equal_contents"]
        assert part["undetermined_contents"] <= 2


def test_a_training_becomes_a_program_in_c(training: Path) -> None:
    """Each call is one of the C SDK, but for those that only the library makes."""
    source = tenon("capture", "to-c", training)
    calls = len(tenon("capture", "list", training).splitlines())
    left_out = source.count(" is left out: the library makes this call */")
    assert source.count("\n  CALL(") == calls - left_out
    assert left_out < 5


def test_capture_of_a_crashed_process_has_its_calls(tmp_path: Path) -> None:
    """The last call is the one that did not return, or the file ends between two calls."""
    file = tmp_path / "crashed.cap"
    shows = 'print(f"{float(loss):.6f}")'
    ends = "if step == 5: __import__('os').abort()"
    code = TRAIN.replace(shows, f"{shows}\n    {ends}")
    crashed = record(OURS, file, code)
    assert crashed.returncode == -signal.SIGABRT
    calls = tenon("capture", "list", file).splitlines()
    assert calls[-1] == "the recorded program ended without ending the capture, as by a crash"
    assert sum("memory_copy_d2h" in call for call in calls) == 6
    assert replay(file, "--plugin", IN_C)["differences"] == []
