"""Helpers of the tests: the name of the device, and the release of Paddle.

A release that behaves otherwise than the rest is written down in a table, next to the test that
it concerns, and looked up with `of_release`. No test is skipped: for operations that Paddle does
not support on a custom device, the tests expect the refusal of its release.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, Callable, TypeVar

import numpy as np
import paddle
from numpy.typing import NDArray

DEVICE = os.environ.get("TENON_PADDLE_DEVICE_TYPE", "CustomCPU")
"""The device type that the plugin registers."""

RELEASE = tuple(int(part) for part in paddle.__version__.split(".")[:2])
"""Paddle's release as (major, minor)."""

Value = TypeVar("Value")


def name(device: int = 0) -> str:
    """Returns the name of a device for `paddle.set_device`."""
    return f"{DEVICE}:{device}"


def place(device: int = 0) -> Any:
    """Returns the place of a device."""
    return paddle.CustomPlace(DEVICE, device)


def is_on(tensor: Any, device: int = 0) -> bool:
    """Returns True if a tensor is on a device."""
    return str(tensor.place) == f"Place({name(device)})"


def of_release(table: Mapping[tuple[int, int], Value]) -> Value:
    """Returns the entry of the newest release in a table that is not newer than this Paddle."""
    return table[max(release for release in table if release <= RELEASE)]


def normal(*shape: int, seed: int = 0, dtype: str = "float32") -> NDArray[Any]:
    """Returns reproducible random numbers on the host."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def on_both(compute: Callable[[], Any]) -> tuple[Any, Any]:
    """Returns the results of a computation on the device and on Paddle's CPU."""
    results = []
    for device in (name(), "cpu"):
        paddle.set_device(device)
        paddle.seed(0)
        results.append(compute())
    paddle.set_device(name())
    return results[0], results[1]


def python(code: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Runs a program in a separate interpreter, for tests that affect the whole process.

    Args:
        code: The program.
        environment: Variables to set, or to remove where the value is None.
    """
    variables = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in variables.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
