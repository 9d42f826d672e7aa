"""The C exchange API of DLPack 1.3, called from C and through ctypes."""

from __future__ import annotations

import ctypes
import gc
import subprocess
import threading
import weakref
from ctypes import CFUNCTYPE, PYFUNCTYPE, byref, c_char_p, c_int, c_int32, c_int64, c_uint32, c_void_p, py_object
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tenon
from support import Gate
from tenon import _dlpack_layout, info
from test_dlpack import Producer

CPU, CUDA, EXT_DEV = 1, 2, 12
SET_ERROR = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)

CONSUMER = """
#include <stdint.h>

typedef struct {
  void* data;
  struct { int32_t type, id; } device;
  int32_t ndim;
  struct { uint8_t code, bits; uint16_t lanes; } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} tensor;

typedef struct managed {
  uint32_t major, minor;
  void* context;
  void (*deleter)(struct managed*);
  uint64_t flags;
  tensor tensor;
} managed;

typedef struct table {
  uint32_t major, minor;
  struct table* previous;
  int (*allocate)(tensor*, managed**, void*, void (*)(void*, const char*, const char*));
  int (*from_object)(void*, managed**);
  int (*to_object)(managed*, void**);
  int (*describe)(void*, tensor*);
  int (*current_stream)(int, int32_t, void**);
} table;

static void no_error(void* context, const char* kind, const char* message) { *(int*)context = 1; }

/* Makes a vector with twice the elements of another one, as a library for several frameworks does. */
int twice(const table* api, void* object, void** made) {
  tensor from;
  if (api->major != 1 || api->minor < 3 || api->previous) return -2;
  if (api->describe(object, &from)) return -1;
  if (from.device.type != 1 || from.ndim != 1 || from.dtype.code != 2 || from.dtype.bits != 32) return -3;
  managed *source, *to;
  if (api->from_object(object, &source)) return -1;
  int failed = 0;
  if (api->allocate(&from, &to, &failed, no_error) || failed) return -4;
  for (int64_t i = 0; i < from.shape[0]; i++)
    ((float*)to->tensor.data)[i] = 2 * ((float*)source->tensor.data)[i * source->tensor.strides[0]];
  source->deleter(source);
  void* stream = &stream;
  if (api->current_stream(1, 0, &stream) || stream) return -5;
  return api->to_object(to, made);
}
"""


class Table(ctypes.Structure):
    """`DLPackExchangeAPI`. The functions check for an exception, as callers in C do."""

    _fields_ = (
        ("major", c_uint32),
        ("minor", c_uint32),
        ("previous", c_void_p),
        ("allocate", PYFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, SET_ERROR)),
        ("export", PYFUNCTYPE(c_int, py_object, c_void_p)),
        ("take", PYFUNCTYPE(c_int, c_void_p, c_void_p)),
        ("describe", PYFUNCTYPE(c_int, py_object, c_void_p)),
        ("current_stream", PYFUNCTYPE(c_int, c_int, c_int32, c_void_p)),
    )


