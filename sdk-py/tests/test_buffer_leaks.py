"""Leak tests: ten thousand repetitions must leak neither process memory nor device memory."""

from __future__ import annotations

import pytest

from support import Program

TURNS = 10_000

SETUP = """
    import gc, sys
    import numpy as np
    import tenon

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    device = tenon.device("cpu:0")
    stream = device.create_stream()
    model = np.arange(1024, dtype="f4")
    buffer = tenon.Buffer.from_array(model)
    pinned = tenon.pinned(1024)
    pinned.copy_from(model)
    cases = {
        "empty": lambda: tenon.empty(1024),
        "close": lambda: tenon.empty(1024).close(),
        "pinned": lambda: tenon.pinned(1024),
        "unified": lambda: tenon.unified(1024),
        "from_array": lambda: tenon.Buffer.from_array(model),
        "lists": lambda: tenon.Buffer.from_array([1.0, 2.0]),
        "views": lambda: buffer[::2].reshape(2, -1).T.contiguous(),
        "numpy": lambda: buffer.numpy(),
        "shared": lambda: buffer.numpy(copy=False)[::2],
        "interface": lambda: np.asarray(buffer),
        "memoryview": lambda: buffer.memoryview(),
        "dlpack": lambda: np.from_dlpack(buffer),
        "capsule": lambda: buffer.__dlpack__(),
        "from_dlpack": lambda: tenon.from_dlpack(model),
        "round trip": lambda: np.from_dlpack(tenon.from_dlpack(np.asarray(tenon.empty(16)))),
        "strided": lambda: buffer[::-2].copy_from(model[::2]),
        "queued": lambda: tenon.empty(1024, stream=stream).copy_from(pinned, stream),
        "queued from numpy": lambda: buffer.copy_from(model, stream),
        "queued to pinned": lambda: buffer.copy_to(tenon.pinned(1024), stream),
        "filled": lambda: tenon.full(1024, 3, stream=stream),
        "other stream": lambda: tenon.empty(1024).copy_from(buffer, stream),
    }

    def failing():
        try:
            buffer.copy_from(model[1:])
        except ValueError:
            pass
        try:
            tenon.empty(2**60)
        except tenon.OutOfMemoryError:
            pass

    cases["failing"] = failing
"""


@pytest.mark.parametrize(
    "case",
    [
        "empty",
        "close",
        "pinned",
        "unified",
        "from_array",
        "lists",
        "views",
        "numpy",
        "shared",
        "interface",
        "memoryview",
        "dlpack",
        "capsule",
        "from_dlpack",
        "round trip",
        "strided",
        "queued",
        "queued from numpy",
        "queued to pinned",
        "filled",
        "other stream",
        "failing",
    ],
)
def test_repeated_use_leaks_nothing(program: Program, case: str) -> None:
    done = program(
        SETUP
        + f"""
    do = cases[{case!r}]
    def turns(count):
        for turn in range(count):
            do()
            if turn % 64 == 63:
                stream.synchronize()
        device.synchronize()
        gc.collect()
    # First, the pool reaches its size, and the layer fills its list of some thousand destroyed handles.
    for _ in range({TURNS}):
        device.create_event()
    turns({TURNS})
    begun, in_use = resident(), device.memory_stats().in_use
    turns({TURNS})
    grown = resident() - begun
    tenon.empty(1).close()
    # A leak of 100 bytes per round would add up to 1 MB, one of a page to 40 MB.
    assert grown < 600_000, grown
    assert device.memory_stats().in_use == in_use, (device.memory_stats(), in_use)
    buffer.close()
    pinned.close()
    stream.close()
    device.close()
    """,
        TENON_LAYERS="validate",
    )
    # At the end, the layer reports leaks.
    assert (done.returncode, done.stderr) == (0, "")


def test_validation_layer_reports_a_leak(program: Program) -> None:
    done = program(
        """
        import tenon
        from tenon._native import functions
        functions.device_memory_allocate(tenon.device("cpu:0").handle, 12345)
        """,
        TENON_LAYERS="validate",
    )
    assert "12345 bytes" in done.stderr
