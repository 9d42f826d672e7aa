"""The library under test, which is registered once."""

from collections.abc import Iterator

import onnxruntime
import pytest

import provider


@pytest.fixture(scope="session", autouse=True)
def registered() -> Iterator[None]:
    """Registers the library for all tests, and unregisters it at their end."""
    onnxruntime.set_default_logger_severity(4)
    onnxruntime.register_execution_provider_library(provider.REGISTERED, str(provider.library()))
    yield
    onnxruntime.unregister_execution_provider_library(provider.REGISTERED)
    assert not provider.devices()
