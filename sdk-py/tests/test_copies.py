"""Copies: synchronous and queued, of any layout, within and between devices, and from and to the host."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tenon
from support import Gate, Program, silent
from tenon._native import functions


@pytest.fixture(params=["cpu", "far"])
def any_device(request: pytest.FixtureRequest, device: tenon.Device) -> tenon.Device:
    """A device whose memory the host can access, and one without this."""
    found: tenon.Device = device if request.param == "cpu" else request.getfixturevalue("far")
    return found


def strided(shape: tuple[int, ...], dtype: str, layout: str) -> np.ndarray[Any, Any]:
    """Distinct numbers in one of several layouts."""
    array = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    if layout == "rows":
        wide = np.zeros((shape[0], shape[1] + 3), dtype)
        wide[:, : shape[1]] = array
        return wide[:, : shape[1]]
    if layout == "columns":
        return np.asfortranarray(array)
    if layout == "reversed":
        return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
    if layout == "odd":
        # Strides that are not multiples of the element size, and unaligned addresses.
        packed = np.zeros(shape, np.dtype([("gap", "u1"), ("value", dtype), ("more", "u2")]))
        packed["value"] = array
        found: np.ndarray[Any, Any] = packed["value"]
        return found
    return array


LAYOUTS = ["contiguous", "rows", "columns", "reversed", "odd"]
DTYPES = ["int8", "int16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("queued", [False, True], ids=["at once", "queued"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layout_of_the_host(any_device: tenon.Device, dtype: str, layout: str, queued: bool) -> None:
    source = strided((7, 9), dtype, layout)
    stream = any_device.create_stream() if queued else None
    buffer = tenon.Buffer.from_array(source, any_device, stream)
    target = strided((7, 9), dtype, layout)
    target[...] = 0
    buffer.copy_to(target, stream)
    if stream is not None:
        stream.synchronize()
    np.testing.assert_array_equal(target, source)


@pytest.mark.parametrize("queued", [False, True], ids=["at once", "queued"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_layout_of_a_device(any_device: tenon.Device, dtype: str, queued: bool) -> None:
    model = np.zeros((6, 8, 10), dtype)
    buffer = tenon.zeros(model.shape, dtype, any_device)
    stream = any_device.create_stream() if queued else None
    value = np.arange(480, dtype=dtype).reshape(model.shape)
    for key in np.s_[:, 2:5, :], np.s_[::2, ::-3, 1::4], np.s_[3, :, 2], np.s_[..., 7], np.s_[::-1, ::-1, ::-1]:
        model[key] = value[key]
        buffer[key].copy_from(value[key], stream)
        # Reads it directly, transposed, and through another buffer.
        there = np.zeros(model[key].shape, dtype)
        buffer[key].copy_to(there, stream)
        turned = buffer[key].T.copy(stream)
        if stream is not None:
            stream.synchronize()
        np.testing.assert_array_equal(there, model[key])
        np.testing.assert_array_equal(turned.numpy(), model[key].T)
        np.testing.assert_array_equal(buffer.numpy(), model)


@pytest.mark.parametrize("queued", [False, True], ids=["at once", "queued"])
def test_overlapping_copy_is_correct(any_device: tenon.Device, queued: bool) -> None:
    stream = any_device.create_stream() if queued else None
    for to, source in [
        (np.s_[1:], np.s_[:-1]),
        (np.s_[:-1], np.s_[1:]),
        (np.s_[::-1], np.s_[:]),
        (np.s_[:50:2], np.s_[25:75:2]),
    ]:
        model = np.arange(100, dtype="i4")
        buffer = tenon.Buffer.from_array(model, any_device)
        buffer[to].copy_from(buffer[source], stream)
        model[to] = model[source].copy()
        if stream is not None:
            stream.synchronize()
        assert buffer.tolist() == model.tolist()


def test_overlap_with_a_numpy_array_is_copied_too() -> None:
    buffer = tenon.Buffer.from_array(np.arange(100))
    view = buffer.numpy(copy=False)
    buffer.copy_from(view[::-1])
    assert buffer.tolist() == list(range(100))[::-1]
    buffer[:50].copy_to(view[25:75])
    assert buffer.tolist() == [*range(99, 74, -1), *range(99, 49, -1), *range(24, -1, -1)]


def test_copy_onto_itself_does_nothing(any_device: tenon.Device) -> None:
    buffer = tenon.Buffer.from_array(np.arange(10), any_device)
    buffer.copy_from(buffer)
    buffer[::2].copy_from(buffer[::2])
    assert buffer.tolist() == list(range(10))


@pytest.mark.parametrize("value", [0, 1, 3])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float64", "bfloat16", "complex128"])
@pytest.mark.parametrize("count", [1, 5, 70_001])
def test_fills(any_device: tenon.Device, count: int, dtype: str, value: int) -> None:
    stream = any_device.create_stream()
    item = tenon.dtype(dtype).pack([value])
    for queued in (None, stream):
        buffer = tenon.full(count, value, dtype, any_device, queued)
        sparse = tenon.full((count, 3), 0, dtype, any_device, queued)
        # Runs are copied one by one, so use few of them.
        sparse[:200, 1].fill(value, queued)
        stream.synchronize()
        assert buffer.view("uint8").numpy().tobytes() == item * count
        assert sparse[:200, 1].copy().view("uint8").numpy().tobytes() == item * min(count, 200)
        assert not any(sparse[:, 0].tolist())


@pytest.mark.parametrize("queued", [False, True], ids=["at once", "queued"])
@pytest.mark.parametrize("make", [tenon.pinned, tenon.unified])
def test_host_accessible_memory(device: tenon.Device, make: Any, queued: bool) -> None:
    stream = device.create_stream() if queued else None
    model = np.arange(20, dtype="i4").reshape(4, 5)
    one, other = make(model.shape, "int32"), make(model.shape, "int32")
    one.copy_from(model)
    buffer = tenon.zeros(model.shape, "int32")
    buffer[::-1].copy_from(one, stream)
    other.copy_from(buffer, stream)
    other[0].copy_from(one[0], stream)
    if stream is not None:
        stream.synchronize()
    wanted = model[::-1].copy()
    wanted[0] = model[0]
    np.testing.assert_array_equal(other.numpy(copy=False), wanted)


def test_mismatched_copies_are_errors(device: tenon.Device, stream: tenon.Stream, far: tenon.Device) -> None:
    buffer = tenon.zeros((2, 3), "float32")
    with pytest.raises(ValueError, match=r"the shape \(3, 2\) into \(2, 3\)"):
        buffer.copy_from(np.zeros((3, 2), "f4"))
    with pytest.raises(ValueError, match="the shape"):
        buffer.copy_from(np.zeros(3, "f4"))
    with pytest.raises(TypeError, match="float64 into float32"):
        buffer.copy_from(np.zeros((2, 3)))
    with pytest.raises(TypeError, match=r"1\.5 is not a valid int32"):
        tenon.zeros(3, "int32").fill(1.5)
    frozen = np.zeros((2, 3), "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        buffer.copy_to(frozen)
    with pytest.raises(TypeError, match="list is not a writable array"):
        buffer.copy_to([0])
    with pytest.raises(tenon.InvalidArgumentError, match="stream belongs to cpu:0"):
        tenon.zeros(3, device=far).copy_from(np.zeros(3, "f4"), stream)
    with pytest.raises(ValueError, match="the stream belongs to cpu:0, not to required:0"):
        tenon.empty(3, device=far, stream=stream)
    closed = device.create_stream()
    closed.close()
    with pytest.raises(tenon.InvalidHandleError):
        buffer.copy_from(np.zeros((2, 3), "f4"), closed)
    assert buffer.tolist() == [[0] * 3] * 2


# Memory of queued copies


class Owner(np.ndarray[Any, Any]):
    """An array that can be referenced weakly."""


def test_host_memory_stays_alive_until_the_copy_is_done(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    target = tenon.zeros(1000, "int32")
    source = tenon.full(1000, 7, "int32")
    back = tenon.pinned(1000, "int32")
    back.fill(0)
    pinned = tenon.pinned(1000, "int32")
    pinned.fill(3)
    view = pinned.numpy(copy=False).view(Owner)
    gone = weakref.ref(view)
    gate.hold(stream)
    target.copy_from(view, stream)
    source.copy_to(back, stream)
    address = back.ptr
    del view, pinned, back
    gc.collect()
    # If the memory had been freed, an allocation of the same size would reuse it.
    others = [tenon.pinned(1000, "int32") for _ in range(4)]
    assert address not in [other.ptr for other in others]
    assert gone() is not None
    gate.open()
    stream.synchronize()
    assert gone() is None
    assert target.tolist() == [3] * 1000


def test_queued_copies_release_host_memory_early(device: tenon.Device, stream: tenon.Stream) -> None:
    target = tenon.zeros(16, "uint8")
    # Each callback queues the next copies, so the stream is never idle.
    gates = [Gate() for _ in range(20)]
    references: list[weakref.ref[Any]] = []
    gates[0].hold(stream)
    for turn, gate in enumerate(gates):
        for _ in range(40):
            source = tenon.pinned(16, "uint8")
            source.fill(1)
            references.append(weakref.ref(source._memory))
            target.copy_from(source, stream)
            del source
        if turn + 1 < len(gates):
            gates[turn + 1].hold(stream)
            gate.open()
            gates[turn + 1].wait_until_reached()
    assert sum(reference() is not None for reference in references) < 200
    gates[-1].open()
    stream.synchronize()
    assert not any(reference() for reference in references)


def test_pinned_memory_outlives_announced_work(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    pinned = tenon.pinned(100, "uint8")
    address = pinned.ptr
    gate.hold(stream)
    pinned.record_stream(stream)
    del pinned
    assert address not in [tenon.pinned(100, "uint8").ptr for _ in range(4)]
    gate.open()
    stream.synchronize()


def test_borrowed_memory_outlives_work_that_uses_it(stream: tenon.Stream, gate: Gate) -> None:
    array = np.zeros(100, "u1")
    gone = weakref.ref(owner := array.view(Owner))
    borrowed = tenon.from_dlpack(owner)
    del owner
    gate.hold(stream)
    borrowed.record_stream(stream)
    closer = threading.Thread(target=borrowed.close)
    closer.start()
    # The copy must not end before the gate opens.
    closer.join(0.2)
    assert gone() is not None
    assert not borrowed.closed
    gate.open()
    closer.join()
    assert borrowed.closed
    assert gone() is None


def test_copy_with_a_stream_does_not_wait(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    pinned, target, back = tenon.pinned(4, "int8"), tenon.zeros(4, "int8"), tenon.pinned(4, "int8")
    pinned.fill(1)
    back.fill(0)
    gate.hold(stream)
    target.copy_from(pinned, stream)
    target.copy_to(back, stream)
    event = stream.record_event()
    tenon.full(4, 2, "int8", device, stream)
    assert not event.query()
    gate.open()
    event.synchronize()
    assert back.tolist() == [1] * 4


def test_copy_without_a_stream_waits_for_queued_copies(device: tenon.Device, gate: Gate) -> None:
    streams = [device.create_stream() for _ in range(3)]
    target = tenon.zeros((3, 4), "int8")
    for row, stream in enumerate(streams):
        source = tenon.pinned(4, "int8")
        source.fill(row + 1)
        gate.hold(stream)
        target[row].copy_from(source, stream)
    gate.open()
    assert target.tolist() == [[1] * 4, [2] * 4, [3] * 4]
    for stream in streams:
        stream.close()


def test_write_without_a_stream_waits_for_queued_copies(stream: tenon.Stream) -> None:
    pinned, target = tenon.pinned(1000, "uint8"), tenon.zeros(1000, "uint8")
    pinned.fill(1)
    for write in (
        lambda: target.copy_from(b"\2" * 1000),
        lambda: target.copy_from(bytearray(b"\2" * 1000)),
        lambda: target.fill(2),
        lambda: target[::2].fill(2),
    ):
        gate = Gate()
        target.fill(0)
        gate.hold(stream)
        target.copy_from(pinned, stream)
        writer = threading.Thread(target=write)
        writer.start()
        # The copy must not end before the gate opens.
        writer.join(0.2)
        gate.open()
        writer.join()
        assert target[::2].tolist() == [2] * 500


def test_overlapping_copy_waits_for_queued_copies(device: tenon.Device, stream: tenon.Stream) -> None:
    """The memory comes from the pool, so earlier queued work may still use it."""
    buffer, pinned, gate = tenon.zeros(512, "uint8"), tenon.pinned(511, "uint8"), Gate()
    before = tenon.empty(511, "uint8", stream=stream)
    gate.hold(stream)
    before.copy_from(pinned, stream)
    before.close()

    def shift() -> None:
        with stream:
            buffer[1:].copy_from(buffer[:-1])

    shifter = threading.Thread(target=shift)
    shifter.start()
    # The copy must not end before the gate opens.
    shifter.join(0.2)
    assert shifter.is_alive()
    gate.open()
    shifter.join()


def test_copy_through_an_unknown_alias_does_not_overlap(device: tenon.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A NumPy array was made from an address, so the package does not know that it aliases the buffer."""
    called: list[tuple[int, int, int]] = []
    real = functions.memory_copy_h2d

    def record(handle: int, to: int, source: int, size: int) -> None:
        called.append((to, source, size))
        real(handle, to, source, size)

    monkeypatch.setattr(functions, "memory_copy_h2d", record)
    buffer = tenon.zeros(100, "uint8")
    buffer.copy_from(bytearray(range(100)))
    unknown: Any = (ctypes.c_uint8 * 100).from_address(buffer.ptr)
    view = np.frombuffer(unknown, "u1")
    buffer[1:].copy_from(view[:-1])
    assert buffer.tolist() == [0, *range(99)]
    assert called
    assert all(abs(to - source) >= size for to, source, size in called)


