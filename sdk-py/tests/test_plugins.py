"""C plugins: loading, failures with reasons, devices without some functions, and initialisation of the library."""

from __future__ import annotations

import asyncio
import ctypes
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import tenon
from support import PATIENCE, Program, silent

HERE = Path(__file__).parent
SDK = HERE.parent.parent / "sdk-c"

Build = Callable[[str], Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles a plugin of these tests or of the C SDK's tests, once."""
    built: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in built:
            sources = [folder / f"{name}.c" for folder in (HERE / "plugins", SDK / "tests" / "plugins")]
            source = next(source for source in sources if source.exists())
            library = tmp_path_factory.mktemp("plugins") / f"lib{name}.so"
            includes = [f"-I{SDK / 'include'}", f"-I{SDK / 'tests' / 'plugins'}"]
            subprocess.run(
                ["cc", "-std=c11", "-shared", "-fPIC", "-pthread", *includes, str(source), "-o", str(library)],
                check=True,
            )
            built[name] = library
        return built[name]

    return build


def test_a_plugin_is_loaded_used_and_unloaded(build: Build) -> None:
    plugin = tenon.load_plugin(build("required"), name="mine")
    assert tenon.load_plugin(str(build("required"))) == plugin
    assert plugin in tenon.plugins()
    assert (plugin.name, plugin.device_type, plugin.path) == ("mine", "required", str(build("required")))
    assert plugin.release is not None
    assert plugin.release in repr(plugin)
    assert [device.name for device in plugin.devices()] == ["required:0", "required:1"]
    device = tenon.device("required:1")
    assert device is plugin.device(1)
    assert device.plugin == plugin
    with device.create_stream() as stream, device:
        stream.record_event().synchronize()
        assert tenon.current_device() is device
    assert plugin.open_devices == 1
    with pytest.raises(tenon.BusyError):
        plugin.unload()
    device.close()
    plugin.unload()
    assert plugin not in tenon.plugins()
    with pytest.raises(tenon.InvalidHandleError):
        plugin.unload()
    with pytest.raises(tenon.NotFoundError):
        tenon.device("required:1")


def test_the_built_in_device_is_a_plugin() -> None:
    plugin = tenon.plugins()[0]
    assert (plugin.device_type, plugin.path, plugin.release) == ("cpu", None, None)
    assert "built in" in repr(plugin)
    with pytest.raises(tenon.InvalidArgumentError):
        plugin.unload()


def test_load_failure_states_the_reason(build: Build, tmp_path: Path) -> None:
    with pytest.raises(tenon.NotFoundError):
        tenon.load_plugin(tmp_path / "nothing.so")
    no_library = tmp_path / "text.so"
    no_library.write_text("no library")
    with pytest.raises(tenon.LoadFailedError, match=r"text\.so"):
        tenon.load_plugin(no_library)
    with pytest.raises(ImportError):
        tenon.load_plugin(build("lacking"))
    with pytest.raises(tenon.LoadFailedError):
        tenon.load_plugin(build("required"), release="2.6")


def test_plugin_failures_at_startup_are_listed(program: Program, build: Build) -> None:
    folder = build("lacking").parent
    done = program(
        """
        import tenon
        for failure in tenon.plugin_failures():
            print(failure.path.rsplit("/", 1)[1], bool(failure.reason))
        print([plugin.name for plugin in tenon.plugins()][1:])
        """,
        TENON_PLUGIN_PATH=f"{folder}:{build('required')}",
    )
    assert silent(done, "liblacking.so True\n['librequired']")


def test_library_starts_with_the_given_options(program: Program, build: Build) -> None:
    done = program(
        f"""
        import tenon
        from tenon._native import functions
        tenon.init(plugin_path=[{str(build("required"))!r}], layers=["validate"])
        print([plugin.name for plugin in tenon.plugins()][1:])
        try:
            functions.destroy_event(tenon.device("cpu:0").handle, 1)
        except tenon.RefusedError:
            print("refused")
        try:
            tenon.init()
        except tenon.BusyError as error:
            print(error)
        """,
        TENON_PLUGIN_PATH="/nowhere",
    )
    assert done.stdout.splitlines() == [
        "['librequired']",
        "refused",
        "init: the library is initialised already: call `tenon.init` before any other function",
    ]


def test_layers_must_precede_the_first_use(program: Program) -> None:
    done = program(
        """
        import tenon
        try:
            tenon.enable_layers("nonsense")
        except tenon.InvalidArgumentError as error:
            print("nonsense" in str(error))
        try:
            tenon.init(layers="nonsense")
        except tenon.BusyError:
            print("too late")
        tenon.enable_layers("validate")
        device = tenon.device("cpu:0")
        device.synchronize()
        try:
            tenon.enable_layers()
        except tenon.BusyError:
            print("too late")
        """
    )
    assert silent(done, "True\ntoo late\ntoo late")


def test_profile_makes_devices_smaller(program: Program, build: Build) -> None:
    done = program(
        f"""
        import tenon
        from tenon._native import functions
        tenon.init(plugin_path=[{str(build("required"))!r}], layers="profile")
        device = tenon.device("cpu:0")
        print([device.ordinal for device in tenon.devices() if device.type == "cpu"])
        print(device.memory_stats().total == 1 << 20)
        try:
            tenon.empty(1 << 21, "u1", device)
        except tenon.OutOfMemoryError:
            print("out of memory")
        report = dict((one.function, one.availability.name) for one in device.report())
        print(report["query_stream"])
        device.create_stream().synchronize()
        try:
            tenon.enable_layers("profile")
        except tenon.BusyError:
            print("too late")
        """,
        TENON_PROFILE_DEVICES="1",
        TENON_PROFILE_MEMORY="1MiB",
        TENON_PROFILE_HIDE="query_stream",
    )
    assert silent(done, "[0]\nTrue\nout of memory\nFALLBACK\ntoo late")


def test_unknown_layer_is_an_error_each_time(program: Program) -> None:
    done = program(
        """
        import tenon
        for _ in range(2):
            try:
                tenon.devices()
            except tenon.InvalidArgumentError as error:
                print("nonsense" in str(error))
        """,
        TENON_LAYERS="nonsense",
    )
    assert silent(done, "True\nTrue")


def test_plugin_without_a_device_count_is_skipped_with_a_warning(build: Build) -> None:
    plugin = tenon.load_plugin(build("required"))
    plugin.devices()
    ctypes.CDLL(str(build("required"))).required_fail(1)
    try:
        with pytest.warns(RuntimeWarning, match="required cannot count its devices: .*told to fail"):
            found = tenon.devices()
        assert {device.type for device in found} == {"cpu"}
    finally:
        plugin.unload()


class TestDeviceWithoutQueries:
    """A device without functions to query whether work is done: the library waits instead."""

    def test_waits_end_with_a_timeout(self, build: Build) -> None:
        device = tenon.load_plugin(build("waiting")).device()
        control = ctypes.CDLL(str(build("waiting")))
        control.waiting_set(0)
        try:
            event, stream = device.create_event(), device.create_stream()
            for wait in (event.synchronize, stream.synchronize, device.synchronize):
                with pytest.raises(TimeoutError):
                    wait(timeout=0.01)
            # The waiting threads still exist.
            while control.waiting_count() < 3:
                pass
            waited = threading.Thread(target=event.synchronize)
            waited.start()
            control.waiting_set(1)
            waited.join(PATIENCE)
            assert not waited.is_alive()
            event.synchronize(timeout=PATIENCE)

            async def main() -> None:
                await event
                await stream.synchronize_async()
                await device.synchronize_async()

            asyncio.run(main())
        finally:
            control.waiting_set(1)
            device.close()
            device.plugin.unload()

    def test_dropping_a_stream_does_not_wait(self, build: Build) -> None:
        device = tenon.load_plugin(build("waiting")).device()
        control = ctypes.CDLL(str(build("waiting")))
        control.waiting_set(0)
        try:
            stream = device.create_stream()
            del stream
            control.waiting_set(1)
            device.create_stream()
        finally:
            control.waiting_set(1)
            device.close()
            device.plugin.unload()

    def test_callbacks_are_unsupported(self, build: Build) -> None:
        device = tenon.load_plugin(build("required")).device()
        try:
            with pytest.raises(tenon.UnsupportedError, match="stream_add_callback on required:0"):
                device.default_stream.add_callback(print)
            with pytest.raises(NotImplementedError):
                device.default_stream.add_callback(print)
        finally:
            device.close()
            device.plugin.unload()

    def test_pinned_memory_is_emulated(self, build: Build) -> None:
        device = tenon.load_plugin(build("required")).device()
        try:
            pinned = tenon.pinned(8, "uint8", device)
            pinned.numpy(copy=False)[:] = range(8)
            buffer = tenon.zeros(8, "uint8", device)
            buffer.copy_from(pinned)
            assert buffer.tolist() == list(range(8))
            with pytest.raises(tenon.UnsupportedError):
                tenon.unified(8, "uint8", device)
            pinned.close()
            buffer.close()
        finally:
            device.close()
            device.plugin.unload()

    def test_ctrl_c_ends_a_wait(self, build: Build, program: Program) -> None:
        done = program(
            f"""
            import ctypes, os, signal, threading, time
            import tenon
            control = ctypes.CDLL({str(build("waiting"))!r})
            device = tenon.load_plugin({str(build("waiting"))!r}).device()
            event, stream = device.create_event(), device.create_stream()
            for number, wait in enumerate((event.synchronize, stream.synchronize, device.synchronize)):
                def interrupt():
                    while control.waiting_count() <= number:
                        time.sleep(0.001)
                    os.kill(os.getpid(), signal.SIGINT)
                threading.Thread(target=interrupt).start()
                try:
                    wait()
                except KeyboardInterrupt:
                    print("interrupted")
            control.waiting_set(1)
            """
        )
        assert silent(done, "interrupted\ninterrupted\ninterrupted")
