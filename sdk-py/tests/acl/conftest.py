"""Fixtures of the tests of `acl`: a device that is set before a test and reset after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import acl

SUCCESS = 0


@pytest.fixture
def device() -> Iterator[int]:
    """Device 0, set for the calling thread. The test must release everything on it."""
    assert acl.init() == SUCCESS
    assert acl.rt.set_device(0) == SUCCESS
    acl.get_recent_err_msg()
    yield 0
    assert acl.rt.set_device(0) == SUCCESS, "a test may leave another context current"
    assert acl.rt.reset_device(0) == SUCCESS
    assert acl.rt.reset_device(0) == SUCCESS
    assert acl.finalize() == SUCCESS


@pytest.fixture
def stream(device: int) -> Iterator[int]:
    """A stream of the default context."""
    made, ret = acl.rt.create_stream()
    assert ret == SUCCESS
    yield made
    assert acl.rt.destroy_stream(made) == SUCCESS
