"""DLPack in both directions and both versions: with NumPy, and with invalid producers and consumers."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tenon
from support import Gate, Program, silent
from tenon import _dlpack_layout, dlpack, info

NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.1.0"
NAMES = ["bool", "uint8", "uint64", "int8", "int64", "float16", "float32", "float64", "complex64", "complex128"]
KEYS = [np.s_[...], np.s_[1:], np.s_[:, ::-2], np.s_[::-1, 2], np.s_[1, 1], np.s_[:, None, 1:2]]
VERSIONS = [None, (0, 8), (1, 0), (1, 1), (2, 0)]


class Consumer:
    """Consumes a capsule step by step, as a framework does."""

    def __init__(self, capsule: object) -> None:
        self.is_versioned = bool(dlpack._capsule_is(capsule, dlpack._VERSIONED))
        name = dlpack._VERSIONED if self.is_versioned else dlpack._UNVERSIONED
        self.address = dlpack._capsule_get(capsule, name)
        kind: Any = _dlpack_layout.ManagedVersioned if self.is_versioned else _dlpack_layout.Managed
        self.managed = kind.from_address(self.address)
        self.tensor = self.managed.tensor
        dlpack._capsule_rename(capsule, dlpack._USED_VERSIONED if self.is_versioned else dlpack._USED_UNVERSIONED)

    def give_back(self) -> None:
        """Returns the array once."""
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.managed.deleter)(self.address)


class Producer:
    """An array of another framework, on any device and of any type."""

    def __init__(self, device: tuple[int, int] = (1, 0), *, versioned: bool = True, **parts: Any) -> None:
        self.device = device
        self.versioned = versioned
        self.parts = parts
        self.given_back = 0
        self.data = (ctypes.c_int32 * 12)(*range(12))
        self.shape = (ctypes.c_int64 * 2)(3, 4)

    def _back(self, address: int) -> None:
        self.given_back += 1

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, *, max_version: tuple[int, int] | None = None) -> object:
        kind: Any = _dlpack_layout.ManagedVersioned if self.versioned else _dlpack_layout.Managed
        self.managed = kind()
        tensor = self.managed.tensor
        tensor.data = self.parts.get("data", ctypes.addressof(self.data))
        tensor.device.type, tensor.device.id = self.device
        tensor.ndim = self.parts.get("ndim", 2)
        tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = self.parts.get("dtype", (0, 32, 1))
        if "shape" in self.parts:
            self.shape = (ctypes.c_int64 * 2)(*self.parts["shape"])
        tensor.shape = self.shape if self.parts.get("has_shape", True) else None
        if "strides" in self.parts:
            self.strides = (ctypes.c_int64 * 2)(*self.parts["strides"])
            tensor.strides = self.strides
        tensor.byte_offset = self.parts.get("offset", 0)
        if self.versioned:
            self.managed.major, self.managed.minor = self.parts.get("version", (1, 0))
            self.managed.flags = self.parts.get("flags", 0)
        if self.parts.get("deleter", True):
            self.deleter = dlpack._Deleter(self._back)
            self.managed.deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        name = dlpack._VERSIONED if self.versioned else dlpack._UNVERSIONED
        return dlpack._capsule_new(ctypes.addressof(self.managed), name, None)


# Export


@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("dtype", NAMES)
def test_numpy_accepts_buffers(dtype: str, key: Any) -> None:
    model: NDArray[Any] = np.arange(12).reshape(3, 4).astype(dtype)
    buffer = tenon.Buffer.from_array(model)
    array = np.from_dlpack(buffer[key])
    model = np.asarray(model[key])
    assert (array.dtype, array.shape) == (model.dtype, model.shape)
    np.testing.assert_array_equal(array, model)
    buffer.fill(1)
    np.testing.assert_array_equal(array, np.ones_like(model))


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize("space", ["device", "pinned"])
def test_tensor_description(space: Any, version: tuple[int, int] | None) -> None:
    buffer = tenon.Buffer((3, 4, 0, 1) if space == "pinned" else (3, 4), "complex64", space=space)[1:, ::-1]
    assert buffer.__dlpack_device__() == (1, 0)
    taken = Consumer(buffer.__dlpack__(max_version=version))
    assert taken.is_versioned == (version is not None and version >= (1, 0))
    if taken.is_versioned:
        assert (taken.managed.major, taken.managed.minor, taken.managed.flags) == (1, 3, 0)
    tensor = taken.tensor
    assert (tensor.device.type, tensor.device.id, tensor.ndim, tensor.byte_offset) == (1, 0, buffer.ndim, 0)
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes) == (5, 64, 1)
    assert tuple(tensor.shape[: tensor.ndim]) == buffer.shape
    assert tuple(step * 8 for step in tensor.strides[: tensor.ndim]) == buffer.strides
    assert tensor.data == buffer.ptr
    taken.give_back()
    buffer.close()


def in_use(device: tenon.Device) -> int:
    """Returns the bytes in use of the pool. Unlike `memory_stats`, it does not collect returned arrays first."""
    return info.of_memory(device.handle).in_use


@pytest.mark.parametrize("version", [None, (1, 1)], ids=str)
def test_memory_stays_alive_until_the_consumer_returns_it(device: tenon.Device, version: Any) -> None:
    gc.collect()
    before = in_use(device)
    buffer = tenon.full(1000, 7, "uint8")
    taken = Consumer(buffer.__dlpack__(max_version=version))
    with pytest.raises(tenon.BusyError):
        buffer.close()
    del buffer
    others = [tenon.full(1000, 1, "uint8") for _ in range(20)]
    assert ctypes.string_at(taken.tensor.data, 1000) == b"\7" * 1000
    taken.give_back()
    del others
    assert tenon.empty(1) is not None
    assert in_use(device) == before


@pytest.mark.parametrize("version", [None, (1, 1)], ids=str)
def test_unused_capsule_keeps_no_memory_alive(device: tenon.Device, version: Any) -> None:
    gc.collect()
    before = in_use(device)
    buffer = tenon.zeros(1000)
    capsule = buffer.__dlpack__(max_version=version)
    with pytest.raises(tenon.BusyError):
        buffer.close()
    del capsule
    buffer.close()
    for _ in range(100):
        tenon.zeros(1000).__dlpack__(max_version=version)
    tenon.empty(1)
    assert in_use(device) < before + 100 * 4000
    for _ in range(100):
        tenon.empty(1)
    assert in_use(device) == before


def test_pending_exception_is_not_lost() -> None:
    # The list is freed while the exception is set. The end of an array must not change it.
    buffer = tenon.zeros(3)
    for show in (lambda: buffer.__dlpack__(), lambda: np.from_dlpack(buffer).data):
        with pytest.raises(ValueError, match="7 is not in list"):
            list[object]([show()]).index(7)
    buffer.close()


def drop_many(device: tenon.Device) -> None:
    """More tensors than one allocation checks."""
    arrays = [np.from_dlpack(tenon.zeros(1 << 16, "uint8", device)) for _ in range(40)]
    del arrays


def test_device_closes_after_many_exports_were_dropped() -> None:
    device = tenon.device("cpu:1")
    drop_many(device)
    device.close()
    assert device.closed


def test_memory_of_dropped_exports_is_released(device: tenon.Device) -> None:
    gc.collect()
    before = device.memory_stats().in_use
    drop_many(device)
    assert device.memory_stats().in_use == before
    drop_many(device)
    device.trim_memory()
    assert in_use(device) == before


def test_live_tensors_are_checked_a_few_at_a_time() -> None:
    kept = [np.from_dlpack(tenon.full(1, turn, "int32")) for turn in range(1000)]
    assert [int(array[0]) for array in kept] == list(range(1000))
    one = tenon.zeros(1)
    array = np.from_dlpack(one)
    del array
    # Close checks all of them.
    one.close()
    del kept
    tenon.zeros(1).close()


def test_stream_of_the_consumer(device: tenon.Device, far: tenon.Device, stream: tenon.Stream, gate: Gate) -> None:
    buffer, pinned = tenon.zeros(4, "int8"), tenon.pinned(4, "int8")
    pinned.fill(3)
    gate.hold(stream)
    buffer.copy_from(pinned, stream)
    gate.open()
    assert np.from_dlpack(buffer).tolist() == [3] * 4
    with pytest.raises(BufferError, match="stream must be None"):
        buffer.__dlpack__(stream=1)
    other = tenon.zeros(4, "int8", far)
    for handle in (None, 0, -1):
        assert tenon.from_dlpack(Again(other.__dlpack__(stream=handle))).tolist() == [0] * 4


class Again:
    """A producer with an existing capsule."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def test_copies_are_made_on_request(device: tenon.Device) -> None:
    buffer = tenon.full(4, 2, "int32")
    for wanted in (None, (1, 0)):
        taken = Consumer(buffer.__dlpack__(copy=True, max_version=(1, 1), dl_device=wanted))
        assert taken.tensor.data != buffer.ptr
        assert taken.managed.flags == 2
        assert ctypes.string_at(taken.tensor.data, 16) == b"\2\0\0\0" * 4
        taken.give_back()
    taken = Consumer(buffer.__dlpack__(copy=False, dl_device=(1, 0)))
    assert taken.tensor.data == buffer.ptr
    taken.give_back()
    with pytest.raises(BufferError, match="not on the DLPack device"):
        buffer.__dlpack__(dl_device=(2, 0))


