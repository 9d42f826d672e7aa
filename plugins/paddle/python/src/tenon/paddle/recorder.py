"""Runs a program for a report, in a process of its own: `recorder.py SETTINGS script.py [args…]`.

PaddlePaddle's log goes to the pipe that is standard error here; Python's `sys.stderr` is the real one. The kernel sends
SIGIO when something is written to the pipe. Python runs the handler when the operator that logged returns, so the
handler sees the line of the program that called it, and notes it in the same pipe. Nothing is traced: a program without
fallbacks runs at full speed.

This file imports no other file of the package, because it runs as a program.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import signal
import sys
import sysconfig
import threading
import time
import types
from pathlib import Path
from types import FrameType
from typing import Any, Callable, Sequence

LOG = 2
"""The file descriptor of the pipe."""

OWN = 20_000
"""A signal within these nanoseconds of a note comes from the note itself. No operator returns so soon."""

OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
METHODS = (
    *(f"__{prefix}{name}__" for prefix in ("", "r") for name in OPERATORS.split()),
    *(f"__{name}__" for name in "eq ne lt le gt ge neg invert abs".split()),
)
"""Methods behind operators of Python. CPython 3.11 runs signal handlers after calls, not after `x + y`."""

READS = ("numpy", "item")
"""Methods that copy a value to the host. `float(x)`, `if x:`, `tolist` and `print` call them too."""


class Recorder:
    """The state of the recorder in its process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.key: str = settings["key"]
        self.folder = Path(settings["folder"])
        self.device: str | None = settings["device"]
        self.vmodule: str = settings["vmodule"]
        self.compares: bool = settings["compare"]
        self.comparison: Any = None
        self.process = os.getpid()
        self.paddle: types.ModuleType | None = None
        self.began = time.perf_counter()
        self.hidden: tuple[str, ...] = (str(Path(__file__).parent) + os.sep, "<frozen ", "<decorator-gen-")
        self.python = sysconfig.get_path("stdlib") + os.sep
        self.is_reading = False
        self.is_noting = False
        self.noted = 0
        self.places: dict[tuple[types.CodeType, int], str] = {}
        self.zone = time.localtime().tm_gmtoff

    def note(self, kind: str, content: str) -> None:
        """Writes a note into the log. Its content is JSON."""
        self.is_noting = True
        os.write(LOG, f"{self.key} {kind} {content}\n".encode())
        self.noted = time.perf_counter_ns()
        self.is_noting = False

    def facts(self, name: str, content: dict[str, Any]) -> None:
        """Writes a file for the report."""
        partial = self.folder / f"{name}.partial"
        partial.write_text(json.dumps(content))
        partial.rename(self.folder / f"{name}.json")

    def refuse(self, reason: str) -> None:
        """Ends the program, which cannot be reported on."""
        self.facts("refused", {"reason": reason})
        self.leave(2)

    def leave(self, status: int) -> None:
        """Ends the process without destructors: with GLOG_vmodule set, PaddlePaddle frees a string twice in them."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                status = status or 120
        ctypes.CDLL(None).fflush(None)
        os._exit(status)

    # Lines of the program.

    def is_shown(self, file: str) -> bool:
        """Returns whether a file belongs to the program, and not to Python or PaddlePaddle."""
        if file.startswith(self.hidden):
            return False
        return "-packages" in file or not file.startswith(self.python)

    def where(self, frame: FrameType | None) -> str:
        """Returns the line of the program that a frame was called from, as JSON."""
        while frame is not None:
            code = frame.f_code
            place = code, frame.f_lineno
            known = self.places.get(place)
            if known is None and self.is_shown(code.co_filename):
                known = json.dumps([code.co_filename, frame.f_lineno, code.co_name])
                self.places[place] = known
            if known is not None:
                return known
            frame = frame.f_back
        return "null"

    def logged(self, _: int, frame: FrameType | None) -> None:
        """Notes the line of the program that has made PaddlePaddle log."""
        if self.is_noting or time.perf_counter_ns() - self.noted < OWN or os.getpid() != self.process:
            return
        main = threading.main_thread()
        others = [thread.native_id for thread in threading.enumerate() if thread is not main]
        clock = (time.time() + self.zone) % 86400
        self.note(
            "at",
            f'{{"time": {clock:.6f}, "thread": {main.native_id}, "others": {others}, "where": {self.where(frame)}}}',
        )

    # PaddlePaddle.

    def imported(self, paddle: types.ModuleType) -> None:
        """Prepares PaddlePaddle, before the program gets it."""
        self.paddle = paddle
        self.hidden = (str(Path(str(paddle.__file__)).parent) + os.sep, *self.hidden)
        if "decorator" in sys.modules:
            # PaddlePaddle 2.6 wraps `backward` and others with it.
            self.hidden = (str(sys.modules["decorator"].__file__), *self.hidden)
        devices = paddle.device.get_all_custom_device_type()
        if not devices:
            self.refuse(
                f"PaddlePaddle {paddle.__version__} has no custom device: install the wheel of a plugin, or set "
                "CUSTOM_DEVICE_ROOT to the folder of its library"
            )
        if self.device is not None:
            if self.device.partition(":")[0] not in devices:
                self.refuse(f"there is no device {self.device!r}: PaddlePaddle has {', '.join(devices)}")
            paddle.set_device(self.device)
        self.facts(
            "begin",
            {"paddle": paddle.__version__, "devices": devices, "kernels": kernels(paddle, devices)},
        )
        paddle.set_flags({"FLAGS_low_precision_op_list": 1})
        if self.compares:
            self.comparison = load("compare").Comparison(paddle, self.differs, self.pause)
            self.comparison.install()
        tensor = paddle.base.core.eager.Tensor
        for name in METHODS:
            method = getattr(tensor, name, None)
            if method is not None and not isinstance(method, types.FunctionType):
                # CPython 3.11 runs signal handlers in functions of Python.
                function = self.comparison.wrap(name.strip("_"), method) if self.comparison else through(method)
                setattr(tensor, name, function)
        for name in READS:
            setattr(tensor, name, self.counted(getattr(tensor, name)))
        self.began = time.perf_counter()

    def differs(self, difference: dict[str, Any]) -> None:
        """Notes an operator whose result differs from PaddlePaddle's CPU."""
        self.note("differs", json.dumps({**difference, "where": json.loads(self.where(sys._getframe(1)))}))

    def pause(self, is_paused: bool) -> None:
        """Notes that PaddlePaddle is used for a comparison, and not by the program."""
        assert self.paddle is not None
        self.is_reading = is_paused
        self.paddle.set_flags({"FLAGS_low_precision_op_list": 0 if is_paused else 1})
        self.note("pause" if is_paused else "resume", "{}")

    def counted(self, read: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a method that reads a value, and notes each read of a tensor on a custom device."""

        @functools.wraps(read)
        def reading(tensor: Any, *args: Any, **options: Any) -> Any:
            if self.is_reading or not tensor.place.is_custom_place():
                return read(tensor, *args, **options)
            self.is_reading = True
            began = time.perf_counter()
            try:
                value = read(tensor, *args, **options)
            finally:
                self.is_reading = False
            took = time.perf_counter() - began
            size = getattr(value, "nbytes", None)
            size = tensor.element_size() if size is None else size
            place = self.where(sys._getframe(1))
            thread = threading.get_native_id()
            self.note("read", f'{{"seconds": {took:.7f}, "bytes": {size}, "thread": {thread}, "where": {place}}}')
            return value

        return reading

    def end(self) -> None:
        """Writes what PaddlePaddle has counted."""
        content: dict[str, Any] = {"seconds": time.perf_counter() - self.began}
        if self.paddle is not None:
            core = self.paddle.base.core
            calls: dict[str, int] = {}
            for name, counts in core.get_low_precision_op_list().items():
                name = name if "." in name else core._get_phi_kernel_name(name)
                count = sum(int(part) for part in str(counts).split(",")) if isinstance(counts, str) else counts
                calls[name] = calls.get(name, 0) + count
            if self.comparison is not None:
                content["comparison"] = self.comparison.to_json()
            content.update(device=self.paddle.get_device(), operators=calls)
        self.facts("end", content)


def load(name: str) -> types.ModuleType:
    """Returns a file of the package as a module, without its package."""
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"tenon_paddle_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def through(method: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of Python that calls a method, so that signal handlers run in it."""

    @functools.wraps(method)
    def call(*args: Any) -> Any:
        return method(*args)

    return call


def kernels(paddle: types.ModuleType, devices: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Returns the types of each kernel, by backend."""
    found: dict[str, dict[str, list[str]]] = {}
    for kernel, keys in paddle.base.core._get_registered_phi_kernels("all").items():
        for key in keys:
            backend, *_, dtype = re.findall(r"[\w.:]+", str(key))
            if backend in ("CPU", "CUSTOM", *devices):
                found.setdefault(kernel, {}).setdefault(backend, []).append(dtype)
    return found


class OfPaddle(importlib.abc.MetaPathFinder):
    """Sets the variables for PaddlePaddle's log while it is imported.

    Only then, so that processes that the program starts do not log.
    """

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "paddle":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader = spec.loader
            execute = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                given = os.environ.get("GLOG_vmodule")
                both = ",".join(filter(None, [given, self.recorder.vmodule]))
                with environment(GLOG_vmodule=both, GLOG_minloglevel="0"):
                    execute(module)
                self.recorder.imported(module)

            loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


@contextlib.contextmanager
def environment(**variables: str) -> Any:
    """Sets variables for a while."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def run(script: str) -> int:
    """Runs the script as `__main__`. Returns its exit status."""
    module = types.ModuleType("__main__")
    module.__dict__.update(__file__=script, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    try:
        with io.open_code(script) as file:
            code = compile(file.read(), script, "exec")
        exec(code, module.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return (end.code or 0) & 0xFF
        print(end.code, file=sys.stderr)
        return 1
    except BaseException as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def announce(pipe: int, recorder: Recorder) -> None:
    """Has the kernel send SIGIO to this process when something is written to the pipe, whose other end this is."""
    signal.signal(signal.SIGIO, recorder.logged)
    signal.siginterrupt(signal.SIGIO, False)
    fcntl.fcntl(pipe, fcntl.F_SETOWN, recorder.process)
    fcntl.fcntl(pipe, fcntl.F_SETFL, fcntl.fcntl(pipe, fcntl.F_GETFL) | os.O_ASYNC)
    os.close(pipe)


def main() -> None:
    """Runs the program, and leaves what it knows to the report."""
    settings = json.loads(sys.argv[1])
    descriptor: int = settings["stderr"]
    os.set_inheritable(descriptor, False)
    sys.stderr = io.TextIOWrapper(open(descriptor, "wb", 0), errors="backslashreplace", write_through=True)
    recorder = Recorder(settings)
    announce(settings["pipe"], recorder)
    os.environ["TENON_PADDLE_REPORT"] = f"{recorder.process}:{recorder.key}"
    sys.meta_path.insert(0, OfPaddle(recorder))
    # As Python 3.9 and later have it.
    script = os.path.abspath(sys.argv[2])
    sys.argv = sys.argv[2:]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = str(Path(script).resolve().parent)
    status = run(script)
    threading._shutdown()  # type: ignore[attr-defined]
    if os.getpid() == recorder.process:
        recorder.end()
    atexit._run_exitfuncs()
    recorder.leave(status)


if __name__ == "__main__":
    main()