def test_array_over_device_memory_is_not_host_memory(program: Program) -> None:
    done = program(
        """
        import numpy, tenon
        one, other = tenon.full(100, 3, "uint8"), tenon.zeros(100, "uint8")
        shown = one.numpy(copy=False)
        # The layer rejects copies that read invalid host memory.
        other.copy_from(shown)
        other[::-1].copy_from(shown)
        one.fill(4)
        other.copy_to(shown)
        print(set(other.tolist()), set(one.tolist()))
        """,
        TENON_LAYERS="validate",
    )
    assert silent(done, "{3} {3}")


# Between devices


def test_copy_between_two_devices_of_a_plugin(far: tenon.Device) -> None:
    other = far.plugin.devices()[1]
    model = np.arange(60, dtype="i2").reshape(6, 10)
    one = tenon.Buffer.from_array(model, far)
    stream = other.create_stream()
    for queued in (None, stream):
        two = one.to(other, queued)
        assert two.device is other
        two[:, ::2].copy_from(one[:, 1::2], queued)
        three = two.to(far, queued)
        stream.synchronize()
        wanted = model.copy()
        wanted[:, ::2] = model[:, 1::2]
        np.testing.assert_array_equal(three.numpy(), wanted)
    assert one.to(far) is one


def test_copy_between_devices_of_a_plugin_uses_the_plugin(far: tenon.Device) -> None:
    """The copy does not go through the host, although the result would be the same."""

    def calls(device: tenon.Device) -> dict[str, int]:
        return {entry.function: entry.calls for entry in device.report() if "copy" in entry.function}

    other = far.plugin.devices()[1]
    stream = other.create_stream()
    one = tenon.full(10, 3, "int8", far)
    before = calls(far), calls(other)
    two = one.to(other)
    three = one.to(other, stream)
    stream.synchronize()
    made = {name: calls(far)[name] + calls(other)[name] - before[0][name] - before[1][name] for name in calls(far)}
    assert {name for name, count in made.items() if count} <= {"memory_copy_p2p", "async_memory_copy_p2p"}
    assert sum(made.values()) >= 2
    assert two.tolist() == three.tolist() == [3] * 10