def test_memory_that_the_host_cannot_access_is_an_error(far: tenon.Device) -> None:
    other = far.plugin.devices()[1]
    buffer = tenon.full(4, 2, "int32", other)
    assert buffer.__dlpack_device__() == (12, 1)
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(buffer)
    with pytest.raises(BufferError, match="on required:1, not on the DLPack device"):
        buffer.__dlpack__(dl_device=(1, 0), copy=False)
    # A copy to the host is possible.
    taken = Consumer(buffer.__dlpack__(dl_device=(1, 0), max_version=(1, 0)))
    assert ((taken.tensor.device.type, taken.tensor.device.id), taken.managed.flags) == ((1, 0), 2)
    assert ctypes.string_at(taken.tensor.data, 16) == b"\2\0\0\0" * 4
    taken.give_back()
    if NUMPY_2:
        assert np.from_dlpack(buffer, device="cpu").tolist() == [2] * 4
    # Back to its own device.
    same = tenon.from_dlpack(buffer)
    assert (same.device, same.ptr, same.space) == (other, buffer.ptr, "device")


# Import


@pytest.mark.parametrize("dtype", NAMES)
def test_numpy_arrays_are_imported_without_a_copy(dtype: str) -> None:
    model = np.arange(12).reshape(3, 4).astype(dtype)
    buffer = tenon.from_dlpack(model[:, ::2])
    assert (buffer.dtype.name, buffer.shape, buffer.space) == (dtype, (3, 2), "host")
    assert (buffer.strides, buffer.ptr) == (model[:, ::2].strides, model.ctypes.data)
    np.testing.assert_array_equal(buffer.numpy(), model[:, ::2])
    model[...] = 1
    assert buffer.tolist() == [[1, 1]] * 3
    buffer.fill(0)
    assert model[:, ::2].tolist() == [[0, 0]] * 3
    np.testing.assert_array_equal(np.from_dlpack(buffer), model[:, ::2])


