"""Buffers as NumPy arrays and memory views that share the memory."""

from __future__ import annotations

import ctypes
import gc
import sys
import types
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tenon
from support import Gate, Program, silent

ALL = sys.modules["tenon.dtype"].DTYPES
WITH_NUMPY = [dtype for dtype in ALL if dtype.typestr is not None]
KEYS = [np.s_[...], np.s_[1:], np.s_[:, ::-2], np.s_[::-1, 2], np.s_[1, 1], np.s_[:, None, 1:2]]


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("dtype", WITH_NUMPY, ids=str)
def test_arrays_share_the_memory(dtype: tenon.DType, key: Any) -> None:
    model: NDArray[Any] = np.arange(12).reshape(3, 4).astype(dtype.name)
    buffer = tenon.Buffer.from_array(model)
    model = np.asarray(model[key])
    for make in (lambda b: b.numpy(copy=False), np.asarray, lambda b: np.array(b, copy=True), lambda b: b.numpy()):
        array = make(buffer[key])
        assert (array.dtype, array.shape) == (model.dtype, model.shape)
        np.testing.assert_array_equal(array, model)
    shared = buffer[key].numpy(copy=False)
    other = np.asarray(buffer[key])
    assert np.shares_memory(shared, other)
    shared[...] = 1
    np.testing.assert_array_equal(other, np.ones_like(model))
    np.testing.assert_array_equal(buffer[key].numpy(), np.ones_like(model))


NAMELESS = ["bfloat16", "complex64", "complex128", *(["float16"] if sys.version_info < (3, 12) else [])]


@pytest.mark.parametrize("dtype", [dtype for dtype in WITH_NUMPY if dtype.name not in NAMELESS], ids=str)
def test_memory_views(dtype: tenon.DType) -> None:
    buffer = tenon.Buffer.from_array(np.arange(12).reshape(3, 4).astype(dtype.name))
    view = buffer.memoryview()
    assert (view.format, view.shape, view.strides) == (dtype.format, (3, 4), buffer.strides)
    assert (view.tolist(), view.readonly) == (buffer.tolist(), False)
    one: Any = dtype.unpack(dtype.pack([1]))[0]
    view[1, 2] = one
    assert buffer[1, 2].item() == 1
    assert buffer[1, ::-2].memoryview().tolist() == buffer[1, ::-2].tolist()
    assert buffer[0, 0].memoryview().tolist() == buffer[0, 0].tolist()
    with pytest.raises(BufferError, match="not contiguous"):
        buffer.T.memoryview()


def test_the_buffer_protocol() -> None:
    buffer = tenon.Buffer.from_array(np.arange(6, dtype="i2").reshape(2, 3))
    if sys.version_info >= (3, 12):
        view = memoryview(buffer)
        assert bytes(buffer) == buffer.numpy().tobytes()
    else:
        # Before 3.12, classes in Python cannot implement the buffer protocol.
        with pytest.raises(TypeError, match="bytes-like"):
            memoryview(buffer)  # type: ignore[arg-type,unused-ignore]
        view = buffer.__buffer__(0)
    view[0, 0] = 9
    assert buffer.tolist() == [[9, 1, 2], [3, 4, 5]]
    with pytest.raises(tenon.BusyError):
        buffer.close()
    view.release()
    del view
    buffer.close()


@pytest.mark.parametrize("dtype", NAMELESS)
def test_types_without_a_protocol_name(dtype: str) -> None:
    buffer = tenon.zeros((2, 2), dtype)
    with pytest.raises(BufferError, match="use view"):
        buffer.memoryview()
    assert buffer.view("uint8").memoryview().nbytes == buffer.nbytes


def test_bfloat16_is_the_type_of_ml_dtypes() -> None:
    import ml_dtypes  # type: ignore[import-not-found,unused-ignore]

    model = np.arange(12).reshape(3, 4).astype(ml_dtypes.bfloat16)
    buffer = tenon.Buffer.from_array(model)
    assert buffer.dtype.name == "bfloat16"
    assert tenon.dtype(ml_dtypes.bfloat16) is buffer.dtype
    for array in (buffer.numpy(), buffer.numpy(copy=False), buffer.T.numpy(copy=False).T):
        assert array.dtype == model.dtype
        np.testing.assert_array_equal(array, model)
    buffer.copy_from(model[::-1])
    buffer[0].copy_to(model[0])
    np.testing.assert_array_equal(model[0], np.arange(8, 12))


