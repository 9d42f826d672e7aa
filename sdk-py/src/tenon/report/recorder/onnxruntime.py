"""Records what ONNX Runtime does: its sessions write profiles, and their runs are counted.

A session profiles its first runs only: a profiled run takes several times as long where nodes are short, and ONNX
Runtime keeps all events in memory.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import statistics
import sys
import threading
import time
import types
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    from tenon.report.recorder.program import Recorder

RUNS = ("run", "run_with_ort_values", "run_with_iobinding", "run_async")
"""The methods that run a session."""

PROFILED = 30
"""The runs of a session that are profiled."""
KEPT = 1000
"""Times of later runs that are kept, for their median."""

CPU = "CPUExecutionProvider"
REGISTERED = "tenon-report"


class Made:
    """A session of the program."""

    def __init__(self, number: int, model: Any, where: str) -> None:
        self.number = number
        self.model = os.fspath(model) if isinstance(model, (str, os.PathLike)) else f"{len(model):,} bytes"
        self.where: Any = json.loads(where)
        self.wanted: list[str] = []
        self.providers: list[str] = []
        self.error: str | None = None
        """Why it could not be made with the device."""
        self.runs = 0
        self.seconds = 0.0
        self.first: float | None = None
        self.profiled = 0
        self.usual: list[float] = []
        """The times of runs without a profile."""
        self.is_profiling = True
        self.mark: float | None = None
        """The time in the profile before which events are forgotten, in microseconds."""
        self.comparison: Any = None

    def to_json(self) -> dict[str, Any]:
        """Returns what is known of the session."""
        names = ("model", "where", "wanted", "providers", "error", "runs", "seconds", "first", "mark")
        comparison = None if self.comparison is None else self.comparison.to_json()
        usual = statistics.median(self.usual) if self.usual else None
        return {**{name: getattr(self, name) for name in names}, "usual": usual, "comparison": comparison}


class Recording:
    """Records sessions and their runs."""

    needs_lines = False
    leaves_at_once = False

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.library: str | None = recorder.settings["provider"]
        self.folder = recorder.folder / "profiles"
        self.others: set[str] = set()
        """The providers that were listed before that of the library."""
        self.onnxruntime: Any = None
        self.made: list[Made] = []
        self.sessions: weakref.WeakKeyDictionary[Any, Made] = weakref.WeakKeyDictionary()
        self.chosen: weakref.WeakKeyDictionary[Any, list[tuple[Any, Any]]] = weakref.WeakKeyDictionary()
        """The devices of options."""
        self.lock = threading.Lock()
        self.is_busy = False

    @contextlib.contextmanager
    def importing(self) -> Iterator[None]:
        """Prepares nothing."""
        yield

    def imported(self, module: types.ModuleType) -> None:
        """Prepares ONNX Runtime, before the program gets it."""
        self.onnxruntime = module
        self.folder.mkdir()
        if self.library is not None:
            self.others = {device.ep_name for device in self.devices()}
            try:
                self.onnxruntime.register_execution_provider_library(REGISTERED, self.library)
            except AttributeError:
                self.recorder.refuse(
                    f"ONNX Runtime {module.__version__} takes no libraries of providers: it is too old"
                )
            except Exception as error:
                self.recorder.refuse(f"ONNX Runtime cannot use {self.library}: {last_line(error)}")
            if not self.own_devices():
                self.recorder.refuse(
                    f"{self.library} lists no device: "
                    f"`tenon doctor --onnxruntime {sys.executable} {self.library}` says why"
                )
        session = self.onnxruntime.InferenceSession
        session.__init__ = self.making(session.__init__)
        # The constructor tries once more without the device if this fails, and drops the reason.
        session._create_inference_session = self.trying(session._create_inference_session)
        session.end_profiling = self.ending(session.end_profiling)
        for name in RUNS:
            if hasattr(session, name):
                setattr(session, name, self.counted(getattr(session, name)))
        options = self.onnxruntime.SessionOptions
        if hasattr(options, "add_provider_for_devices"):
            options.add_provider_for_devices = self.choosing(options.add_provider_for_devices)
        self.write(is_complete=False)

    def devices(self) -> list[Any]:
        """Returns the devices that ONNX Runtime lists, without its CPU."""
        listed: list[Any] = getattr(self.onnxruntime, "get_ep_devices", list)()
        return [device for device in listed if device.ep_name != CPU]

    def own_devices(self) -> list[Any]:
        """Returns the devices of the library that the report was given."""
        return [device for device in self.devices() if device.ep_name not in self.others]

    def choosing(self, choose: Callable[..., Any]) -> Callable[..., Any]:
        """Returns the method of options that chooses devices, and remembers them."""

        @functools.wraps(choose)
        def chosen(options: Any, devices: Any, settings: Any) -> Any:
            result = choose(options, devices, settings)
            self.chosen.setdefault(options, []).append((list(devices), dict(settings)))
            return result

        return chosen

    def making(self, make: Callable[..., None]) -> Callable[..., None]:
        """Returns the method that makes a session, with a profile."""

        @functools.wraps(make)
        def making(
            session: Any,
            path_or_bytes: Any,
            sess_options: Any = None,
            providers: Any = None,
            provider_options: Any = None,
            **others: Any,
        ) -> None:
            if self.is_busy or os.getpid() != self.recorder.process:
                return make(session, path_or_bytes, sess_options, providers, provider_options, **others)
            options = self.onnxruntime.SessionOptions() if sess_options is None else sess_options
            if self.library is not None and options not in self.chosen:
                options.add_provider_for_devices(self.own_devices()[:1], {})
                providers = provider_options = None
            with self.lock:
                made = Made(len(self.made), path_or_bytes, self.recorder.where(sys._getframe(1)))
                self.made.append(made)
            asked = [device.ep_name for devices, _ in self.chosen.get(options, ()) for device in devices]
            asked += [name if isinstance(name, str) else name[0] for name in providers or ()]
            made.wanted = [name for name in dict.fromkeys(asked) if name != CPU]
            before = options.enable_profiling, options.profile_file_prefix
            if not before[0]:
                options.enable_profiling = True
                options.profile_file_prefix = str(self.folder / f"{made.number}_")
            self.sessions[session] = made
            try:
                make(session, path_or_bytes, options, providers, provider_options, **others)
            finally:
                options.enable_profiling, options.profile_file_prefix = before
            made.providers = session.get_providers()
            if self.recorder.settings["compare"]:
                source = self.recorder.load("onnxruntime_compare")
                arrays = self.recorder.load("arrays")
                places = self.chosen.get(options, []), providers, provider_options
                made.comparison = source.Comparison(self.onnxruntime, arrays, path_or_bytes, places)
            self.write(is_complete=False)
            return None

        return making

    def trying(self, create: Callable[..., None]) -> Callable[..., None]:
        """Returns the method that makes a session with some providers, and keeps the first error."""

        @functools.wraps(create)
        def tried(session: Any, *args: Any, **options: Any) -> None:
            try:
                create(session, *args, **options)
            except Exception as error:
                made = self.sessions.get(session)
                if made is not None and made.error is None:
                    made.error = last_line(error)
                raise

        return tried

    def ending(self, end: Callable[..., str]) -> Callable[..., str]:
        """Returns the method that ends the profile of a session, and keeps a copy of it."""

        @functools.wraps(end)
        def ended(session: Any) -> str:
            path = end(session)
            made = self.sessions.get(session)
            if made is not None and made.is_profiling and path:
                made.is_profiling = False
                if os.path.dirname(os.path.abspath(path)) != str(self.folder):
                    shutil.copyfile(path, self.folder / f"{made.number}_.json")
            return path

        return ended

    def counted(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Returns a method that runs a session, and counts its runs."""

        @functools.wraps(run)
        def running(session: Any, *args: Any, **options: Any) -> Any:
            made = self.sessions.get(session)
            if made is None or self.is_busy:
                return run(session, *args, **options)
            began = time.perf_counter()
            result = run(session, *args, **options)
            took = time.perf_counter() - began
            with self.lock:
                made.runs += 1
                if made.is_profiling:
                    made.profiled += 1
                elif len(made.usual) < KEPT:
                    made.usual.append(took)
                made.seconds += took
                made.first = took if made.first is None else made.first
                is_full = made.profiled == PROFILED and made.is_profiling
            if is_full and str(self.folder) in str(session.get_session_options().profile_file_prefix):
                session.end_profiling()
            if made.comparison is not None:
                self.compare(made, run.__name__, args, result)
            return result

        return running

    def compare(self, made: Made, method: str, args: Any, result: Any) -> None:
        """Compares the first run of a session whose inputs are arrays."""
        comparison = made.comparison
        if comparison.is_over or method != "run" or len(args) < 2:
            return
        with self.lock:
            if self.is_busy:
                return
            self.is_busy = True
        try:
            comparison.compare(args[0], args[1], result)
        finally:
            self.is_busy = False

    def restart(self) -> None:
        """Forgets what was recorded so far. Nodes are measured from now on, if the profile has not ended."""
        now = time.time_ns()
        for session, made in self.alive():
            made.runs, made.seconds, made.first, made.profiled, made.usual = 0, 0.0, None, 0, []
            made.mark = (now - session.get_profiling_start_time_ns()) / 1e3

    def alive(self) -> list[tuple[Any, Made]]:
        """Returns the sessions that can run."""
        return [(session, made) for session, made in list(self.sessions.items()) if made.providers]

    def write(self, is_complete: bool) -> None:
        """Writes what is known so far."""
        names = dict.fromkeys(device.ep_name for device in self.devices())
        content = {
            "version": self.onnxruntime.__version__,
            "devices": list(names),
            "complete": is_complete,
            "sessions": [made.to_json() for made in self.made],
        }
        self.recorder.facts("onnxruntime", content)

    def end(self) -> None:
        """Ends the profiles of sessions that are alive. Others have left theirs when they ended."""
        for session, made in self.alive():
            if made.is_profiling:
                session.end_profiling()
        self.write(is_complete=True)


def last_line(error: Exception) -> str:
    """Returns what an error says, without where it was found."""
    return (str(error).strip() or repr(error)).splitlines()[-1]