def address() -> int:
    get = ctypes.PyDLL(None).PyCapsule_GetPointer
    get.argtypes, get.restype = [py_object, c_char_p], c_void_p
    found: int = get(tenon.Buffer.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    return found


@pytest.fixture
def table() -> Any:
    return Table.from_address(address())


def exported(table: Any, buffer: Any) -> Any:
    out = c_void_p()
    assert table.export(buffer, byref(out)) == 0
    return _dlpack_layout.ManagedVersioned.from_address(out.value or 0)


def delete(managed: Any) -> None:
    CFUNCTYPE(None, c_void_p)(managed.deleter)(ctypes.addressof(managed))


def allocate(table: Any, shape: tuple[int, ...], device: tuple[int, int], code: int = 2) -> tuple[Any, list[bytes]]:
    """Allocates an array, and returns it with the error."""
    lengths = (c_int64 * len(shape))(*shape)
    prototype = _dlpack_layout.Tensor()
    prototype.device.type, prototype.device.id = device
    prototype.ndim, prototype.shape = len(shape), lengths
    prototype.dtype.code, prototype.dtype.bits, prototype.dtype.lanes = code, 32, 1
    error: list[bytes] = []
    out = c_void_p()
    status = table.allocate(
        ctypes.addressof(prototype), byref(out), None, SET_ERROR(lambda _, kind, text: error.extend((kind, text)))
    )
    assert status == (-1 if error else 0)
    return (None if error else _dlpack_layout.ManagedVersioned.from_address(out.value or 0)), error


def test_consumer_in_c_exchanges_buffers(tmp_path: Path) -> None:
    source, library = tmp_path / "consumer.c", tmp_path / "consumer.so"
    source.write_text(CONSUMER)
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", source, "-o", library], check=True)
    twice = ctypes.PyDLL(str(library)).twice
    twice.argtypes = [c_void_p, py_object, ctypes.POINTER(py_object)]
    made = py_object()
    assert twice(address(), tenon.array([1, 2, 3, 4], dtype="float32")[::-1], byref(made)) == 0
    result = made.value
    ctypes.pythonapi.Py_DecRef(py_object(result))
    assert isinstance(result, tenon.Buffer)
    assert result.tolist() == [8.0, 6.0, 4.0, 2.0]
    with pytest.raises(TypeError, match="expected a tenon.Buffer, not list"):
        twice(address(), [1], byref(made))


def test_table_is_one_for_all_buffers_and_has_version_1_3(table: Any) -> None:
    assert (table.major, table.minor, table.previous) == (1, 3, None)
    assert tenon.zeros(2).__dlpack_c_exchange_api__ is tenon.Buffer.__dlpack_c_exchange_api__


def test_export_describes_the_buffer_and_keeps_its_memory(table: Any, device: tenon.Device) -> None:
    before = info.of_memory(device.handle).in_use
    buffer = tenon.array(np.arange(6, dtype="int32").reshape(2, 3), device=device)[:, 1:]
    managed = exported(table, buffer)
    assert (managed.major, managed.minor, managed.flags) == (1, 3, 0)
    tensor = managed.tensor
    assert (tensor.data, tensor.shape[:2], tensor.strides[:2]) == (buffer.ptr, [2, 2], [3, 1])
    assert (tensor.dtype.code, tensor.dtype.bits, tensor.device.type) == (0, 32, CPU)
    del buffer
    gc.collect()
    assert info.of_memory(device.handle).in_use > before
    delete(managed)
    device.synchronize()
    tenon.zeros(1, device=device).close()
    assert info.of_memory(device.handle).in_use == before


def test_export_waits_for_work_on_memory_of_the_host(
    table: Any, device: tenon.Device, stream: tenon.Stream, gate: Gate
) -> None:
    buffer = tenon.zeros(2, device=device)
    gate.hold(stream)
    buffer.fill(3.0, stream=stream)
    threading.Timer(0.05, gate.open).start()
    tensor = _dlpack_layout.Tensor()
    assert table.describe(buffer, byref(tensor)) == 0
    assert ctypes.cast(tensor.data, ctypes.POINTER(ctypes.c_float))[:2] == [3.0, 3.0]


def test_described_tensors_do_not_share_their_shapes(table: Any) -> None:
    buffers = [tenon.zeros(shape) for shape in ((2, 3), (5,), ())]
    tensors = [_dlpack_layout.Tensor() for _ in buffers]
    for buffer, tensor in zip(buffers, tensors):
        assert table.describe(buffer, byref(tensor)) == 0
    assert [tuple(tensor.shape[: tensor.ndim]) for tensor in tensors] == [(2, 3), (5,), ()]


def test_own_array_comes_back_as_the_same_memory(table: Any) -> None:
    buffer = tenon.array([1.0, 2.0])
    managed = exported(table, buffer)
    out = py_object()
    assert table.take(ctypes.addressof(managed), byref(out)) == 0
    taken = out.value
    assert taken.ptr == buffer.ptr
    reference = weakref.ref(taken)
    del taken
    assert reference() is not None
    ctypes.pythonapi.Py_DecRef(out)
    assert reference() is None
    buffer.close()


def test_foreign_array_is_taken_over_and_deleted_once(table: Any) -> None:
    managed, data, shape = _dlpack_layout.ManagedVersioned(), (ctypes.c_float * 3)(1, 2, 3), (c_int64 * 1)(3)
    deleted: list[int] = []
    deleter = CFUNCTYPE(None, c_void_p)(deleted.append)
    managed.major, managed.minor, managed.deleter = 1, 0, ctypes.cast(deleter, c_void_p).value
    tensor = managed.tensor
    tensor.data, tensor.ndim, tensor.shape = ctypes.addressof(data), 1, shape
    tensor.device.type, tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = CUDA, 2, 32, 1
    out = py_object()
    with pytest.raises(BufferError, match="device of DLPack type 2"):
        table.take(ctypes.addressof(managed), byref(out))
    assert not deleted
    tensor.device.type = CPU
    assert table.take(ctypes.addressof(managed), byref(out)) == 0
    assert out.value.tolist() == [1.0, 2.0, 3.0]
    ctypes.pythonapi.Py_DecRef(out)
    del out
    gc.collect()
    assert deleted == [ctypes.addressof(managed)]


def test_errors_are_exceptions_of_the_caller(table: Any) -> None:
    out = c_void_p()
    with pytest.raises(TypeError, match=r"expected a tenon\.Buffer, not int"):
        table.export(1, byref(out))
    closed = tenon.zeros(2)
    closed.close()
    with pytest.raises(tenon.InvalidHandleError, match="the buffer is closed"):
        table.export(closed, byref(out))
    read_only = tenon.from_dlpack(Producer(flags=1))
    with pytest.raises(BufferError, match="read-only"):
        table.describe(read_only, byref(_dlpack_layout.Tensor()))
    with pytest.raises(BufferError, match="no devices of the DLPack type 2"):
        table.current_stream(CUDA, 0, byref(out))
    assert out.value is None


def test_allocation_fails_without_python_exceptions(table: Any) -> None:
    assert allocate(table, (2,), (CUDA, 0)) == (None, [b"BufferError", b"tenon has no devices of the DLPack type 2"])
    assert allocate(table, (1 << 50,), (CPU, 0))[1][0] == b"OutOfMemoryError"
    assert allocate(table, (-1,), (CPU, 0))[1][0] == b"BufferError"
    assert allocate(table, (2,), (CPU, 0), code=99)[1][0] == b"BufferError"


def test_allocation_accepts_arrays_without_elements(table: Any) -> None:
    managed, error = allocate(table, (2, 0), (CPU, 0))
    assert (error, managed.tensor.shape[:2]) == ([], [2, 0])
    delete(managed)


def test_other_memory_is_used_on_the_current_stream(table: Any, far: tenon.Device) -> None:
    out = c_void_p()
    with far, far.create_stream() as stream:
        managed = exported(table, tenon.zeros(2))
        assert (managed.tensor.device.type, managed.tensor.device.id) == (EXT_DEV, 0)
        delete(managed)
        assert table.current_stream(EXT_DEV, 0, byref(out)) == 0
        assert (out.value or 0) == stream.handle
        made, error = allocate(table, (2,), (EXT_DEV, 0))
        assert (error, made.tensor.device.type) == ([], EXT_DEV)
        delete(made)
        on_host, _ = allocate(table, (2,), (CPU, 0))
        assert on_host.tensor.device.type == CPU
        delete(on_host)