def test_bfloat16_without_ml_dtypes_names_the_package(program: Program) -> None:
    done = program("""
        import sys
        sys.modules["ml_dtypes"] = None
        import numpy, tenon
        try:
            tenon.zeros(2, "bfloat16").numpy()
        except ImportError as error:
            print("pip install ml_dtypes" in str(error))
        try:
            numpy.asarray(tenon.zeros(2, "bfloat16"))
        except BufferError as error:
            print(error)
        print(tenon.full(2, 1, "bfloat16").view("uint16").numpy())
    """)
    assert silent(done, "True\nNumPy has no type bfloat16: use numpy() or view('uint16')\n[16256 16256]")


# Lifetime of shared memory


@pytest.mark.parametrize(
    "show",
    [
        lambda buffer: buffer.numpy(copy=False),
        np.asarray,
        lambda buffer: buffer.memoryview(),
        np.from_dlpack,
        lambda buffer: (ctypes.c_char * 8).from_buffer(buffer.memoryview()),
        lambda buffer: buffer.__dlpack__(),
        lambda buffer: buffer.numpy(copy=False)[1:].reshape(-1)[::2],
    ],
    ids=["numpy", "asarray", "memoryview", "dlpack", "ctypes", "capsule", "view of a view"],
)
@pytest.mark.parametrize("make", [tenon.zeros, tenon.pinned])
def test_memory_stays_alive_while_an_array_refers_to_it(device: tenon.Device, make: Any, show: Any) -> None:
    gc.collect()
    before = device.memory_stats().in_use
    buffer = make((4, 1000))
    shown = show(buffer)
    with pytest.raises(tenon.BusyError, match="the buffer is shared with an array or a view"):
        buffer.close()
    assert not buffer.closed
    buffer.fill(7)
    del buffer
    gc.collect()
    # The next allocation does not get this memory.
    others = [make((4, 1000)) for _ in range(4)]
    for other in others:
        other.fill(1)
    if isinstance(shown, np.ndarray):
        assert (shown == 7).all()
    del shown, other, others
    assert tenon.empty(1) is not None
    assert device.memory_stats().in_use == before


def test_shared_array_waits_for_queued_work(device: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    pinned, buffer = tenon.pinned(1000, "uint8"), tenon.zeros(1000, "uint8")
    pinned.fill(5)
    for show in (lambda: buffer.numpy(copy=False), lambda: np.asarray(buffer), buffer.memoryview, buffer.numpy):
        buffer.fill(0)
        gate.hold(stream)
        buffer.copy_from(pinned, stream)
        gate.open()
        assert bytes(show()) == b"\5" * 1000


def test_memory_that_the_host_cannot_access_is_not_shared(far: tenon.Device) -> None:
    buffer = tenon.full(3, 2, device=far)
    assert not buffer.host_accessible
    assert not far.info.host_accessible
    assert tenon.device("cpu").info.host_accessible
    for show in (lambda: buffer.numpy(copy=False), buffer.memoryview, lambda: np.asarray(buffer)):
        with pytest.raises(BufferError, match="cannot access the memory of required:0"):
            show()
    assert buffer.numpy().tolist() == [2, 2, 2]


def test_numpy_does_not_iterate_over_a_buffer() -> None:
    buffer = tenon.zeros(3)
    with pytest.raises(TypeError):
        np.ones(3) + buffer


def test_shutdown_is_refused_while_an_array_refers_to_memory(program: Program) -> None:
    done = program("""
        import atexit, numpy, tenon
        kept = tenon.full(1000, 7, "int32").numpy(copy=False)
        try:
            tenon.shutdown()
        except tenon.BusyError as error:
            print(error)
        class Late:
            def __del__(self):
                print(kept.tolist()[999])
        late = Late()
    """)
    assert silent(done, "arrays or views of other packages, such as NumPy, refer to device memory: drop them first\n7")


def test_numpy_dtype_of_a_buffer_is_that_of_its_elements() -> None:
    buffer = tenon.ones(3, "int16")
    assert buffer.__numpy_dtype__ == np.dtype(buffer.dtype) == np.int16
    if np.lib.NumpyVersion(np.__version__) >= "2.4.0":
        # The types of NumPy do not name the method that older releases lack.
        untyped: Any = buffer
        assert np.dtype(untyped) == np.int16


def test_jax_gets_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    # JAX calls the method from `jnp.asarray` and `jnp.array`. Here NumPy is in its place.
    monkeypatch.setitem(sys.modules, "jax", types.ModuleType("jax"))
    monkeypatch.setitem(sys.modules, "jax.numpy", np)
    buffer = tenon.ones(3, "float32")
    array = buffer.__jax_array__()
    buffer.fill(2)
    assert (array.dtype, array.tolist()) == (np.float32, [1, 1, 1])
