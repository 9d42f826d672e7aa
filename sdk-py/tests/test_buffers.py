"""Buffers: creation, properties, indexing and release."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref
from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tenon
from support import Gate, Program, silent
from tenon import _layout

ALL = sys.modules["tenon.dtype"].DTYPES


@pytest.mark.parametrize("dtype", ALL, ids=str)
@pytest.mark.parametrize("make", [tenon.empty, tenon.pinned, tenon.unified])
def test_every_type_and_every_memory(make: Any, dtype: tenon.DType) -> None:
    with make((3, 5), dtype) as buffer:
        assert (buffer.shape, buffer.dtype, buffer.ndim, buffer.size) == ((3, 5), dtype, 2, 15)
        assert buffer.strides == (5 * dtype.itemsize, dtype.itemsize)
        assert (buffer.itemsize, buffer.nbytes) == (dtype.itemsize, 15 * dtype.itemsize)
        assert buffer.ptr % 64 == 0
        assert buffer.device is tenon.device("cpu:0")
        assert buffer.host_accessible
        assert not buffer.readonly
        buffer.fill(1)
        assert buffer.tolist() == [[1] * 5] * 3
        buffer[1, 1:3] = 0
        assert buffer[:, 2].tolist() == [1, 0, 1]
    assert buffer.closed


def test_constructors_set_shape_dtype_and_space(device: tenon.Device) -> None:
    assert tenon.zeros((2, 2), "int8").tolist() == [[0, 0], [0, 0]]
    assert tenon.full(3, 2.5, "float16", "cpu:0").tolist() == [2.5, 2.5, 2.5]
    assert tenon.empty(()).shape == ()
    assert tenon.full((), 7, int).item() == 7
    assert tenon.Buffer((2,), "uint8", device).space == "device"
    assert tenon.pinned(1).space == "pinned"
    assert tenon.unified(1).space == "unified"


def test_buffer_uses_the_current_device_and_stream(device: tenon.Device, stream: tenon.Stream) -> None:
    with stream:
        assert tenon.empty(1).device is device
    assert tenon.empty(1, stream=stream).device is device


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.arange(6, dtype="i2").reshape(2, 3), "int16"),
        (bytearray(b"abc"), "uint8"),
        (b"abc", "uint8"),
        (memoryview(b"abcd").cast("i"), "int32"),
        (np.float32(3), "float32"),
        (3, "int64"),
        (True, "bool"),
        (1.5, "float64"),
        (1j, "complex128"),
        ([[1, 2], [3, 4]], "int64"),
        ((1, 2.5), "float64"),
        ([True, 2], "int64"),
        ([], "float64"),
        ([[], []], "float64"),
    ],
    ids=repr,
)
def test_arrays_of_other_packages_are_copied(array: Any, dtype: str) -> None:
    buffer = tenon.Buffer.from_array(array)
    wanted = np.frombuffer(array, "u1") if isinstance(array, (bytes, bytearray)) else np.asarray(array)
    assert (buffer.dtype.name, buffer.shape) == (dtype, wanted.shape)
    assert (buffer.dtype.name, buffer.shape) == (wanted.dtype.name, wanted.shape)
    np.testing.assert_array_equal(buffer.numpy(), wanted)


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [
        ([np.float32(1), np.float16(0.5)], "float64"),
        ([np.int8(1), [2, 3][1]], "int64"),
        ([[np.True_], [False]], "bool"),
        ([np.complex64(1j), 2], "complex128"),
    ],
    ids=repr,
)
def test_numpy_numbers_in_lists_are_treated_as_python_numbers(numbers: Any, dtype: str) -> None:
    buffer = tenon.Buffer.from_array(numbers)
    assert buffer.dtype == dtype
    assert buffer.tolist() == np.array(numbers).tolist()
    assert tenon.Buffer.from_array(numbers, dtype="complex64").tolist() == np.array(numbers).tolist()


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_numbers_get_the_requested_type(dtype: tenon.DType) -> None:
    buffer = tenon.Buffer.from_array([[0, 1], [1, 0]], dtype=dtype)
    assert (buffer.dtype, buffer.tolist()) == (dtype, [[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ([[1], [1, 2]], ValueError),
        ([1, [2]], ValueError),
        (["a"], TypeError),
        ("abc", TypeError),
        (None, TypeError),
        (object(), TypeError),
        (np.array(["a"]), TypeError),
        ([np.str_("a")], TypeError),
        ([np.longdouble(1)], TypeError),
        ([np.float32(1), [1]], ValueError),
        (np.array([object()]), TypeError),
        (np.arange(3, dtype=np.dtype("i4").newbyteorder()), TypeError),
        (np.zeros(2, "M8[s]"), TypeError),
        (np.zeros(2, [("a", "f4")]), TypeError),
    ],
    ids=repr,
)
def test_object_that_is_not_an_array_is_an_error(wrong: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        tenon.Buffer.from_array(wrong)


def test_unsupported_element_type_is_an_error() -> None:
    with pytest.raises(TypeError, match="float32, not int32"):
        tenon.Buffer.from_array(np.zeros(3, "f4"), dtype="int32")


# Sizes


@pytest.mark.parametrize("shape", [2**62, (2**31, 2**31), (2**40, 2**40), (2**63,), (0, 2**62, 2**62), 2**200])
def test_size_beyond_the_address_space_is_an_error(shape: Any) -> None:
    with pytest.raises(ValueError, match="too large"):
        tenon.empty(shape, "float32")


def test_size_beyond_the_memory_is_out_of_memory() -> None:
    for make in (tenon.empty, tenon.pinned, tenon.unified):
        with pytest.raises(tenon.OutOfMemoryError) as caught:
            make(2**60, "uint8")
        assert isinstance(caught.value, MemoryError)
    # The device still works.
    assert tenon.full(3, 1).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("shape", "error"), [(-1, ValueError), ((2, -3), ValueError), (1.5, TypeError), ("3", TypeError), (None, TypeError)]
)
def test_invalid_shape_is_an_error(shape: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        tenon.empty(shape)


@pytest.mark.parametrize("space", ["host", "gpu", None])
def test_space_of_a_buffer_is_checked(space: Any) -> None:
    with pytest.raises(ValueError, match=f"device, pinned, unified, not {space!r}"):
        tenon.Buffer(1, space=space)


@pytest.mark.parametrize("stream", [0, "cpu:0", tenon.Device("cpu", 0), tenon.Event("cpu:0")], ids=repr)
def test_invalid_stream_is_refused_before_the_copy(stream: Any) -> None:
    buffer = tenon.zeros((2, 2))
    for use in (
        lambda: tenon.empty(1, stream=stream),
        lambda: tenon.zeros(1, stream=stream),
        lambda: tenon.Buffer.from_array([1], stream=stream),
        lambda: buffer.copy(stream),
        lambda: buffer.empty_like(stream),
        lambda: buffer.to("cpu:1", stream),
        lambda: buffer.copy_from(np.zeros((2, 2), "f4"), stream),
        lambda: buffer.copy_to(np.zeros((2, 2), "f4"), stream),
        lambda: buffer.fill(1, stream),
        lambda: buffer.record_stream(stream),
    ):
        with pytest.raises(TypeError, match=r"stream must be a tenon\.Stream, not"):
            use()
    # The invalid stream was not registered for waits.
    assert buffer.tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("shape", [0, (0,), (3, 0), (0, 3), (2, 0, 4)])
def test_empty_arrays(shape: Any, stream: tenon.Stream) -> None:
    wanted = np.zeros(shape, "f4")
    for buffer in (tenon.empty(shape), tenon.pinned(shape), tenon.Buffer.from_array(wanted)):
        assert (buffer.shape, buffer.nbytes, buffer.size) == (wanted.shape, 0, 0)
        buffer.fill(1)
        buffer.fill(1, stream)
        buffer.copy_from(wanted)
        buffer.copy_from(wanted, stream)
        buffer.copy_to(wanted)
        assert buffer.tolist() == wanted.tolist()
        assert buffer.numpy().shape == wanted.shape
        assert buffer.numpy(copy=False).shape == wanted.shape
        assert np.asarray(buffer).shape == wanted.shape
        assert np.from_dlpack(buffer).shape == wanted.shape
        assert tenon.from_dlpack(wanted).shape == wanted.shape
        assert buffer.memoryview().nbytes == 0
        assert buffer[...].T.reshape(-1).shape == (0,)
        buffer.close()


# Views


@given(st.data(), arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
def test_indexing_matches_numpy(data: st.DataObject, shape: tuple[int, ...]) -> None:
    model = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    strides = _layout.contiguous(shape, 4)
    offset = 0
    # Indices of the result of an index.
    for _ in range(3):
        key = data.draw(arrays.basic_indices(model.shape, allow_newaxis=True))
        parts = key if isinstance(key, tuple) else (key,)
        wanted = model[parts if any(part is ... for part in parts) else (*parts, ...)]
        step, layout = _layout.indexed(model.shape, strides, key)
        begin, end = _layout.span(model.shape, strides, 4)
        assert begin <= step <= end
        offset += step
        assert layout.shape == wanted.shape
        if wanted.size:
            assert wanted.flat[0] * 4 == offset
        for length, ours, theirs in zip(wanted.shape, layout.strides, wanted.strides):
            assert length <= 1 or not wanted.size or ours == theirs
        if wanted.size:
            assert _layout.is_contiguous(*layout, 4) == wanted.flags.c_contiguous
        model, strides = wanted, layout.strides


@given(st.data())
def test_reshape_succeeds_where_numpy_needs_no_copy(data: st.DataObject) -> None:
    shape = data.draw(arrays.array_shapes(max_dims=4, max_side=4))
    model = np.arange(int(np.prod(shape)), dtype="i4").reshape(shape)
    model = model.transpose(data.draw(st.permutations(range(model.ndim))))
    model = model[data.draw(arrays.basic_indices(model.shape, allow_ellipsis=False))]
    if not isinstance(model, np.ndarray) or not model.size:
        return
    sizes = [count for count in range(1, model.size + 1) if model.size % count == 0]
    first = data.draw(st.sampled_from(sizes))
    second = data.draw(st.sampled_from([count for count in sizes if model.size // first % count == 0]))
    wanted = (first, second, model.size // first // second)
    theirs = model.reshape(wanted)
    ours = _layout.reshaped(model.shape, model.strides, 4, wanted)
    if np.shares_memory(theirs, model):
        assert ours is not None
        assert [s for n, s in zip(*ours) if n > 1] == [s for n, s in zip(theirs.shape, theirs.strides) if n > 1]
    else:
        assert ours is None


def test_views_share_memory_and_keep_it_alive(device: tenon.Device) -> None:
    before = device.memory_stats().in_use
    buffer = tenon.zeros((4, 6), "int32")
    view = buffer[1:3, ::-2].T
    view.fill(5)
    del buffer
    gc.collect()
    assert view.tolist() == [[5, 5]] * 3
    assert device.memory_stats().in_use > before
    del view
    assert device.memory_stats().in_use == before


@pytest.mark.parametrize(
    "key",
    [
        np.s_[3:],
        np.s_[5:],
        np.s_[:0],
        np.s_[3::-1, 4:],
        np.s_[3:, 4:],
        np.s_[:, 4:],
        np.s_[1, 4:],
        np.s_[..., 4:, None],
    ],
    ids=repr,
)
@pytest.mark.parametrize("turned", [False, True])
def test_empty_view_has_the_address_of_the_buffer(key: Any, turned: bool) -> None:
    # An address after the memory, or before it with negative strides, does not belong to this buffer.
    buffer = tenon.zeros((3, 4))
    if turned:
        buffer = buffer[::-1, ::-1]
    assert buffer[key].size == 0
    assert buffer[key].ptr == buffer.ptr
    assert buffer[key].shape == np.zeros((3, 4))[key].shape


def test_iteration_yields_rows() -> None:
    buffer = tenon.Buffer.from_array([[1, 2], [3, 4]])
    assert len(buffer) == 2
    assert [row.tolist() for row in buffer] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="no length"):
        len(buffer[0, 0])


def test_view_reinterprets_bytes() -> None:
    buffer = tenon.Buffer.from_array(np.arange(12, dtype="i4").reshape(3, 4))
    for name in ("uint8", "int16", "float32", "int64", "complex128"):
        np.testing.assert_array_equal(buffer.view(name).numpy(), buffer.numpy().view(name))
    assert buffer.view("float32")[1:].view("int32").tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert tenon.empty((2, 0), "int8").view("int64").shape == (2, 0)
    assert buffer[:, 1:2].view("int16").shape == (3, 2)
    with pytest.raises(ValueError, match="contiguous"):
        buffer[:, ::2].view("int64")
    with pytest.raises(ValueError, match="contiguous"):
        buffer[0, 0].view("int8")
    with pytest.raises(ValueError, match="multiple"):
        buffer[:, :3].view("int64")


@pytest.mark.parametrize(
    ("key", "error"),
    [
        (3, IndexError),
        (-4, IndexError),
        ((0, 4), IndexError),
        ((0, 0, 0), IndexError),
        ((..., ...), IndexError),
        ("a", TypeError),
        (1.0, TypeError),
        ([0, 1], TypeError),
        (np.array([0]), (TypeError, IndexError)),
        (True, TypeError),
        (slice(None, None, 0), ValueError),
    ],
    ids=repr,
)
def test_invalid_indices_are_errors(key: Any, error: Any) -> None:
    with pytest.raises(error):
        tenon.empty((3, 4))[key]


def test_incompatible_shapes_are_errors() -> None:
    buffer = tenon.empty((3, 4))
    for shape in ((5,), (-1, 5), (-1, -1), (2, 7)):
        with pytest.raises(ValueError):
            buffer.reshape(shape)
    with pytest.raises(ValueError, match=r"contiguous\(\)"):
        buffer.T.ravel()
    assert buffer.T.contiguous().ravel().shape == (12,)
    assert buffer.contiguous() is buffer
    for axes in ((0, 0), (0,), (2, 0), (-3, 0), (0, 1, 0)):
        with pytest.raises(ValueError, match="each of the 2 dimensions once"):
            buffer.transpose(*axes)
    wrong: Any
    for wrong in (1.0, "ab", (1.0, 12), None):
        with pytest.raises(TypeError, match="a shape must be an integer or a sequence of integers"):
            buffer.reshape(wrong)
    for wrong in ((0.0, 1.0), ("a", "b"), (None, 0)):
        with pytest.raises(TypeError):
            buffer.transpose(*wrong)


def test_numpy_numbers_are_accepted() -> None:
    one, four = np.int64(1), np.uint8(4)
    buffer = tenon.zeros((np.int16(3), four), "int32")
    assert buffer.shape == (3, 4)
    assert buffer.reshape(np.int64(12)).shape == buffer.reshape((np.int64(-1),)).shape == (12,)
    assert buffer.transpose(one, np.int8(0)).shape == buffer.transpose((1, 0)).shape == buffer.T.shape == (4, 3)
    assert buffer[one, : np.int64(2)].shape == (2,)
    # A Python number is converted. An array has a type, and copies do not convert.
    buffer[0] = np.int64(7)
    seven: Any = np.int8(7)
    buffer[1:].fill(seven)
    assert buffer.tolist() == [[7] * 4] * 3
    with pytest.raises(TypeError, match="int64 into int32"):
        buffer[0, 0] = np.array(7)
    with pytest.raises(TypeError, match="is not a valid int32"):
        buffer[0] = np.float32(1.5)


def test_single_element_converts_to_a_number() -> None:
    for value in (0, 3, 2.5):
        one = tenon.full((1, 1), value)
        assert (bool(one), int(one), float(one), complex(one)) == (bool(value), int(value), value, value)
    # The numbers, not the bytes of the text.
    assert int(tenon.full((), 0x33, "uint8")) == 0x33
    for count in (0, 2):
        several = tenon.zeros(count)
        with pytest.raises(ValueError, match=f"{count} elements has no truth value"):
            bool(several)
        for convert in (int, float, complex):
            with pytest.raises(ValueError, match=f"not of {count} elements"):
                convert(several)


def test_buffer_equals_only_itself() -> None:
    buffer, same = tenon.full(2, 3), tenon.full(2, 3)
    assert buffer == buffer
    assert buffer != same
    assert buffer != buffer[...]
    assert len({buffer, same, buffer}) == 2
    # It would compare rows by identity.
    with pytest.raises(TypeError):
        _ = 3 in buffer  # type: ignore[operator]


# Representation


def test_repr_of_a_buffer(far: tenon.Device) -> None:
    buffer = tenon.empty((2, 3), "float16")
    assert repr(buffer) == "<tenon.Buffer shape=(2, 3), dtype=float16, device=cpu:0>"
    assert repr(buffer.T) == "<tenon.Buffer shape=(3, 2), dtype=float16, strides=(2, 6), device=cpu:0>"
    assert repr(tenon.pinned(1, "int8")) == "<tenon.Buffer shape=(1,), dtype=int8, device=cpu:0, space=pinned>"
    frozen = np.zeros(2, "u1")
    frozen.flags.writeable = False
    if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
        shown = repr(tenon.from_dlpack(frozen))
        assert shown == "<tenon.Buffer shape=(2,), dtype=uint8, device=cpu:0, space=host, read-only>"
    assert repr(tenon.empty(1, device=far)) == "<tenon.Buffer shape=(1,), dtype=float32, device=required:0>"
    buffer.close()
    assert repr(buffer) == "<tenon.Buffer shape=(2, 3), dtype=float16, device=cpu:0, closed>"


def test_item_returns_one_number() -> None:
    assert tenon.Buffer.from_array([[3.5]]).item() == 3.5
    with pytest.raises(ValueError, match="2 elements"):
        tenon.empty(2).item()


# Lifetime


def test_close_closes_all_views_and_may_be_repeated() -> None:
    buffer = tenon.zeros((2, 2))
    view = buffer[0]
    with buffer:
        pass
    buffer.close()
    view.close()
    assert view.closed
    for use in (view.numpy, view.tolist, view.memoryview, view.__dlpack__, view.copy, lambda: view[0], lambda: view.T):
        with pytest.raises(tenon.InvalidHandleError, match="closed"):
            use()
    with pytest.raises(tenon.InvalidHandleError, match="closed"):
        view.fill(0)
    with pytest.raises(tenon.InvalidHandleError, match="closed"):
        _ = view.ptr
    with pytest.raises(tenon.InvalidHandleError, match="closed"), buffer:
        pass
    assert view.shape == (2,)


def test_pickle_of_a_buffer_is_an_error() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(tenon.empty(1))


def test_copy_is_in_the_same_space() -> None:
    for space in ("device", "pinned", "unified"):
        buffer = tenon.Buffer((2, 3), "int8", space=space)
        buffer.fill(1)
        assert (buffer.T.contiguous().space, buffer.T.copy().tolist()) == (space, [[1, 1]] * 3)
    assert tenon.from_dlpack(np.zeros((2, 3))).copy().space == "device"


def test_buffers_cannot_be_sent_to_other_processes(program: Program) -> None:
    done = program("""
        import os, warnings, tenon
        # Since Python 3.12, forking with threads causes a warning.
        warnings.simplefilter("ignore", DeprecationWarning)
        buffer = tenon.zeros(3)
        if os.fork() == 0:
            try:
                buffer.tolist()
            except tenon.NotInitialisedError as error:
                print("spawn" in str(error), flush=True)
            del buffer
            os._exit(0)
        os.wait()
        print(buffer.tolist())
        tenon.shutdown()
        try:
            buffer.tolist()
        except tenon.InvalidHandleError as error:
            print(error)
    """)
    assert silent(done, "True\n[0.0, 0.0, 0.0]\ncpu:0: the buffer is closed")


def test_threads_create_copy_and_drop_buffers(device: tenon.Device) -> None:
    gc.collect()
    before = device.memory_stats().in_use
    shared = device.create_stream()
    wrong: list[object] = []

    def work(number: int) -> None:
        own = device.create_stream()
        model = np.full(257, number, "i4")
        for turn in range(100):
            stream = (None, own, shared)[turn % 3]
            buffer = tenon.Buffer.from_array(model, device, stream)
            pinned = tenon.pinned(257, "int32")
            buffer[::-1].copy_to(pinned, stream)
            view = np.from_dlpack(pinned)
            if stream is not None:
                stream.synchronize()
            if not (view == number).all() or not (buffer.numpy() == number).all():
                wrong.append((number, turn))
        own.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    shared.close()
    gc.collect()
    tenon.empty(1).close()
    assert not wrong
    assert device.memory_stats().in_use == before


def test_reference_cycle_of_buffers_is_collected(device: tenon.Device) -> None:
    before = device.memory_stats().in_use
    cycle: list[Any] = [tenon.empty(100)]
    cycle.append(cycle)
    gone = weakref.ref(cycle[0])
    del cycle
    gc.collect()
    assert gone() is None
    assert device.memory_stats().in_use == before


@pytest.mark.parametrize("last", ["one", "other"])
def test_memory_is_freed_after_all_work_that_uses_it(device: tenon.Device, gate: Gate, last: str) -> None:
    one, other = device.create_stream(), device.create_stream()
    source = tenon.full(1000, 7, "uint8", stream=one)
    targets = [tenon.zeros(1000, "uint8", device) for _ in range(2)]
    one.synchronize()
    gate.hold(other)
    targets[0].copy_from(source, other)
    targets[1].copy_from(source, one if last == "one" else other)
    # The first copy has not begun, and no reference to its source is left.
    address = source.ptr
    source.close()
    # Enough allocations to get the same memory if it were free.
    after = [tenon.full(1000, 9, "uint8", stream=one) for _ in range(100)]
    assert last == "other" or address in [buffer.ptr for buffer in after]
    gate.open()
    assert [target.tolist() for target in targets] == [[7] * 1000] * 2
    one.close()
    other.close()


def test_buffer_drops_streams_whose_work_is_done(device: tenon.Device) -> None:
    gc.collect()
    device.synchronize()
    before = len(device._session.streams)
    buffers = []
    for _ in range(20):
        stream = device.create_stream()
        buffers.append(tenon.zeros(4, device=device, stream=stream))
        buffers[-1].fill(1, device.create_stream())
    device.synchronize()
    del stream
    assert len(device._session.streams) == before + 40
    # The host has waited for all of them, so they are known to be done.
    assert all(buffer.tolist() == [1] * 4 for buffer in buffers)
    assert len(device._session.streams) == before


def test_freed_memory_is_reused_on_its_stream(device: tenon.Device, stream: tenon.Stream) -> None:
    """The memory is also reused if the host has waited for the stream, so that no wait is needed."""
    buffer = tenon.zeros(5000, "uint8", device, stream)
    address = buffer.ptr
    assert buffer.tolist() == [0] * 5000
    buffer.close()
    assert tenon.empty(5000, "uint8", device, stream).ptr == address


def test_record_stream_makes_reads_wait(device: tenon.Device, gate: Gate, stream: tenon.Stream) -> None:
    from tenon._native import functions

    source, target = tenon.full(64, 1, "uint8"), tenon.zeros(64, "uint8")
    gate.hold(stream)
    target.record_stream(stream)
    functions.async_memory_copy_d2d(device.handle, stream.handle, target.ptr, source.ptr, 64)
    gate.open()
    # Reading waits for the stream, although the copy was not queued through the buffer.
    assert target.tolist() == [1] * 64


def test_other_stream_waits_for_the_allocating_stream(device: tenon.Device, gate: Gate) -> None:
    one, other = device.create_stream(), device.create_stream()
    first = tenon.empty(512, "uint8", stream=one)
    address = first.ptr
    source = tenon.pinned(512, "uint8")
    source.fill(3)
    gate.hold(one)
    first.copy_from(source, one)
    first.close()
    second = tenon.empty(512, "uint8", stream=one)
    assert second.ptr == address
    # Work of the first owner must precede work of the second, on any stream.
    second.fill(5, other)
    gate.open()
    assert second.tolist() == [5] * 512
    one.close()
    other.close()
