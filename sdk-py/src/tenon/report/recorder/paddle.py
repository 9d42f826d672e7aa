"""Records what PaddlePaddle does.

Its log goes to the pipe. The kernel sends SIGIO when something is written there. Python runs the handler when the
operator that logged returns, so the handler sees the line of the program that called it, and notes it in the same pipe.
Nothing is traced: a program without fallbacks runs at full speed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import sys
import threading
import time
import types
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from tenon.report.recorder.program import Recorder

OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
METHODS = (
    *(f"__{prefix}{name}__" for prefix in ("", "r") for name in OPERATORS.split()),
    *(f"__{name}__" for name in "eq ne lt le gt ge neg invert abs".split()),
)
"""Methods behind operators of Python. CPython 3.11 runs signal handlers after calls, not after `x + y`."""

READS = ("numpy", "item")
"""Methods that copy a value to the host. `float(x)`, `if x:`, `tolist` and `print` call them too."""


class Recording:
    """Records the calls of operators, and reads of values."""

    needs_lines = True
    leaves_at_once = True
    """With GLOG_vmodule set, PaddlePaddle frees a string twice in destructors."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.device: str | None = recorder.settings["device"]
        self.paddle: Any = None
        self.comparison: Any = None
        self.is_reading = False
        self.began = time.perf_counter()

    @contextlib.contextmanager
    def importing(self) -> Iterator[None]:
        """Sets the variables for PaddlePaddle's log. Processes that the program starts later do not log."""
        given = os.environ.get("GLOG_vmodule")
        both = ",".join(filter(None, [given, self.recorder.settings["vmodule"]]))
        with environment(GLOG_vmodule=both, GLOG_minloglevel="0"):
            yield

    def imported(self, paddle: types.ModuleType) -> None:
        """Prepares PaddlePaddle, before the program gets it."""
        self.paddle = paddle
        recorder = self.recorder
        recorder.hidden = ("<decorator-gen-", *recorder.hidden)
        if "decorator" in sys.modules:
            # PaddlePaddle 2.6 wraps `backward` and others with it.
            recorder.hidden = (str(sys.modules["decorator"].__file__), *recorder.hidden)
        devices = paddle.device.get_all_custom_device_type()
        if self.device is not None:
            if self.device.partition(":")[0] not in devices:
                known = f"PaddlePaddle has {', '.join(devices)}" if devices else "PaddlePaddle has no custom device"
                recorder.refuse(f"there is no device {self.device!r}: {known}")
            paddle.set_device(self.device)
        recorder.facts(
            "paddle-begin",
            {"paddle": paddle.__version__, "devices": devices, "kernels": kernels(paddle, devices)},
        )
        paddle.set_flags({"FLAGS_low_precision_op_list": 1})
        if recorder.settings["compare"]:
            arrays = recorder.load("arrays")
            self.comparison = recorder.load("paddle_compare").Comparison(paddle, arrays, self.differs, self.pause)
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
        where = json.loads(self.recorder.where(sys._getframe(1)))
        self.recorder.note("differs", json.dumps({**difference, "where": where}))

    def pause(self, is_paused: bool) -> None:
        """Notes that PaddlePaddle is used for a comparison, and not by the program."""
        self.is_reading = is_paused
        self.paddle.set_flags({"FLAGS_low_precision_op_list": 0 if is_paused else 1})
        self.recorder.note("pause" if is_paused else "resume", "{}")

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
            place = self.recorder.where(sys._getframe(1))
            thread = threading.get_native_id()
            content = f'{{"seconds": {took:.7f}, "bytes": {size}, "thread": {thread}, "where": {place}}}'
            self.recorder.note("read", content)
            return value

        return reading

    def restart(self) -> None:
        """Forgets what was recorded so far."""
        self.paddle.base.core.clear_low_precision_op_list()
        self.recorder.note("restart", "{}")

    def end(self) -> None:
        """Writes what PaddlePaddle has counted."""
        core = self.paddle.base.core
        calls: dict[str, int] = {}
        for name, counts in core.get_low_precision_op_list().items():
            name = name if "." in name else core._get_phi_kernel_name(name)
            count = sum(int(part) for part in str(counts).split(",")) if isinstance(counts, str) else counts
            calls[name] = calls.get(name, 0) + count
        content: dict[str, Any] = {
            "seconds": time.perf_counter() - self.began,
            "device": self.paddle.get_device(),
            "operators": calls,
        }
        if self.comparison is not None:
            content["comparison"] = self.comparison.to_json()
        self.recorder.facts("paddle-end", content)


@contextlib.contextmanager
def environment(**variables: str) -> Iterator[None]:
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
