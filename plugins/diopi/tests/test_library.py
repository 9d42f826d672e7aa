"""The functions of the library that are not operators."""

import ctypes
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from host import Library
from signatures import ROOT, functions


def device_functions() -> list[str]:
    """Returns the names of the functions that each library has."""
    about = ["diopiGetVendorName", "diopiGetImplVersion", "diopiGetLastErrorString"]
    others = ["initLibrary", "finalizeLibrary"]
    return about + others + [name for name in functions() if name.startswith("device_")]


def exported(path: Path) -> set[str]:
    """Returns the symbols that a library defines."""
    text = subprocess.run(["nm", "-D", "--defined-only", path], check=True, capture_output=True)
    return {line.split()[-1] for line in text.stdout.decode().splitlines()}


def run(script: str, *args: object) -> str:
    """Runs a script in a process of its own."""
    command = [sys.executable, "-c", script, *map(str, args)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=Path(__file__).parent, timeout=60
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def test_symbols_are_functions_of_the_interface(path: Path) -> None:
    symbols = exported(path)
    assert set(device_functions()) <= symbols
    ours = {name for name in symbols if name.startswith(("diopi", "device_"))}
    assert ours <= set(functions())
    # The host has them.
    assert "buildGeneratorState" not in symbols
    assert not {
        name for name in ours if re.match("diopi(Get(Tensor|Stream)|Require|Register)", name)
    }


def computed() -> set[str]:
    """Returns the operators that the spec says how to compute."""
    names = set()
    for file in (ROOT / "spec/diopi").glob("*.yaml"):
        for function in file.read_text().split("\n  - name: ")[1:]:
            if "\n    compute:" in function:
                names.add(re.findall(r"\n    c: (\w+)", function)[0])
    return names


def test_operators_are_those_with_a_computation(path: Path) -> None:
    operators = {name for name in exported(path) if name.startswith("diopi")}
    assert operators - set(device_functions()) == computed()


def test_soname_is_that_of_the_interface(path: Path) -> None:
    text = subprocess.run(["readelf", "-d", path], check=True, capture_output=True).stdout.decode()
    assert "soname: [libdiopi_impl.so]" in text
    assert "libdiopirt" not in text


def test_library_loads_without_a_host(path: Path) -> None:
    script = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.diopiGetVendorName.restype = ctypes.c_char_p
library.device_malloc.restype = ctypes.c_void_p
assert library.initLibrary() == 0
assert library.device_malloc(ctypes.c_uint64(8))
print(library.diopiGetVendorName().decode())
"""
    assert "Device" in run(script, path)


def test_operator_without_a_host_fails_with_a_message(path: Path) -> None:
    script = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.diopiGetLastErrorString.restype = ctypes.c_char_p
assert library.diopiRelu(*[ctypes.c_void_p(8)] * 3) == 1
print(library.diopiGetLastErrorString().decode())
"""
    assert run(script, path).startswith("diopiRelu: ")


def test_vendor_name_and_version_are_texts(lib: Library) -> None:
    assert b"Device" in lib.function("diopiGetVendorName")()
    assert re.search(rb"\d+\.\d+", lib.function("diopiGetImplVersion")())


def test_library_is_initialised_and_finalised_many_times(path: Path) -> None:
    script = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.device_malloc.restype = ctypes.c_void_p
library.diopiGetLastErrorString.restype = ctypes.c_char_p
stream = ctypes.c_void_p()
assert library.finalizeLibrary() == 0
for _ in range(3):
    assert library.initLibrary() == 0 and library.initLibrary() == 0
    assert library.device_make_stream(ctypes.byref(stream)) == 0
    memory = ctypes.c_void_p(library.device_malloc(ctypes.c_uint64(1024)))
    assert library.finalizeLibrary() == 0 and library.finalizeLibrary() == 0
    # The device has freed both.
    assert library.device_destroy_stream(stream) == 0
    library.device_free(memory)
    assert library.device_synchronize_stream(None) == 2
    assert library.device_malloc(ctypes.c_uint64(8)) is None
print(library.diopiGetLastErrorString().decode())
"""
    assert run(script, path) == "device_malloc: the library was finalised"


@pytest.fixture
def stream(lib: Library) -> object:
    handle = ctypes.c_void_p()
    assert lib.function("device_make_stream")(ctypes.byref(handle)) == 0
    yield handle
    assert lib.function("device_destroy_stream")(handle) == 0


def test_memory_of_0_bytes_has_an_address(lib: Library) -> None:
    blocks = [lib.function("device_malloc")(0) for _ in range(3)]
    assert len(set(blocks)) == 3 and None not in blocks
    for block in blocks:
        lib.function("device_free")(block)


@pytest.mark.parametrize("is_default", [False, True])
def test_copies_keep_the_order_of_the_stream(
    lib: Library, stream: ctypes.c_void_p, is_default: bool
) -> None:
    count = 1 << 20
    source, target = np.random.default_rng(1).bytes(count), ctypes.create_string_buffer(count)
    on = None if is_default else stream
    first, second = (lib.function("device_malloc")(count) for _ in range(2))
    for name, dst, src in [
        ("h2d", first, source),
        ("d2d", second, first),
        ("h2d", first, bytes(count)),
        ("d2h", target, second),
    ]:
        assert lib.function(f"device_memcpy_{name}_async")(on, dst, src, count) == 0
    assert lib.function("device_synchronize_stream")(on) == 0
    assert target.raw == source
    for block in (first, second):
        lib.function("device_free")(block)


def test_copy_of_0_bytes_takes_null(lib: Library, stream: ctypes.c_void_p) -> None:
    for name in ("h2d", "d2h", "d2d"):
        assert lib.function(f"device_memcpy_{name}_async")(stream, None, None, 0) == 0


def test_wrong_arguments_have_a_message(lib: Library, stream: ctypes.c_void_p) -> None:
    block = lib.function("device_malloc")(64)
    host = ctypes.create_string_buffer(128)
    for name, args, message in [
        ("device_memcpy_h2d_async", (stream, block, host, 65), "65 bytes from `dst` exceed"),
        ("device_memcpy_d2h_async", (stream, host, block + 60, 5), "5 bytes from `src` exceed"),
        ("device_memcpy_d2d_async", (stream, None, block, 8), "`dst` is null"),
        ("device_memcpy_h2d_async", (stream, block, None, 8), "`src` is null"),
        ("device_memcpy_d2h_async", (12345, host, block, 8), "was destroyed or never made"),
        ("device_memcpy_h2d_async", (stream, block, host, 2**64 - 1), "address space"),
        ("device_make_stream", (None,), "`stream` is null"),
        ("device_destroy_stream", (None,), "`stream` is null"),
        ("device_destroy_stream", (12345,), "was destroyed or never made"),
        ("device_synchronize_stream", (12345,), "was destroyed or never made"),
    ]:
        assert lib.function(name)(*args) == 1, name
        assert lib.last_error().startswith(f"{name}: ") and message in lib.last_error()
    lib.function("device_free")(block)
    lib.function("device_free")(block)
    assert "was freed or never allocated" in lib.last_error()
    lib.function("device_free")(None)
    for bytes_ in (2**50, 2**63, 2**64 - 1):
        assert lib.function("device_malloc")(bytes_) is None
        assert "bytes of memory left" in lib.last_error()


def test_message_is_that_of_the_thread(lib: Library) -> None:
    lib.function("device_destroy_stream")(None)
    texts: list[str] = []
    thread = threading.Thread(target=lambda: texts.append(lib.last_error()))
    thread.start()
    thread.join()
    assert texts == [""]
    assert lib.last_error() == "device_destroy_stream: `stream` is null"
    # A success keeps the message.
    assert lib.function("device_synchronize_stream")(None) == 0
    assert lib.last_error() == "device_destroy_stream: `stream` is null"


def test_stream_is_done_when_it_is_destroyed(lib: Library) -> None:
    count = 1 << 22
    stream, target = ctypes.c_void_p(), ctypes.create_string_buffer(count)
    block = lib.function("device_malloc")(count)
    for value in range(8):
        assert lib.function("device_make_stream")(ctypes.byref(stream)) == 0
        source = bytes([value]) * count
        assert lib.function("device_memcpy_h2d_async")(stream, block, source, count) == 0
        assert lib.function("device_memcpy_d2h_async")(stream, target, block, count) == 0
        assert lib.function("device_destroy_stream")(stream) == 0
        assert target.raw == source
    lib.function("device_free")(block)


@pytest.mark.parametrize("mode", ["RTLD_GLOBAL", "RTLD_LOCAL"])
def test_host_of_the_older_form_registers_the_functions(
    path: Path, tmp_path: Path, mode: str
) -> None:
    script = """
import ctypes, sys
from pathlib import Path
import numpy as np
from host import Library, build
from tensors import Tensors

library, folder, mode = sys.argv[1:]
lib = Library(build(Path(folder), "registered"), Path(library), getattr(ctypes, mode))
array = np.arange(12.0).reshape(3, 4)[:, ::2]
with Tensors(lib.runtime) as tensors:
    tensors.place([(array, True)])
    tensors.read()
assert array.tolist() == [[0, 2], [4, 6], [8, 10]]
lib.call("diopiAddInp", array, array, 1)
assert array.tolist() == [[0, 4], [8, 12], [16, 20]]
assert lib.live_objects() == 0
"""
    run(script, path, tmp_path, mode)
