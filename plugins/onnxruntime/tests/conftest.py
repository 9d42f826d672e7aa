"""The library under test, which is registered once."""

from collections.abc import Iterator

import onnxruntime
import pytest

import provider


@pytest.fixture(scope="session", autouse=True)
def registered() -> Iterator[None]:
    """Registers the library for all tests, and unregisters it at their end."""
    # Errors only.
    onnxruntime.set_default_logger_severity(3)
    onnxruntime.register_execution_provider_library(provider.REGISTERED, str(provider.library()))
    yield
    onnxruntime.unregister_execution_provider_library(provider.REGISTERED)
    assert not provider.devices()


@pytest.fixture(autouse=True)
def reported(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Fails a test in which the host logs a failure of the provider, as of a wait, and goes on."""
    yield
    assert "Plug-in EP Error" not in capfd.readouterr().err
