"""Conventions of all functions: how they take arguments and return results."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

import pytest

import acl

INVALID_PARAM = 100000
INVALID_DEVICE = 107001
NOT_SUPPORTED = 200001


@pytest.mark.parametrize("name", ["rt", "mdl", "op", "blas", "media", "prof", "util", "himpi", "fv"])
def test_modules_are_attributes_and_importable(name: str) -> None:
    assert sys.modules[f"acl.{name}"] is getattr(acl, name)


def test_package_defines_no_constants() -> None:
    public = [name for name in dir(acl.rt) if not name.startswith("_")]
    assert "malloc" in public
    assert [name for name in public if not callable(getattr(acl.rt, name))] == []


rt: Any = acl.rt
"""The same module, typed as `Any` for calls that a type checker would reject."""


def test_handles_wrap_as_unsigned_longs(device: int) -> None:
    """-1 and 2^64 - 1 are the same bad pointer."""
    assert acl.rt.free(-1) == acl.rt.free((1 << 64) - 1) != 0
    assert acl.rt.free(0) == INVALID_PARAM


def test_failure_sets_the_message_of_its_thread(device: int) -> None:
    assert acl.rt.free(0) == INVALID_PARAM
    seen: list[object] = []
    thread = threading.Thread(target=lambda: seen.append(acl.get_recent_err_msg()))
    thread.start()
    thread.join()
    assert seen == [None]
    message = acl.get_recent_err_msg()
    assert message is not None
    assert "aclrtFree" in message
    assert acl.get_recent_err_msg() is None, "it is read once"


def test_unknown_names_are_errors() -> None:
    acl.get_recent_err_msg()
    model, ret = acl.mdl.load_from_file("model.om")
    assert (model, ret) == (0, NOT_SUPPORTED)
    message = acl.get_recent_err_msg()
    assert message is not None
    assert "aclmdlLoadFromFile" in message
    for module in (acl.media, acl.himpi, acl.fv):
        assert module.a_function_of_another_release(1, "two") == NOT_SUPPORTED
        message = acl.get_recent_err_msg()
        assert message is not None
        assert "a_function_of_another_release" in message


@pytest.mark.parametrize("module", [acl, acl.rt, acl.mdl, acl.op, acl.blas, acl.prof, acl.util])
def test_unknown_names_are_attribute_errors(module: ModuleType) -> None:
    assert not hasattr(module, "no_such_thing")


def test_misspelled_names_have_a_hint() -> None:
    runtime: Any = acl.rt
    with pytest.raises(AttributeError, match="no attribute 'mallok'; did you mean 'malloc'"):
        runtime.mallok(1, 0)


def test_integers_that_do_not_fit_are_overflow_errors() -> None:
    with pytest.raises(OverflowError, match="acl.rt.set_device: 4294967296 is not in the range from -2147483648"):
        acl.rt.set_device(1 << 32)
    with pytest.raises(OverflowError, match="acl.rt.malloc: "):
        acl.rt.malloc((1 << 64) + 16, 0)
    for pointer, size in [(16, 1 << 32), (1 << 64, 1)]:
        with pytest.raises(OverflowError):
            acl.util.ptr_to_bytes(pointer, size)
    # The largest numbers that fit reach the library, which answers with a code.
    assert acl.rt.set_device((1 << 31) - 1) == INVALID_DEVICE
    assert acl.rt.malloc((1 << 64) - 1, 0)[1] != 0


def test_inspection_finds_only_existing_functions() -> None:
    assert not hasattr(acl.rt, "__wrapped__")
    assert "a_function_of_another_release" not in dir(acl.mdl)


@pytest.mark.parametrize("module", [acl, acl.rt], ids=lambda module: str(module.__name__))
def test_every_function_has_a_module_and_a_docstring(module: ModuleType) -> None:
    functions = {name: getattr(module, name) for name in dir(module)}
    for name, function in functions.items():
        if not isinstance(function, ModuleType):
            assert (function.__module__, function.__name__) == (module.__name__, name)
            assert function.__doc__, name
    assert {"start_dump_args", "app_log"} & set(functions)


def test_versions_and_names() -> None:
    major, minor, patch, ret = acl.get_version()
    assert ret == 0
    assert all(isinstance(number, int) for number in (major, minor, patch))
    assert isinstance(acl.get_soc_name(), str)
    assert rt.get_soc_name() == acl.get_soc_name()
    assert acl.rt.get_run_mode() == (1, 0), "ACL_HOST"


def test_functions_without_a_c_counterpart(caplog: pytest.LogCaptureFixture) -> None:
    package: Any = acl
    package.app_log(3, "a line")
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("ERROR", "a line")]
    with pytest.raises(TypeError, match="app_log args parse failed"):
        package.app_log(4, "a line")
    attributes, count, ret = package.get_cann_attribute_list()
    assert (count, ret) == (len(attributes), 0)
    assert all(acl.get_cann_attribute(attribute) == (1, 0) for attribute in attributes)
    assert {"app_log", "get_cann_attribute_list"} < set(dir(acl))
