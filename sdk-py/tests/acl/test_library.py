"""`import acl` and `libascendcl.so` in one process are one runtime."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

import acl
from support import Program, silent
from tenon._native.library import PATH


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The library, in a folder with the libtenon of the tests, as in an installed prefix."""
    (tmp_path / "libtenon.so.0").symlink_to(PATH)
    (tmp_path / "libascendcl.so").symlink_to(PATH.parent / "libascendcl.so")
    return tmp_path / "libascendcl.so"


def test_memory_is_known_to_both(device: int, path: Path) -> None:
    library = ctypes.CDLL(str(path))
    memory, ret = acl.rt.malloc(64, 0)
    assert ret == 0
    assert library.aclrtFree(ctypes.c_void_p(memory)) == 0
    other = ctypes.c_void_p()
    assert library.aclrtMalloc(ctypes.byref(other), ctypes.c_size_t(64), 0) == 0
    assert other.value is not None
    assert acl.rt.free(other.value) == 0


def test_python_uses_the_library_that_the_process_has_loaded(program: Program, path: Path) -> None:
    source = f"""
    import ctypes
    library = ctypes.CDLL({str(path)!r})
    memory = ctypes.c_void_p()
    assert library.aclrtSetDevice(0) == 0
    assert library.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(64), 0) == 0
    import os
    os.environ.pop("TENON_LIBRARY", None)
    import acl
    assert acl.rt.free(memory.value) == 0
    assert acl.rt.reset_device(0) == 0
    print("done")
    """
    assert silent(program(source), "done")


def test_message_is_that_of_the_last_call_of_either(path: Path) -> None:
    library = ctypes.CDLL(str(path))
    assert library.aclrtFree(None) == 100000
    message = acl.get_recent_err_msg()
    assert message is not None and "aclrtFree" in message
