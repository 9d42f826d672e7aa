"""Fixtures: each test starts on the first of two devices, in eager mode, with the same seed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from signatures import Signatures


def pytest_configure() -> None:
    """Configures two devices before Paddle is imported; the default of the plugin is one."""
    os.environ["TENON_CPU_DEVICES"] = "2"


def pytest_report_header() -> str:
    """Adds the version of Paddle to the report header."""
    import paddle

    return f"paddle {paddle.__version__}, devices {paddle.device.get_available_custom_device()}"


def pytest_sessionstart() -> None:
    """Fails once with a clear message if the plugin is not installed."""
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
    """Sets the device before a test and restores the state after it."""
    import paddle

    from host import name

    paddle.set_device(name())
    paddle.seed(1)
    yield
    paddle.disable_static()
    paddle.set_device(name())


@pytest.fixture(scope="session")
def signatures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Signatures]:
    """Returns the signatures of each kernel of the host and of the device."""
    from signatures import read

    return read(tmp_path_factory.mktemp("signatures"))
