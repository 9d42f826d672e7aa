"""Random sequences of buffer operations, each compared with NumPy."""

from __future__ import annotations

from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test

import tenon

DTYPES = ["bool", "uint8", "int16", "int32", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = st.lists(st.integers(0, 5), max_size=4).map(tuple)
STREAMS = 3


class Memory:
    """An allocation, with the events after its queued work."""

    def __init__(self, buffer: tenon.Buffer) -> None:
        self.buffer = buffer
        self.events: list[tenon.Event] = []


class Array:
    """A buffer, and the NumPy array that must be equal to it."""

    def __init__(self, memory: Memory, buffer: tenon.Buffer, model: np.ndarray[Any, Any]) -> None:
        self.memory = memory
        self.buffer = buffer
        self.model = model

    @property
    def is_open(self) -> bool:
        return not self.memory.buffer.closed

    def check(self) -> None:
        assert (self.buffer.shape, self.buffer.dtype.name) == (self.model.shape, self.model.dtype.name)
        np.testing.assert_array_equal(self.buffer.numpy(), self.model)


def numbers(data: st.DataObject, shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    """An array of small integers, which every type can represent, in one of several layouts."""
    array = data.draw(arrays.arrays(np.int8, shape, elements=st.integers(0, 1)), label="values").astype(dtype)
    layout = data.draw(st.sampled_from(["C", "F", "reversed", "sparse", "broadcast"]), label="layout")
    if layout == "F":
        return np.array(array, order="F")
    if layout == "reversed":
        return np.ascontiguousarray(array[..., ::-1])[..., ::-1] if array.ndim else array
    if layout == "sparse":
        sparse = np.zeros(tuple(2 * length for length in shape), dtype)
        every_other: Any = (*(slice(None, None, 2) for _ in shape), ...)
        sparse[every_other] = array
        found: np.ndarray[Any, Any] = sparse[every_other]
        return found
    if layout == "broadcast" and array.size:
        return np.broadcast_to(array.flat[0], shape)
    return array


class Buffers(RuleBasedStateMachine):
    """Random operations on buffers of one device."""

    device: tenon.Device
    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.streams = [self.device.create_stream() for _ in range(STREAMS)]
        self.memories: list[Memory] = []

    def begin(self, stream: tenon.Stream | None, *sides: Array) -> None:
        """Makes a stream wait for the queued work of some arrays."""
        for side in sides:
            for event in side.memory.events:
                if stream is not None and event.device is stream.device:
                    stream.wait_event(event)

    def end(self, stream: tenon.Stream | None, *sides: Array) -> None:
        """Records an event of a stream for some arrays."""
        if stream is not None:
            event = stream.record_event()
            for side in sides:
                side.memory.events.append(event)

    def stream(self, number: int | None) -> tenon.Stream | None:
        return None if number is None else self.streams[number]

    def made(self, buffer: tenon.Buffer, model: np.ndarray[Any, Any]) -> Array:
        memory = Memory(buffer)
        self.memories.append(memory)
        return Array(memory, buffer, model)

    numbered = st.none() | st.integers(0, STREAMS - 1)

    @rule(target=held, data=st.data(), shape=SHAPES, dtype=st.sampled_from(DTYPES), number=numbered)
    def upload(self, data: st.DataObject, shape: tuple[int, ...], dtype: str, number: int | None) -> Array:
        stream = self.stream(number)
        source = numbers(data, shape, dtype)
        made = self.made(tenon.Buffer.from_array(source, self.device, stream), np.array(source, order="C"))
        self.end(stream, made)
        return made

    @rule(target=held, shape=SHAPES, dtype=st.sampled_from(DTYPES), value=st.integers(0, 1), number=numbered)
    def full(self, shape: tuple[int, ...], dtype: str, value: int, number: int | None) -> Array:
        stream = self.stream(number)
        made = self.made(tenon.full(shape, value, dtype, self.device, stream), np.full(shape, value, dtype))
        self.end(stream, made)
        return made

    @rule(target=held, shape=SHAPES, dtype=st.sampled_from(DTYPES))
    def pinned(self, shape: tuple[int, ...], dtype: str) -> Array:
        assume(self.device.type == "cpu")
        made = self.made(tenon.pinned(shape, dtype, self.device), np.ones(shape, dtype))
        made.buffer.fill(1)
        return made

    @rule(target=held, array=held, data=st.data())
    def index(self, array: Array, data: st.DataObject) -> Array:
        assume(array.is_open)
        key = data.draw(arrays.basic_indices(array.model.shape, allow_newaxis=True), label="key")
        # For an index that is a tuple with `...`, NumPy returns an array even for one element.
        whole: Any = (*key, ...) if isinstance(key, tuple) and ... not in key else key if key is ... else (key, ...)
        if isinstance(key, tuple) and ... in key:
            whole = key
        return Array(array.memory, array.buffer[key], array.model[whole])

    @rule(target=held, array=held, data=st.data())
    def transpose(self, array: Array, data: st.DataObject) -> Array:
        assume(array.is_open)
        axes = data.draw(st.permutations(range(array.model.ndim)), label="axes")
        return Array(array.memory, array.buffer.transpose(*axes), array.model.transpose(*axes))

    @rule(target=held, array=held, data=st.data())
    def reshape(self, array: Array, data: st.DataObject) -> Any:
        assume(array.is_open and array.model.size)
        shape = data.draw(st.sampled_from([(-1,), (1, -1), (-1, 1), (2, -1), (-1, 3), array.model.shape[::-1]]))
        try:
            wanted = array.model.reshape(shape)
        except ValueError:
            with pytest.raises(ValueError):
                array.buffer.reshape(shape)
            return multiple()
        if not np.shares_memory(wanted, array.model):
            with pytest.raises(ValueError, match="contiguous"):
                array.buffer.reshape(shape)
            return multiple()
        return Array(array.memory, array.buffer.reshape(shape), wanted)

    @rule(array=held, value=st.integers(0, 1), number=numbered)
    def fill(self, array: Array, value: int, number: int | None) -> None:
        assume(array.is_open)
        stream = self.stream(number)
        self.begin(stream, array)
        array.buffer.fill(value, stream)
        self.end(stream, array)
        array.model[...] = value

    @rule(array=held, data=st.data(), number=numbered)
    def copy_from_numpy(self, array: Array, data: st.DataObject, number: int | None) -> None:
        assume(array.is_open)
        stream = self.stream(number)
        source = numbers(data, array.model.shape, array.model.dtype.name)
        array.model[...] = source
        self.begin(stream, array)
        # No reference to the source is kept.
        array.buffer.copy_from(source, stream)
        self.end(stream, array)

    @rule(array=held, number=numbered)
    def copy_to_numpy(self, array: Array, number: int | None) -> None:
        assume(array.is_open)
        stream = self.stream(number)
        there = np.empty(array.model.shape[::-1], array.model.dtype).T
        self.begin(stream, array)
        array.buffer.copy_to(there, stream)
        self.end(stream, array)
        if stream is not None:
            stream.synchronize()
        np.testing.assert_array_equal(there, array.model)

    @rule(to=held, source=held, number=numbered)
    def copy(self, to: Array, source: Array, number: int | None) -> None:
        assume(to.is_open and source.is_open)
        assume((to.model.shape, to.model.dtype) == (source.model.shape, source.model.dtype))
        stream = self.stream(number)
        self.begin(stream, to, source)
        to.buffer.copy_from(source.buffer, stream)
        self.end(stream, to, source)
        to.model[...] = source.model.copy()

    @rule(array=held, data=st.data(), number=numbered)
    def copy_within(self, array: Array, data: st.DataObject, number: int | None) -> None:
        assume(array.is_open and array.model.ndim and array.model.shape[0] > 1)
        stream = self.stream(number)
        backwards = data.draw(st.booleans(), label="backwards")
        to, source = (slice(1, None), slice(None, -1))[:: -1 if backwards else 1]
        self.begin(stream, array)
        array.buffer[to].copy_from(array.buffer[source], stream)
        self.end(stream, array)
        array.model[to] = array.model[source].copy()

    @rule(array=held)
    def write_through_numpy(self, array: Array) -> None:
        assume(array.is_open and array.buffer.host_accessible)
        view = array.buffer.numpy(copy=False)
        view[...] = 1
        array.model[...] = 1
        self.refused_to_close(array)

    @rule(array=held)
    def write_through_dlpack(self, array: Array) -> None:
        assume(array.is_open and array.buffer.host_accessible)
        view = np.from_dlpack(array.buffer)
        np.testing.assert_array_equal(view, array.model)
        self.refused_to_close(array)

    def refused_to_close(self, array: Array) -> None:
        with pytest.raises(tenon.BusyError):
            array.buffer.close()

    @rule(target=held, array=held)
    def through_dlpack(self, array: Array) -> Array:
        assume(array.is_open)
        return Array(array.memory, tenon.from_dlpack(array.buffer), array.model)

    @rule(array=held)
    def read(self, array: Array) -> None:
        assume(array.is_open)
        array.check()
        assert array.buffer.tolist() == array.model.tolist()

    @rule(array=held)
    def close(self, array: Array) -> None:
        array.memory.buffer.close()
        assert array.buffer.closed
        with pytest.raises(tenon.InvalidHandleError, match="closed"):
            array.buffer.numpy()

    @invariant()
    def contiguity(self) -> None:
        """The layout is that of NumPy."""
        for memory in self.memories[-1:]:
            if not memory.buffer.closed:
                assert memory.buffer.is_contiguous

    def teardown(self) -> None:
        for memory in self.memories:
            memory.buffer.close()
        for stream in self.streams:
            stream.close()
        assert self.device.memory_stats().in_use == 0


def run(device: tenon.Device, examples: int) -> None:
    kind = type("Buffers", (Buffers,), {"device": device})
    run_state_machine_as_test(
        kind,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def test_buffers_behave_like_numpy(device: tenon.Device) -> None:
    run(device, 60)


def test_buffers_without_host_access_behave_like_numpy(far: tenon.Device) -> None:
    run(far, 40)