def test_copy_between_devices_of_two_plugins(device: tenon.Device, far: tenon.Device, stream: tenon.Stream) -> None:
    model = np.arange(60, dtype="f8").reshape(6, 10)
    one = tenon.Buffer.from_array(model, device)
    other_stream = far.create_stream()
    for queued in (None, stream, other_stream):
        there = tenon.zeros(model.shape, "float64", far)
        there.copy_from(one, queued)
        there[1:, ::3].copy_from(one[:-1, ::3], queued)
        back = tenon.zeros(model.shape, "float64", device)
        back.copy_from(there, queued)
        wanted = model.copy()
        wanted[1:, ::3] = model[:-1, ::3]
        stream.synchronize()
        np.testing.assert_array_equal(back.numpy(), wanted)


def test_copy_between_two_cpu_devices(program: Program) -> None:
    done = program(
        """
        import threading, tenon
        one, two = tenon.devices()
        source = tenon.Buffer.from_array(list(range(1000)), one)
        back = source.empty_like()
        there = tenon.empty(1000, "int64", two)
        gate = threading.Event()
        stream = one.create_stream()
        stream.add_callback(gate.wait)
        there.copy_from(source, stream)
        back.copy_from(there, stream)
        # The memory of the other device is released while the copies are queued.
        there = None
        again = [tenon.full(1000, 7, "int64", two) for _ in range(4)]
        gate.set()
        stream.synchronize()
        print(back.tolist() == list(range(1000)), all(buffer.tolist() == [7] * 1000 for buffer in again))
        for buffer in (source, back, *again):
            buffer.close()
        one.close()
        two.close()
        """,
        TENON_CPU_DEVICES="2",
        TENON_LAYERS="validate",
    )
    assert silent(done, "True True")


def test_copies_are_refused_in_a_callback(device: tenon.Device, stream: tenon.Stream) -> None:
    reported: list[str] = []
    buffer, array = tenon.zeros(4), np.zeros(4, "f4")

    def inside() -> None:
        for use in (lambda: buffer.copy_to(array), buffer.close, lambda: tenon.empty(1), lambda: buffer.fill(0)):
            try:
                use()
            except tenon.BusyError as error:
                reported.append(str(error))

    stream.add_callback(inside)
    stream.synchronize()
    assert len(reported) == 4
    assert all("callback" in text for text in reported)


def test_memory_dropped_in_a_callback_is_freed_later(device: tenon.Device, stream: tenon.Stream) -> None:
    before = device.memory_stats().in_use
    held = [tenon.zeros(100)]
    stream.add_callback(held.clear)
    stream.synchronize()
    assert device.memory_stats().in_use == before
