"""Exceptions: classes, attributes and messages."""

from __future__ import annotations

import pickle

import pytest

import tenon
from support import Program
from tenon import errors
from tenon._native import functions
from tenon._native.types import Status


def test_device_error_names_function_device_and_reason(device: tenon.Device) -> None:
    with pytest.raises(MemoryError) as raised:
        functions.device_memory_allocate(device.handle, 1 << 60)
    error = raised.value
    assert isinstance(error, tenon.OutOfMemoryError)
    assert (error.status, error.function) == (Status.OUT_OF_MEMORY, "device_memory_allocate")
    assert (error.device, error.plugin) == ("cpu:0", device.plugin.name)
    assert str(1 << 60) in error.message
    assert str(error).startswith(f"device_memory_allocate on cpu:0: {error.message}")


def test_plugin_message_is_kept(device: tenon.Device) -> None:
    with pytest.raises(tenon.DeviceError) as raised:
        functions.destroy_event(device.handle, 0x1234)
    error = raised.value
    assert (error.function, error.status) == ("destroy_event", Status.ERROR)
    assert error.plugin_message
    assert str(error).count(error.plugin_message) == 1


@pytest.mark.parametrize("status", [status for status in Status if status != Status.SUCCESS])
def test_every_status_has_an_exception(status: Status) -> None:
    kind = errors.BY_STATUS.get(status, tenon.DeviceError)
    assert (kind is tenon.DeviceError) == (status <= Status.INTERNAL_ERROR)
    assert kind("x").status == status or kind is tenon.DeviceError


@pytest.mark.parametrize(
    ("kind", "base"),
    [
        (tenon.InvalidArgumentError, ValueError),
        (tenon.InvalidHandleError, ValueError),
        (tenon.OutOfMemoryError, MemoryError),
        (tenon.UnsupportedError, NotImplementedError),
        (tenon.NotFoundError, LookupError),
        (tenon.LoadFailedError, ImportError),
    ],
)
def test_exceptions_derive_from_builtin_ones(kind: type[tenon.Error], base: type[Exception]) -> None:
    assert issubclass(kind, base)
    assert issubclass(kind, tenon.Error)


@pytest.mark.parametrize("kind", [tenon.DeviceError, *errors.BY_STATUS.values()])
def test_exception_can_be_pickled(kind: type[tenon.Error]) -> None:
    error = kind("no", function="query_stream", device="cpu:0", plugin="p", plugin_message="never", rule="V001")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error) == "query_stream on cpu:0: no; the plugin says: never (V001)"
    assert vars(copy) == vars(error)


def test_a_refusal_names_the_rule(program: Program) -> None:
    done = program(
        """
        import tenon
        from tenon._native import functions
        device = tenon.device("cpu:0")
        try:
            functions.record_event(device.handle, 0, 0x1234)
        except tenon.RefusedError as error:
            print(error.layer, error.rule, error.function)
        """,
        TENON_LAYERS="validate",
    )
    layer, rule, function = done.stdout.split()
    assert (layer, function) == ("validate", "record_event")
    assert rule.startswith("V")


def test_error_in_a_finaliser_does_not_replace_the_message(device: tenon.Device) -> None:
    """The library stores one error per thread, and a finaliser may fail in between."""
    from tenon._native.check import failed

    with pytest.raises(tenon.OutOfMemoryError):
        functions.device_memory_allocate(device.handle, 1 << 60)
    with pytest.raises(tenon.BusyError) as raised:
        failed(Status.BUSY)
    assert raised.value.function is None
    assert str(1 << 60) not in str(raised.value)
