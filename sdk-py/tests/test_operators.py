"""Printing of buffers, and operators of other types."""

from __future__ import annotations

import numpy as np

import tenon


def test_print_shows_the_elements(device: tenon.Device) -> None:
    values = np.arange(6, dtype="float32").reshape(2, 3)
    x = tenon.array(values, device=device)
    assert str(x) == str(values)
    assert f"{x[:, 1]}" == "[1. 4.]"
    assert repr(x).startswith("<tenon.Buffer shape=(2, 3)")


def test_print_waits_for_queued_work(device: tenon.Device) -> None:
    with device.create_stream() as stream:
        x = tenon.array([1, 2], dtype="int32", device=device)
        x.fill(7, stream=stream)
        assert str(x) == "[7 7]"


def test_print_copies_from_memory_that_the_host_cannot_access(far: tenon.Device) -> None:
    with tenon.array([1, 2], dtype="int32", device=far) as x:
        assert str(x) == "[1 2]"


def test_closed_buffer_is_printed_without_elements(device: tenon.Device) -> None:
    x = tenon.array([1], device=device)
    x.close()
    assert str(x) == repr(x)
    assert "closed" in str(x)


class Other:
    """A type of another package that computes with buffers."""

    def __radd__(self, other: object) -> str:
        return "sum"


def test_other_types_may_compute_with_buffers(device: tenon.Device) -> None:
    computed: object = tenon.array([1.0], device=device) + Other()
    assert computed == "sum"
