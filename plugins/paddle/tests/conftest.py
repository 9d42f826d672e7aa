"""Every test starts on the first of two devices, in eager mode, with the same seed."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


def pytest_configure() -> None:
    """Ask for two devices before anything imports Paddle: the plugin's default is one."""
    os.environ["TENON_CPU_DEVICES"] = "2"


def pytest_report_header() -> str:
    """Which Paddle these results are of."""
    import paddle

    return f"paddle {paddle.__version__}, devices {paddle.device.get_available_custom_device()}"


def pytest_sessionstart() -> None:
    """Without the plugin, every test would fail in a way of its own: say it once."""
    import paddle

    from host import DEVICE

    if DEVICE not in paddle.device.get_all_custom_device_type():
        pytest.exit(
            f"Paddle {paddle.__version__} has no device {DEVICE!r}: install the plugin's wheel, "
            "or point CUSTOM_DEVICE_ROOT at the folder of its library",
            returncode=1,
        )


@pytest.fixture(autouse=True)
def first_device() -> Iterator[None]:
    """Set the device before a test and put everything back after it."""
    import paddle

    from host import name

    paddle.set_device(name())
    paddle.seed(1)
    yield
    paddle.disable_static()
    paddle.set_device(name())
