"""Functions that make buffers from numbers, arrays and other buffers, and the current device."""

from __future__ import annotations

import copy
import threading
from typing import Any

import numpy as np
import pytest

import tenon


@pytest.mark.parametrize(
    "given",
    [(5,), (2, 7), (2, 9, 3), (9, 2, -3), (3, 3), (0.5, 2.25, 0.25), (1.0,), (5, 0)],
    ids=str,
)
def test_arange_is_that_of_numpy(given: tuple[Any, ...]) -> None:
    ours, theirs = tenon.arange(*given), np.arange(*given)
    assert ours.dtype == theirs.dtype
    np.testing.assert_array_equal(ours.numpy(), theirs)


def test_arange_takes_a_type_and_a_stream(device: tenon.Device, stream: tenon.Stream) -> None:
    numbers = tenon.arange(4, dtype="float16", stream=stream)
    assert numbers.dtype == "float16" and numbers.device is device
    stream.synchronize()
    assert numbers.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("given", [(0, 4, 0), (0, float("inf")), (float("nan"), 2)], ids=str)
def test_arange_refuses_endless_numbers(given: tuple[Any, ...]) -> None:
    with pytest.raises(ValueError, match=r"step|finite"):
        tenon.arange(*given)


def test_buffers_like_another(device: tenon.Device) -> None:
    model = tenon.full((2, 3), 7, "int32", device)
    assert tenon.zeros_like(model).tolist() == [[0] * 3] * 2
    assert tenon.ones_like(model, "float64").tolist() == [[1.0] * 3] * 2
    assert tenon.full_like(model, 5).dtype == "int32"
    assert tenon.empty_like(model, "bool").dtype == "bool"
    assert tenon.ones(2, device=device).tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="Buffer"):
        tenon.zeros_like([1, 2])  # type: ignore[arg-type]


def test_array_copies_and_asarray_does_not(device: tenon.Device) -> None:
    first = tenon.array([[1, 2], [3, 4]], "int16", device)
    assert first.dtype == "int16" and first.tolist() == [[1, 2], [3, 4]]
    assert tenon.asarray(first) is first
    assert tenon.asarray(first, "int16", device) is first
    assert tenon.array(first, device=device) is not first
    assert tenon.asarray(np.arange(3), device=device).tolist() == [0, 1, 2]
    assert tenon.asarray(first, device="cpu:1").device.name == "cpu:1"
    with pytest.raises(TypeError, match="int16, not float32"):
        tenon.asarray(first, "float32")


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_have_memory_of_their_own(duplicate: Any) -> None:
    first = tenon.ones(3)
    second = duplicate(first)
    first.fill(2)
    assert second.tolist() == [1, 1, 1]


@pytest.mark.parametrize("name", ["float", "int", "complex", "bool"])
def test_names_of_python_types_are_those_of_numpy(name: str) -> None:
    assert tenon.dtype(name) == np.dtype(name)


@pytest.mark.parametrize(("name", "hint"), [("get", r"numpy\(\)"), ("cpu", r"numpy\(\)"), ("cuda", r"to\(device\)")])
def test_names_of_other_packages_have_hints(name: str, hint: str) -> None:
    buffer = tenon.ones(1)
    assert not hasattr(buffer, name)
    with pytest.raises(AttributeError, match=hint):
        getattr(buffer, name)


def test_unknown_names_have_no_hint() -> None:
    with pytest.raises(AttributeError, match="has no attribute `no_such_thing`$"):
        _ = tenon.ones(1).no_such_thing  # type: ignore[attr-defined]


def test_device_that_is_set_is_current_outside_of_with() -> None:
    before = tenon.device()
    seen = []
    tenon.set_device(1)
    try:
        assert tenon.device().name == "cpu:1"
        assert tenon.device(0).name == "cpu:0"
        assert tenon.ones(1).device.name == "cpu:1"
        with tenon.device("cpu:0"):
            assert tenon.device().name == "cpu:0"
        other = threading.Thread(target=lambda: seen.append(tenon.current_device().name))
        other.start()
        other.join()
        tenon.synchronize()
        tenon.synchronize("cpu:0", timeout=10)
    finally:
        tenon.set_device(before)
    assert seen == ["cpu:0"]


def test_device_that_is_set_may_be_closed() -> None:
    before = tenon.device()
    tenon.set_device("cpu:1")
    try:
        tenon.device().close()
        assert tenon.ones(1).device.name == "cpu:1"
    finally:
        tenon.set_device(before)
