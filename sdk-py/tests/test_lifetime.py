"""Lifetimes: many objects, reference cycles, interpreter exit and Ctrl-C."""

from __future__ import annotations

import gc
import os
import signal
import sys
import textwrap
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

import tenon
from support import PATIENCE, Program, silent, start, wait_until_in
from tenon._lifecycle import resources


def test_dropping_the_last_reference_releases(device: tenon.Device) -> None:
    before = len(device._session.live)
    event, stream = device.create_event(), device.create_stream()
    assert len(device._session.live) == before + 2
    del event
    assert len(device._session.live) == before + 1
    del stream
    assert len(device._session.live) == before


def test_reference_cycle_is_released_by_the_garbage_collector(device: tenon.Device) -> None:
    before = len(device._session.live)
    for _ in range(10):
        cycle: list[Any] = [device.create_event(), device.create_stream()]
        cycle.append(cycle)
    del cycle
    gc.collect()
    assert len(device._session.live) == before


def test_an_event_keeps_its_device_open(device: tenon.Device) -> None:
    event = device.create_event()
    assert event.device is device
    assert not device.closed


def test_failed_constructor_leaves_nothing(device: tenon.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    with pytest.raises(tenon.NotFoundError):
        tenon.Stream("cpu:999")
    with pytest.raises(tenon.NotFoundError):
        tenon.Event("cpu:999")
    gc.collect()
    assert not unraisable


def test_objects_are_released_in_any_order(device: tenon.Device) -> None:
    """Objects of a closed device are dropped after it, and a finaliser runs inside `drain`."""
    other = tenon.device("cpu:1")
    stream, event = other.create_stream(), other.create_event()
    other.close()
    watched: list[weakref.ref[Any]] = [weakref.ref(stream), weakref.ref(event)]
    del stream, event
    assert [reference() for reference in watched] == [None, None]
    assert not resources.deferred


LEAK = """
    import gc, sys
    import tenon
    from tenon._native import core, functions

    device = tenon.device("cpu:0")

    def events():
        device.create_event().record()

    def streams():
        device.create_stream()

    def used_streams():
        stream = device.create_stream()
        stream.add_callback(int)
        stream.record_event()

    def closed_streams():
        with device.create_stream() as stream:
            stream.record_event()
        stream.close()

    def callbacks():
        device.default_stream.add_callback(bytes, 100)
        device.default_stream.synchronize()

    def cycles():
        cycle = [device.create_stream(), device.create_event()]
        cycle.append(cycle)

    def failures():
        try:
            functions.destroy_event(device.handle, 1)
        except tenon.Error:
            pass

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def repeat(times):
        for _ in range(times):
            MAKE()
        gc.collect()
        device.synchronize()

    repeat(2000)
    before = resident()
    repeat(10000)
    grown = resident() - before
    # A leak of 100 bytes per object would add up to 1 MB.
    print("grown", grown > 900_000)
    KEPT
"""

KINDS = ["events", "streams", "used_streams", "closed_streams", "callbacks", "cycles"]


@pytest.mark.parametrize("kind", [*KINDS, "failures"])
def test_ten_thousand_objects_leave_no_memory(program: Program, kind: str) -> None:
    assert silent(program(LEAK.replace("MAKE", kind).replace("KEPT", "")), "grown False")


@pytest.mark.parametrize("kind", KINDS)
def test_ten_thousand_objects_leave_no_leak_for_the_validation_layer(program: Program, kind: str) -> None:
    source = LEAK.replace("MAKE", kind).replace("KEPT", "").replace('print("grown", grown > 900_000)', "")
    assert silent(program(source, TENON_LAYERS="validate", TENON_VALIDATE_IGNORE="V030"))


def test_validation_layer_reports_a_leak(program: Program) -> None:
    done = program(
        LEAK.replace("MAKE", "events").replace("KEPT", "functions.create_event(device.handle)"),
        TENON_LAYERS="validate",
    )
    assert done.returncode == 0
    assert "V040" in done.stderr


def test_callback_that_calls_current_thread_leaves_no_python_thread(program: Program) -> None:
    """As `logging` does. Python then lists the device's thread as its own, but the library still shuts down."""
    done = program(
        LEAK.replace("MAKE", "events").replace(
            "KEPT",
            "device.default_stream.add_callback(__import__('threading').current_thread)\n"
            "    device.default_stream.synchronize()\n"
            "    functions.create_event(device.handle)",
        ),
        TENON_LAYERS="validate",
    )
    assert done.returncode == 0
    assert "V040" in done.stderr


ENDS = {
    "in globals": """
        stream = device.create_stream()
        event = stream.record_event()
    """,
    "in a cycle": """
        cycle = [device.create_stream(), device.create_event()]
        cycle.append(cycle)
        gc.disable()
    """,
    "in another module": """
        import json
        json.kept = [device.create_stream(), device.create_event(), device]
    """,
    "in an object with a finaliser of its own": """
        class Keeper:
            def __init__(self):
                self.event = device.create_event()
            def __del__(self):
                self.event.close()
        sys.modules["kept"] = Keeper()
        keeper = Keeper()
    """,
    "with work and callbacks queued": """
        import time
        stream = device.create_stream()
        stream.add_callback(time.sleep, 0.2)
        stream.add_callback(print, "called")
    """,
    "with daemons that wait": """
        import time
        def wait():
            while True:
                stream.add_callback(time.sleep, 0.001)
                stream.synchronize()
        stream = device.create_stream()
        for _ in range(4):
            threading.Thread(target=wait, daemon=True).start()
        time.sleep(0.05)
    """,
    "with daemons that make things": """
        import time
        def make():
            while True:
                with device.create_stream() as stream:
                    event = stream.record_event()
                event.synchronize()
        for _ in range(4):
            threading.Thread(target=make, daemon=True).start()
        time.sleep(0.05)
    """,
    "with a thread that the interpreter waits for": """
        def work():
            import time
            time.sleep(0.1)
            stream = device.create_stream()
            stream.add_callback(int)
            stream.synchronize()
        threading.Thread(target=work).start()
    """,
    "after a shutdown": """
        stream = device.create_stream()
        tenon.shutdown()
        tenon.shutdown()
        kept = tenon.device("cpu:0").create_event()
    """,
    "in a function that runs at the end": """
        import atexit
        def use():
            with device.create_stream() as stream:
                stream.record_event().synchronize()
        atexit.register(use)
    """,
    "before anything was used": "",
    "by sys.exit in a callback's thread": """
        stream = device.create_stream()
        def leave():
            pass
        stream.add_callback(leave)
        sys.exit(0)
    """,
}


@pytest.mark.parametrize("how", list(ENDS))
@pytest.mark.parametrize("layers", ["", "validate"])
def test_interpreter_exits_without_output(program: Program, how: str, layers: str) -> None:
    source = "import gc, sys, threading\nimport tenon\ndevice = tenon.device('cpu:0')\n" + textwrap.dedent(ENDS[how])
    done = program(source, TENON_LAYERS=layers, TENON_VALIDATE_IGNORE="V030")
    assert silent(done, "called" if "called" in source else "")


def test_daemon_thread_may_read_memory_until_exit(program: Program) -> None:
    """Memory that a thread may still read is not freed while the interpreter ends."""
    done = program(
        """
        import ctypes, threading, time
        import tenon
        from tenon._lifecycle import resources
        from tenon._native import core

        class Memory(resources.Resource):
            def __init__(self, device, size):
                native = device.handle
                self.address = address = core.pool_allocate(native, size, 0)
                self._own(device._session, lambda: core.pool_free(native, address, 0), is_memory=True)

        memory = Memory(tenon.device("cpu:0"), 64 << 20)
        started = threading.Event()

        def look():
            while True:
                ctypes.memset(memory.address, 1, 64 << 20)
                started.set()

        for _ in range(2):
            threading.Thread(target=look, daemon=True).start()
        started.wait()
        """
    )
    assert silent(done)


def test_library_can_be_used_after_a_shutdown(program: Program) -> None:
    done = program(
        """
        import tenon
        old = tenon.device("cpu:0")
        stream, event = old.create_stream(), old.create_event()
        tenon.shutdown()
        print(old.closed, stream.closed, event.closed)
        new = tenon.device("cpu:0")
        print(new is old, new.create_stream().query())
        try:
            event.query()
        except tenon.InvalidHandleError as error:
            print(error)
        """
    )
    assert silent(done, "True True True\nFalse True\ncpu:0: the device is closed")


def test_shutdown_releases_objects_dropped_with_pending_work(program: Program) -> None:
    done = program(
        """
        import time, tenon
        stream = tenon.device("cpu:0").create_stream()
        stream.add_callback(time.sleep, 0.2)
        stream.add_callback(print, "called")
        del stream
        tenon.shutdown()
        print("down")
        """,
        TENON_LAYERS="validate",
        TENON_VALIDATE_IGNORE="V030",
    )
    assert silent(done, "called\ndown")


@pytest.mark.parametrize("layers", ["", "validate"])
def test_library_shuts_down_while_acl_uses_it(program: Program, layers: str) -> None:
    """The state of `acl` is released too: its calls fail, and it uses no freed address. Then `acl.init` works again."""
    done = program(
        """
        import acl, tenon
        def begin():
            assert acl.init() == 0
            assert acl.rt.set_device(0) == 0
            stream, ret = acl.rt.create_stream()
            memory, ret = acl.rt.malloc(1024, 0)
            assert ret == 0
            assert acl.rt.memset_async(memory, 1024, 7, 1024, stream) == 0
            return stream, memory
        buffer = tenon.full(4, 3)
        stream, memory = begin()
        tenon.shutdown()
        print(buffer.closed)
        print([bool(use()) for use in (
            lambda: acl.rt.memset(memory, 1024, 1, 1024),
            lambda: acl.rt.synchronize_stream(stream),
            lambda: acl.rt.free(memory),
            lambda: acl.rt.destroy_stream(stream),
        )])
        print(acl.rt.reset_device(0) != 0, acl.finalize())
        print(tenon.zeros(2).tolist())
        stream, memory = begin()
        print(acl.rt.synchronize_stream(stream), acl.rt.free(memory), acl.rt.destroy_stream(stream))
        print(acl.rt.reset_device(0), acl.finalize())
        tenon.shutdown()
        """,
        TENON_LAYERS=layers,
        # The layer reports its unreleased objects. Invalid handles must not be used.
        TENON_VALIDATE_IGNORE="V030,V040",
    )
    assert silent(done, "True\n[True, True, True, True]\nTrue 0\n[0.0, 0.0]\n0 0 0\n0 0")


@pytest.mark.parametrize(
    "wait",
    ["stream.synchronize()", "event.synchronize()", "device.synchronize()", "stream.close()", "pinned.close()"],
)
def test_ctrl_c_ends_a_wait(tmp_path: Path, wait: str) -> None:
    process = start(
        tmp_path / "waits.py",
        f"""
        import threading, tenon
        device = tenon.device("cpu:0")
        stream = device.create_stream()
        gate = threading.Event()
        stream.add_callback(gate.wait)
        event = stream.record_event()
        pinned = tenon.pinned(1)
        pinned.record_stream(stream)
        try:
            print("waiting", flush=True)
            {wait}
        except KeyboardInterrupt:
            print("interrupted", stream.closed or not stream.query(), flush=True)
        gate.set()
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    # A signal before the wait would end the program instead of the wait.
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (output, errors, process.returncode) == ("interrupted True\n", "", 0)


def test_ctrl_c_ends_an_exit_that_hangs(tmp_path: Path) -> None:
    """A callback that never returns blocks the exit until Ctrl-C."""
    process = start(
        tmp_path / "hangs.py",
        """
        import threading, tenon
        stream = tenon.device("cpu:0").create_stream()
        begun = threading.Event()
        def forever():
            begun.set()
            threading.Event().wait()
        stream.add_callback(forever)
        # A wait that begins after Ctrl-C would run after the end of the interpreter.
        begun.wait()
        from tenon._lifecycle import shutdown
        wait = shutdown._wait_for_work
        def announced():
            print("ending", flush=True)
            wait()
        # Before the wait, Ctrl-C would interrupt something else.
        shutdown._wait_for_work = announced
        """,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ending\n"
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=PATIENCE)
    assert (output, errors, process.returncode) == ("", "", 0)


def test_a_signal_handler_runs_during_a_wait(device: tenon.Device, stream: tenon.Stream) -> None:
    gate = threading.Event()
    stream.add_callback(gate.wait)
    before = signal.signal(signal.SIGUSR1, lambda *_: gate.set())
    main = threading.get_ident()

    in_time = []

    def send() -> None:
        try:
            wait_until_in(main, "_poll")
            os.kill(os.getpid(), signal.SIGUSR1)
            in_time.append(gate.wait(PATIENCE))
        finally:
            # Otherwise the main thread would wait forever.
            gate.set()

    sender = threading.Thread(target=send)
    try:
        sender.start()
        stream.synchronize()
        sender.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert in_time == [True]
