"""Fixtures that the tests share. The tests run with an installed wheel, or with sources and `TENON_LIBRARY`."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import tenon
from support import Gate, Program, run

__all__ = ["Gate", "Program"]

# A program that a shell starts in the background ignores Ctrl-C, and its children inherit this.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def device() -> tenon.Device:
    """Opens the built-in device."""
    return tenon.device("cpu:0")


@pytest.fixture
def stream(device: tenon.Device) -> Iterator[tenon.Stream]:
    """Creates a stream."""
    stream = device.create_stream()
    yield stream
    stream.close()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Makes a gate, which is opened after the test."""
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs a Python program in a separate process: `program(source, TENON_LAYERS="validate")`."""
    return partial(run, tmp_path / "program.py")


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tenon.Device]:
    """A device that reports its memory as not accessible by the host, and that rejects invalid addresses."""
    sdk = Path(__file__).parent.parent.parent / "sdk-c"
    library = tmp_path_factory.mktemp("far") / "librequired.so"
    source = sdk / "tests" / "plugins" / "required.c"
    command = ["cc", "-std=c11", "-shared", "-fPIC", "-pthread", f"-I{sdk / 'include'}", str(source)]
    subprocess.run([*command, "-o", str(library)], check=True)
    plugin = tenon.load_plugin(library)
    yield plugin.device(0)
    for device in plugin.devices():
        device.close()
    plugin.unload()
