"""The low-level bindings: each way to pass a parameter, on the built-in device."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tenon
from support import FUNCTIONS
from tenon._native import arrays, core, functions, library, text, types
from tenon._native.version import VERSION


@pytest.fixture
def handle() -> Iterator[int]:
    """The handle of the built-in device."""
    handle = core.device_open(None, 0)
    yield handle
    core.device_close(handle)


@pytest.fixture
def plugin() -> int:
    """The handle of the built-in plugin."""
    return core.plugin_get(0)


def address(memory: ctypes.Array[ctypes.c_char]) -> int:
    return ctypes.addressof(memory)


def test_bytes_are_copied_to_the_device_and_back(handle: int) -> None:
    there = ctypes.create_string_buffer(bytes(range(256)), 256)
    back = ctypes.create_string_buffer(256)
    ptr = functions.device_memory_allocate(handle, 256)
    assert ptr > 0
    functions.memory_copy_h2d(handle, ptr, address(there), 256)
    functions.memory_copy_d2h(handle, address(back), ptr, 256)
    assert back.raw == there.raw
    functions.device_memory_set(handle, ptr + 1, 0xAB, 254)
    functions.memory_copy_d2h(handle, address(back), ptr, 256)
    assert back.raw == b"\0" + b"\xab" * 254 + b"\xff"
    functions.device_memory_deallocate(handle, ptr, 256)


def test_work_before_a_completed_event_is_done(handle: int) -> None:
    stream, event = functions.create_stream(handle), functions.create_event(handle)
    ptr = functions.device_memory_allocate(handle, 8)
    there, back = ctypes.create_string_buffer(b"12345678", 8), ctypes.create_string_buffer(8)
    functions.async_memory_copy_h2d(handle, stream, ptr, address(there), 8)
    functions.async_memory_copy_d2h(handle, stream, address(back), ptr, 8)
    functions.record_event(handle, stream, event)
    functions.synchronize_event(handle, event)
    assert functions.query_event(handle, event) is True
    assert functions.query_stream(handle, stream) is True
    assert back.raw == b"12345678"
    functions.device_memory_deallocate(handle, ptr, 8)
    functions.destroy_event(handle, event)
    functions.destroy_stream(handle, stream)


def test_callback_gets_integers(handle: int) -> None:
    stream = functions.create_stream(handle)
    seen: list[tuple[object, ...]] = []

    @types.StreamCallback
    def callback(device: object, stream: object, user_data: object, status: object) -> None:
        seen.append((device, stream, user_data))

    functions.stream_add_callback(handle, stream, callback, 0xFFFF_FFFF_FFFF_FFF0)
    functions.synchronize_stream(handle, stream)
    assert seen == [(handle, stream, 0xFFFF_FFFF_FFFF_FFF0)]
    functions.destroy_stream(handle, stream)


def test_arrays_are_returned_as_lists(handle: int, plugin: int) -> None:
    count = functions.get_device_count(plugin)
    assert functions.get_device_list(plugin) == list(range(count))
    sizes = functions.get_max_grid_dim_size(handle)
    assert len(sizes) == 3 and all(type(size) is int for size in sizes)


def test_several_results_are_returned_as_a_tuple(handle: int) -> None:
    ptr = functions.device_memory_allocate(handle, 1 << 20)
    total, free = functions.device_memory_stats(handle)
    functions.device_memory_deallocate(handle, ptr, 1 << 20)
    assert 0 < free < total


def test_in_out_address_is_memory_of_the_caller(handle: int) -> None:
    size = 4 * ctypes.sizeof(ctypes.c_float)
    x, y = (functions.device_memory_allocate(handle, size) for _ in range(2))
    (ctypes.c_float * 4).from_address(x)[:] = [1, 2, 3, 4]
    (ctypes.c_float * 4).from_address(y)[:] = [10, 20, 30, 40]
    functions.blas_axpby(handle, 0, types.DataType.FLOAT32, 4, 2.0, x, 0.5, y)
    functions.synchronize_device(handle)
    assert list((ctypes.c_float * 4).from_address(y)) == [7, 14, 21, 28]
    for ptr in (x, y):
        functions.device_memory_deallocate(handle, ptr, size)


def test_enum_values_are_accepted_and_returned(handle: int, plugin: int) -> None:
    stream = functions.create_stream(handle)
    try:
        status, *_ = functions.cuda_stream_capture_info(handle, stream)
        assert status is types.CaptureStatus.NONE
        before = functions.cuda_thread_exchange_stream_capture_mode(plugin, types.CaptureMode.RELAXED)
        assert functions.cuda_thread_exchange_stream_capture_mode(plugin, before) is types.CaptureMode.RELAXED
    finally:
        functions.destroy_stream(handle, stream)


def test_list_is_queried_for_its_length_and_its_values(handle: int) -> None:
    stream = functions.create_stream(handle)
    functions.cuda_stream_begin_capture(handle, stream, types.CaptureMode.RELAXED)
    ptr = functions.device_memory_allocate(handle, 64)
    functions.async_memory_copy_d2d(handle, stream, ptr, ptr + 32, 16)
    functions.async_memory_copy_d2d(handle, stream, ptr + 16, ptr + 48, 16)
    graph = functions.cuda_stream_end_capture(handle, stream)
    plugin = core.plugin_get(0)
    nodes = functions.cuda_graph_get_nodes(plugin, graph)
    assert len(nodes) == 2 and all(nodes)
    executable, culprit = functions.cuda_graph_instantiate(plugin, graph, 0, 0)
    assert executable and culprit == 0
    functions.cuda_graph_launch(handle, executable, stream)
    functions.synchronize_stream(handle, stream)
    functions.cuda_graph_exec_destroy(plugin, executable)
    functions.cuda_graph_destroy(plugin, graph)
    functions.device_memory_deallocate(handle, ptr, 64)
    functions.destroy_stream(handle, stream)


def test_reports_are_lists_and_texts(handle: int) -> None:
    report = core.device_report(handle)
    assert len(report) == FUNCTIONS
    assert {entry.function for entry in report} >= {b"memory_copy_h2d", b"create_stream"}
    assert {core.Availability(entry.availability) for entry in report} <= set(core.Availability)
    assert core.device_report_text(handle).startswith("cpu:0 of plugin cpu")
    assert core.device_report_json(handle).startswith("{")
    assert core.plugin_failures() == []


def test_pool_statistics_count_allocations(handle: int) -> None:
    before = core.pool_get_statistics(handle).in_use
    ptr = core.pool_allocate(handle, 1000, 0)
    assert core.pool_get_statistics(handle).in_use >= before + 1000
    core.pool_free(handle, ptr, 0)
    assert core.pool_get_statistics(handle).in_use == before


def test_failure_raises_with_all_attributes(handle: int) -> None:
    with pytest.raises(tenon.OutOfMemoryError) as caught:
        functions.device_memory_allocate(handle, 1 << 60)
    assert caught.value.status == types.Status.OUT_OF_MEMORY
    assert (caught.value.function, caught.value.device) == ("device_memory_allocate", "cpu:0")
    with pytest.raises(tenon.InvalidHandleError):
        functions.synchronize_device(1)
    with pytest.raises(tenon.NotFoundError):
        core.plugin_find("there is no such type")


def test_an_argument_of_another_type_is_refused_before_the_call(handle: int) -> None:
    for call in (
        lambda: functions.device_memory_allocate(handle, "8"),  # type: ignore[arg-type]
        lambda: functions.synchronize_device(1.5),  # type: ignore[arg-type]
        lambda: functions.stream_add_callback(handle, 0, print, 0),  # type: ignore[arg-type]
    ):
        with pytest.raises(ctypes.ArgumentError):
            call()


def test_integer_that_does_not_fit_is_refused_before_the_call(handle: int) -> None:
    with pytest.raises(OverflowError, match=r"1180591620717411303424 is not in the range from -9223372036854775808 to"):
        functions.device_memory_allocate(handle, 1 << 70)
    for refused in (1 << 70, 1 << 64):
        with pytest.raises(OverflowError, match=f"{refused} is not in the range from"):
            functions.device_memory_allocate(refused, 16)


def test_lists_of_a_call_must_have_the_same_length(plugin: int) -> None:
    with pytest.raises(ValueError, match="have 2 and 1"):
        functions.xccl_all_to_all(plugin, [0, 0], [1], [1, 1], [0, 0], [1, 1], [1, 1], 0, 0, 0)


def test_unnamed_enum_value_is_kept() -> None:
    unknown = types.DataType(4711)
    assert (unknown, unknown.name) == (4711, "UNKNOWN_4711")
    assert isinstance(unknown, types.DataType) and "4711" in repr(unknown)
    assert types.DataType(12) is types.DataType.FLOAT64
    with pytest.raises(ValueError):
        types.DataType("float64")  # type: ignore[arg-type]


def test_text_is_passed_unchanged() -> None:
    odd = os.fsdecode(b"caf\xc3\xa9/\xff")
    assert text.encode(odd) == b"caf\xc3\xa9/\xff"
    assert text.decode(text.encode(odd)) == odd
    with pytest.raises(ValueError, match="zero character"):
        core.plugin_find("cpu\0npu")
    with pytest.raises(tenon.NotFoundError, match="caf"):
        core.load_plugin(odd)


def test_options_contain_their_size() -> None:
    options = core.LoadOptions(release="3.1", lazy=True)
    assert options.size == ctypes.sizeof(core.LoadOptions)
    assert (options.release, options.name, options.lazy) == (b"3.1", None, True)
    layer = core.Layer(name="mine")
    assert not layer.before and not layer.finish


def test_buffer_that_became_too_small_is_enlarged() -> None:
    there = [3]

    def ask(room: ctypes.Array[ctypes.c_int] | None, count: ctypes.c_size_t) -> int:
        asked, count.value = count.value, there[0]
        if room is None:
            # The list grows between the two calls.
            there[0] = 5
            return 0
        if asked < there[0]:
            return int(types.Status.INVALID_ARGUMENT)
        # And it shrinks during the second.
        count.value = 4
        room[:4] = [1, 2, 3, 4]
        return 0

    assert list(arrays.filled(ctypes.c_int, ask)) == [1, 2, 3, 4]


Run = Callable[[str, str], str]


@pytest.fixture
def refused(tmp_path: Path) -> Run:
    """Imports the bindings in a separate process. Returns the message of the failed import."""

    def run(name: str, value: str) -> str:
        source = "try:\n    import tenon._native.core\nexcept ImportError as error:\n    print(error)\n"
        package = str(Path(tenon.__file__).parent.parent)
        environment = {**os.environ, "PYTHONPATH": package, name: value}
        command = [sys.executable, "-c", source]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tmp_path)
        return done.stdout

    return run


def compiled(folder: Path, source: str) -> str:
    """Compiles a library from C."""
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed: apt-get install gcc"
    (folder / "fake.c").write_text(source)
    path = folder / "fake.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(path), str(folder / "fake.c")], check=True)
    return str(path)


def test_library_of_another_version_is_rejected(refused: Run, tmp_path: Path) -> None:
    path = compiled(tmp_path, "unsigned tenon_version(void) { return 0x00630201; }")
    message = refused(library.VARIABLE, path)
    assert "has version 99.2.1" in message
    assert f"needs {'.'.join(map(str, VERSION))}" in message


def test_other_library_is_rejected(refused: Run, tmp_path: Path) -> None:
    path = compiled(tmp_path, "int other(void) { return 0; }")
    assert "is not libtenon" in refused(library.VARIABLE, path)


def test_missing_library_is_named(refused: Run, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.so")
    assert f"{library.VARIABLE} is set to `{missing}`, which is not a file" in refused(library.VARIABLE, missing)
    (tmp_path / "text.so").write_text("no library")
    assert "cannot load" in refused(library.VARIABLE, str(tmp_path / "text.so"))


def test_interpreter_without_its_lock_is_warned_about(program: Any) -> None:
    source = "import sys\nsys._is_gil_enabled = lambda: {}\nimport tenon\nprint(tenon.version())"
    with_lock, without = (program(source.format(is_on)) for is_on in (True, False))
    assert (with_lock.returncode, with_lock.stderr) == (0, "")
    assert without.returncode == 0
    assert "RuntimeWarning: tenon does not support Python without the global interpreter lock" in without.stderr