def test_array_is_copied_to_a_device() -> None:
    model = np.arange(12.0).reshape(3, 4)
    buffer = tenon.from_dlpack(model, device="cpu:0")
    assert (buffer.space, buffer.tolist()) == ("device", model.tolist())
    assert tenon.from_dlpack(buffer, device="cpu:0").ptr == buffer.ptr
    for copy in (True, None):
        assert tenon.from_dlpack(model, device="cpu:0", copy=copy).space == "device"
    assert tenon.from_dlpack(buffer, copy=True).ptr != buffer.ptr
    with pytest.raises(BufferError, match="copy=False forbids a copy"):
        tenon.from_dlpack(model, device="cpu:0", copy=False)


@pytest.mark.parametrize("versioned", [False, True])
def test_array_is_returned_once(versioned: bool) -> None:
    producer = Producer(versioned=versioned, offset=4)
    buffer = tenon.from_dlpack(producer)
    assert (buffer.tolist()[0], buffer.readonly) == ([1, 2, 3, 4], not versioned)
    view = buffer[1:]
    del buffer
    gc.collect()
    assert producer.given_back == 0
    shown = view.numpy(copy=False)
    with pytest.raises(tenon.BusyError):
        view.close()
    del view
    gc.collect()
    assert (producer.given_back, shown[0, 0]) == (0, 5)
    del shown
    assert producer.given_back == 1


def test_close_returns_the_array() -> None:
    producer = Producer()
    buffer = tenon.from_dlpack(producer)
    buffer.close()
    assert (producer.given_back, buffer.closed) == (1, True)
    buffer.close()
    with pytest.raises(tenon.InvalidHandleError):
        buffer.tolist()
    del buffer
    assert producer.given_back == 1


def test_producer_without_a_deleter() -> None:
    buffer = tenon.from_dlpack(Producer(deleter=False))
    assert buffer.shape == (3, 4)


def test_memory_of_an_exporter_without_versions_is_read_only_as_in_numpy() -> None:
    class Exporter:
        """An exporter from before DLPack 1.0, as JAX."""

        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, *, stream: None = None) -> Any:
            return self.array.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    array = np.arange(3.0)
    buffer = tenon.from_dlpack(Exporter(array))
    assert buffer.readonly
    assert not np.from_dlpack(Exporter(array)).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        buffer.fill(7)
    assert array.tolist() == [0, 1, 2]
    copied = buffer.copy()
    copied.fill(7)
    assert (copied.tolist(), array.tolist()) == ([7] * 3, [0, 1, 2])


