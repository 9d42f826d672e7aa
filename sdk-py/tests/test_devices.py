"""Devices: names, opening and closing, the current device, and properties."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import tenon
from support import FUNCTIONS, Gate, Program, silent
from tenon import Availability
from tenon._native import core, functions


def test_device_has_one_object() -> None:
    assert tenon.Device("cpu", 0) is tenon.device("cpu:0") is tenon.Device("cpu")
    assert tenon.device(tenon.Device("cpu", 0)) is tenon.Device("cpu", 0)
    assert tenon.device("cpu:0") in tenon.devices()
    assert tenon.devices("cpu") == [device for device in tenon.devices() if device.type == "cpu"]
    assert (tenon.device("cpu:0").type, tenon.device("cpu:0").ordinal) == ("cpu", 0)


def test_device_opens_at_the_first_use(program: Program) -> None:
    done = program(
        """
        import tenon
        device = tenon.device("cpu:0")
        print(repr(device), device.plugin.open_devices)
        device.synchronize()
        print(repr(device), device.plugin.open_devices)
        plugin = device.plugin
        device.close()
        device.close()
        print(repr(device), plugin.open_devices)
        again = tenon.device("cpu:0")
        print(again is device, again.handle != 0)
        """
    )
    assert silent(
        done,
        "<tenon.Device cpu:0, not open yet> 0\n<tenon.Device cpu:0> 1\n<tenon.Device cpu:0, closed> 0\nFalse True",
    )


def test_closed_device_and_its_objects_are_errors() -> None:
    device = tenon.device("cpu:1")
    device.synchronize()
    stream, event = device.create_stream(), device.create_event()
    default = device.default_stream
    device.close()
    assert device.closed
    assert stream.closed
    assert event.closed
    assert default.closed
    for use in (device.synchronize, stream.query, event.query, default.synchronize, device.create_stream):
        with pytest.raises(tenon.InvalidHandleError, match="cpu:1: the device is closed"):
            use()
    for what in (stream, event, default):
        # The handle would be invalid, or belong to another object.
        with pytest.raises(tenon.InvalidHandleError, match="cpu:1: the device is closed"):
            _ = what.handle
    with pytest.raises(tenon.InvalidHandleError, match="cpu:1: the device is closed"), stream:
        pass
    stream.close()
    event.close()
    assert "closed" in repr(stream)
    assert "closed" in repr(event)
    assert "closed" in repr(default)
    assert not tenon.device("cpu:1").closed


def test_close_with_live_memory_is_refused() -> None:
    """An owner of device memory, as `Resource` with `is_memory`."""
    from tenon._lifecycle import resources

    class Memory(resources.Resource):
        def __init__(self, device: tenon.Device) -> None:
            native = device.handle
            address = core.pool_allocate(native, 64, 0)
            self._own(device._session, lambda: core.pool_free(native, address, 0), is_memory=True)

    device = tenon.device("cpu:1")
    memory = Memory(device)
    stream = device.create_stream()
    with pytest.raises(tenon.BusyError, match="cpu:1: a buffer is alive"):
        device.close()
    assert not device.closed
    assert not stream.closed
    del memory
    device.close()
    assert device.closed


@pytest.mark.parametrize("name", ["", ":0", "cpu:", "cpu:x", "cpu:-1", "cpu:0:0", "cpu: 0", "cpu:²"])
def test_invalid_device_name_is_a_value_error(name: str) -> None:
    with pytest.raises(ValueError, match="is not a valid device name"):
        tenon.device(name)


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        tenon.Device("cpu", -1)
    for wrong in (True, 1.0, "0"):
        with pytest.raises(TypeError, match="number of a device must be an int"):
            tenon.Device("cpu", wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="type of a device must be a str"):
        tenon.Device(0)  # type: ignore[arg-type]
    for far_off in (2**31, 2**32, 2**70):
        # C would use only the lower bits, which are the number of another device.
        with pytest.raises(tenon.NotFoundError, match=f"there is no device cpu:{far_off}"):
            tenon.Device("cpu", far_off)
        with pytest.raises(tenon.NotFoundError, match=f"there is no device cpu:{far_off}"):
            tenon.device(f"cpu:{far_off}")
    with pytest.raises(tenon.NotFoundError, match="`nothing`"):
        tenon.device("nothing:0")
    with pytest.raises(tenon.NotFoundError, match="there is no device cpu:200"):
        tenon.device("cpu:200").synchronize()
    plugin = tenon.device("cpu:0").plugin
    with pytest.raises(ValueError, match="negative"):
        plugin.device(-1)
    with pytest.raises(TypeError, match="int, not str"):
        plugin.device("0")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="integer number of bytes, not float"):
        tenon.device("cpu:0").trim_memory(1.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="keep must not be negative"):
        tenon.device("cpu:0").trim_memory(-1)


def test_device_number_may_be_a_numpy_integer() -> None:
    assert tenon.Device("cpu", np.int64(0)) is tenon.Device("cpu", 0)  # type: ignore[arg-type]


def test_trim_accepts_more_than_the_pool_has(device: tenon.Device) -> None:
    tenon.empty(1 << 16, "uint8").close()
    kept = device.memory_stats().cached
    device.trim_memory(2**70)
    assert device.memory_stats().cached == kept > 0


@pytest.mark.parametrize(("timeout", "error"), [(-1, ValueError), (math.nan, ValueError), ("1", TypeError)])
def test_invalid_timeout_is_an_error(device: tenon.Device, timeout: Any, error: type[Exception]) -> None:
    for what in (device, device.default_stream, device.create_event()):
        with pytest.raises(error, match=f"timeout must be .* seconds.* not {'str' if timeout == '1' else timeout}"):
            what.synchronize(timeout)


@pytest.mark.parametrize("timeout", [math.inf, 1e300, np.float32(60), Fraction(60)], ids=repr)
def test_long_timeout_is_valid(device: tenon.Device, timeout: Any) -> None:
    stream = device.create_stream()
    event = stream.record_event()
    for what in (device, stream, event):
        what.synchronize(timeout)
    assert event.query()


def test_the_current_device_and_stream_nest(device: tenon.Device) -> None:
    assert tenon.current_device() is device
    assert tenon.current_stream() is device.default_stream
    with device.create_stream() as outer:
        assert tenon.current_stream() is outer
        with device.create_stream() as inner:
            assert tenon.current_stream("cpu:0") is inner
            with outer:
                assert tenon.current_stream() is outer
            with device:
                # Only the device refers to its current stream.
                assert tenon.current_stream() is inner
            assert tenon.current_stream() is inner
        assert tenon.current_stream() is outer
    assert tenon.current_stream() is device.default_stream


def test_current_device_and_stream_need_not_nest(device: tenon.Device) -> None:
    """A generator is suspended in its `with` block, and resumes while its caller is in or after another one."""

    def inside(stream: tenon.Stream) -> Iterator[tenon.Stream]:
        with stream:
            yield tenon.current_stream()

    one, other = device.create_stream(), device.create_stream()
    waiting = inside(one)
    assert next(waiting) is one
    with other, tenon.device("cpu:1"):
        assert list(waiting) == []
        assert tenon.current_device().name == "cpu:1"
        assert tenon.current_stream(device) is other
    assert tenon.current_stream() is device.default_stream
    with other:
        waiting = inside(one)
        next(waiting)
    assert tenon.current_stream() is one
    assert list(waiting) == []
    assert tenon.current_stream() is device.default_stream


def test_current_device_and_stream_are_per_thread(device: tenon.Device) -> None:
    seen = []
    with device.create_stream():
        thread = threading.Thread(target=lambda: seen.append(tenon.current_stream()))
        thread.start()
        thread.join()
    assert seen == [device.default_stream]


def test_current_device_and_stream_are_restored_on_an_exception(device: tenon.Device) -> None:
    with pytest.raises(KeyError), device.create_stream():
        raise KeyError
    assert tenon.current_stream() is device.default_stream


def test_device_properties(device: tenon.Device) -> None:
    info = device.info
    assert (info.type, info.ordinal, info.plugin) == ("cpu", 0, device.plugin.name)
    assert info.total_memory >= info.free_memory > 0
    stats = device.memory_stats()
    assert stats.total == info.total_memory
    before = stats.hits + stats.misses
    address = core.pool_allocate(device.handle, 1000, 0)
    assert device.memory_stats().in_use >= 1000
    core.pool_free(device.handle, address, 0)
    stats = device.memory_stats()
    assert stats.hits + stats.misses == before + 1
    device.synchronize()
    device.trim_memory()
    assert device.memory_stats().cached == 0


def test_the_report_counts_calls(device: tenon.Device) -> None:
    before = {entry.function: entry for entry in device.report()}
    for _ in range(3):
        device.default_stream.query()
    after = {entry.function: entry for entry in device.report()}
    assert after["query_stream"].calls == before["query_stream"].calls + 3
    assert after["query_stream"].availability is Availability.NATIVE
    assert len(after) == FUNCTIONS
    for entry in after.values():
        assert (entry.fallback is not None) == (entry.availability is Availability.FALLBACK)


def test_device_is_pickled_by_its_name(device: tenon.Device) -> None:
    assert pickle.loads(pickle.dumps(device)) is device
    assert copy.deepcopy(device) is device


def test_timeout_zero_succeeds_without_pending_work(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    stream.record_event()
    device.synchronize()
    device.synchronize(timeout=0)
    gate.hold(stream)
    with pytest.raises(TimeoutError, match="cpu:0 is not done after 0 s"):
        device.synchronize(timeout=0)
    gate.open()
    device.synchronize()
    device.synchronize(timeout=0)


def test_failed_stream_does_not_hide_pending_work(
    device: tenon.Device, stream: tenon.Stream, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing = device.create_stream()
    ask = functions.query_stream

    def query(native: int, handle: int) -> bool:
        if handle == failing.handle:
            raise tenon.DeviceError("it has failed")
        return ask(native, handle)

    gate.hold(stream)
    with monkeypatch.context() as patched:
        patched.setattr(functions, "query_stream", query)
        # In this order.
        patched.setattr(device._session, "streams", [failing.handle, stream.handle])
        assert not device._session.is_idle()
        gate.open()
        functions.synchronize_stream(device.handle, stream.handle)
        assert device._session.is_idle()


def test_stream_closed_during_synchronize_is_destroyed_later(
    device: tenon.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = device.create_stream()
    native, handle = device.handle, stream.handle
    ask = functions.query_stream
    asked = []

    def query(native: int, handle: int) -> bool:
        if not stream.closed:
            stream.close()
        asked.append(handle)
        return ask(native, handle)

    with monkeypatch.context() as patched:
        patched.setattr(functions, "query_stream", query)
        assert device._session.is_idle()
    assert handle in asked
    assert stream.closed
    assert ask(native, handle), "it was destroyed too early"
    device.synchronize()
    with pytest.raises(tenon.DeviceError, match="is not a live stream"):
        ask(native, handle)


def test_synchronize_device_has_a_timeout(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    gate.hold(stream)
    with pytest.raises(TimeoutError, match=r"cpu:0 is not done after 0\.01 s"):
        device.synchronize(timeout=0.01)
    gate.open()
    device.synchronize(timeout=60)
    assert stream.query()
