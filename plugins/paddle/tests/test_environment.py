"""Environment variables with invalid values: the reason is printed to standard error."""

from __future__ import annotations

import pytest

from host import DEVICE, python

PROGRAM = """
import paddle
print(paddle.device.get_all_custom_device_type(), paddle.ones([1]).item())
"""


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("TENON_CPU_DEVICES", "many", "expected a whole number from 1 to 64"),
        ("TENON_CPU_MEMORY", "lots", "expected bytes such as 1073741824, 512MiB, 4GiB or 2GB"),
        ("TENON_CPU_THREADS", "0", "expected a number from 1 to 1024"),
    ],
)
def test_bad_value_of_the_device_ends_paddle_with_the_reason(
    variable: str, value: str, reason: str
) -> None:
    """Paddle ends the process if a device cannot be initialised. The plugin prints the reason."""
    ran = python(PROGRAM, **{variable: value}, TENON_LOG=None)
    assert ran.returncode == 255
    assert f'tenon: initialize: {variable}="{value}": {reason}\n' in ran.stderr


@pytest.mark.parametrize(
    ("variable", "value", "reason"),
    [
        ("TENON_LOG", "verbose", "expected `off`, `error` or `info`"),
        ("TENON_DNNL", "on", "expected `off`, `always` or the path"),
        ("TENON_SYNC", "2", "expected 1 or 0"),
        ("TENON_PADDLE_DEVICE_TYPE", "gpu", "Paddle uses this name itself"),
        ("TENON_PADDLE_DEVICE_TYPE", "a b", "expected a letter, then letters, digits"),
    ],
)
def test_bad_value_of_the_plugin_leaves_paddle_without_the_device(
    variable: str, value: str, reason: str
) -> None:
    ran = python(PROGRAM, **{variable: value})
    assert (ran.returncode, ran.stdout) == (0, "[] 1.0\n"), ran.stderr
    assert f"tenon: {variable}={value}: {reason}" in ran.stderr


@pytest.mark.parametrize(("strict", "status"), [("1", 1), ("0", 0)])
def test_refused_plugin_ends_a_strict_process(strict: str, status: int) -> None:
    ran = python(PROGRAM, TENON_DNNL="on", TENON_STRICT=strict)
    assert ran.returncode == status, ran.stderr
    assert "tenon: TENON_DNNL=on: expected `off`" in ran.stderr
    assert ("ends the process" in ran.stderr) == (strict == "1")


def test_log_info_says_which_release_was_found() -> None:
    ran = python(PROGRAM, TENON_LOG="info")
    assert ran.returncode == 0, ran.stderr
    assert f"tenon: {DEVICE}: handed over to a host of release " in ran.stderr
