"""Tests how Paddle finds, names and unloads the plugin: each test is a separate process."""

from __future__ import annotations

import paddle
import pytest

from host import DEVICE, python


def test_plain_import_finds_one_device() -> None:
    """Paddle lists a single device by its type alone."""
    ran = python(
        "import paddle; print(paddle.device.get_available_custom_device())", TENON_CPU_DEVICES=None
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == str([DEVICE])


def test_run_check_passes_as_installed() -> None:
    ran = python("import paddle; paddle.utils.run_check()", TENON_CPU_DEVICES=None)
    assert ran.returncode == 0, ran.stderr
    assert f"PaddlePaddle works well on 1 {DEVICE}." in ran.stdout
    assert "PaddlePaddle is installed successfully!" in ran.stdout


def test_loading_raises_no_complaint() -> None:
    ran = python("import paddle", GLOG_v="0")
    said = [line for line in ran.stderr.splitlines() if line.startswith(("E", "F", "W"))]
    assert ran.returncode == 0
    assert not [line for line in said if "custom" in line.lower() or "plugin" in line.lower()]


def test_the_environment_renames_the_device() -> None:
    ran = python(
        "import paddle; paddle.set_device('renamed'); x = paddle.to_tensor([2.0, 3.0]);"
        "print(paddle.device.get_all_custom_device_type(), (x * x).sum().item(), x.place)",
        TENON_PADDLE_DEVICE_TYPE="renamed",
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == "['renamed'] 13.0 Place(renamed:0)"


@pytest.mark.parametrize(
    "ending",
    [
        pytest.param("", id="tensors alive"),
        pytest.param("import sys; sys.exit(0)", id="sys.exit"),
        pytest.param("s = paddle.device.Stream(); e = s.record_event()", id="a stream alive"),
        pytest.param("import gc; del x, y; gc.collect()", id="nothing alive"),
    ],
)
def test_a_process_ends_in_peace(ending: str) -> None:
    ran = python(
        f"import paddle; paddle.set_device('{DEVICE}'); x = paddle.ones([256, 256]);"
        f"y = paddle.matmul(x, x); {ending}"
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_an_error_in_one_operator_does_not_end_the_session() -> None:
    x = paddle.ones([2, 3])
    with pytest.raises(ValueError, match="(?i)mismatch|dimension|equal|should"):
        paddle.matmul(x, x)
    assert paddle.matmul(x, x.T).sum().item() == 12.0