def test_read_only_memory_is_not_written() -> None:
    buffer = tenon.from_dlpack(Producer(flags=1))
    assert buffer.readonly
    assert not buffer.numpy(copy=False).flags.writeable
    assert not np.asarray(buffer).flags.writeable
    assert buffer.memoryview().readonly
    with pytest.raises(ValueError, match="read-only"):
        buffer.fill(0)
    with pytest.raises(ValueError, match="read-only"):
        buffer[0].copy_from(np.arange(4, dtype="i4"))
    with pytest.raises(BufferError, match=r"before DLPack 1\.0"):
        buffer.__dlpack__()
    taken = Consumer(buffer.__dlpack__(max_version=(1, 0)))
    assert taken.managed.flags == 1
    taken.give_back()


def test_read_only_memory_of_a_device_is_not_written(far: tenon.Device) -> None:
    origin = tenon.zeros((3, 4), "int32", far)
    buffer = tenon.from_dlpack(Producer((12, 0), data=origin.ptr, flags=1), device=far)
    with pytest.raises(ValueError, match="read-only"):
        buffer.copy_from(np.ones((3, 4), "i4"))
    with pytest.raises(ValueError, match="read-only"):
        buffer.fill(1)
    assert buffer.tolist() == [[0] * 4] * 3


@pytest.mark.parametrize(
    ("producer", "match"),
    [
        (Producer((2, 0)), "type 2, not on the host"),
        (Producer((12, 0)), "type 12, not on the host"),
        (Producer(dtype=(0, 4, 1)), "4 bits"),
        (Producer(dtype=(0, 32, 4)), "4 lanes"),
        (Producer(dtype=(7, 8, 1)), "code 7"),
        (Producer(version=(2, 0)), r"DLPack 2\.0"),
        (Producer(ndim=10**9), "1000000000 dimensions; at most 64"),
        (Producer(ndim=-1), "-1 dimensions"),
        (Producer(has_shape=False), "no shape"),
        (Producer(shape=(3, -4)), r"must not be negative, but the shape \(3, -4\) contains -4"),
        (Producer(shape=(2**40, 2**40)), "too large"),
        (Producer(strides=(2**60, 2**60)), "too large"),
    ],
    ids=[
        "cuda",
        "elsewhere",
        "bits",
        "lanes",
        "code",
        "version",
        "dimensions",
        "negative-dimensions",
        "no-shape",
        "negative-length",
        "large-shape",
        "large-strides",
    ],
)
def test_rejected_tensor_stays_with_the_producer(producer: Producer, match: str) -> None:
    with pytest.raises(BufferError, match=match):
        tenon.from_dlpack(producer)
    # Its capsule is unused, so the producer releases the array.
    assert producer.given_back == 0


def test_capsule_can_be_used_once() -> None:
    again = Again(Producer().__dlpack__())
    assert tenon.from_dlpack(again).shape == (3, 4)
    with pytest.raises(BufferError, match="already consumed"):
        tenon.from_dlpack(again)
    with pytest.raises(BufferError, match="not a DLPack capsule"):
        tenon.from_dlpack(Again(3))
    with pytest.raises(TypeError, match="no __dlpack__"):
        tenon.from_dlpack([1, 2])


def test_device_type_without_a_number_means_the_given_device(far: tenon.Device) -> None:
    origin = tenon.Buffer.from_array(np.arange(12, dtype="i4").reshape(3, 4), far)
    producer = Producer((12, 0), data=origin.ptr)
    with pytest.raises(BufferError, match="not on the host"):
        tenon.from_dlpack(producer)
    buffer = tenon.from_dlpack(producer, device=far)
    assert (buffer.device, buffer.space, buffer.ptr) == (far, "device", origin.ptr)
    assert buffer.tolist() == origin.tolist()
    buffer.fill(3)
    assert origin[0].tolist() == [3] * 4
    buffer.close()
    assert producer.given_back == 1


def test_arrays_stay_valid_at_interpreter_exit(program: Program) -> None:
    done = program(
        """
        import numpy, tenon
        class Late:
            def __init__(self):
                self.array = numpy.from_dlpack(tenon.full(1000, 7, "int32"))
                self.buffer = tenon.from_dlpack(numpy.full(1000, 5))
            def __del__(self):
                print(self.array.tolist()[999])
        late = Late()
        print("end")
        """,
    )
    assert silent(done, "end\n7")
