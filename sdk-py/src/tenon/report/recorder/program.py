"""Runs a program for a report, in a process of its own: `program.py SETTINGS script.py [args…]`.

When the program imports a host, such as PaddlePaddle, the recorder of that host prepares it before the program gets it.
What is not known at the end only, such as lines of the program, is noted in the pipe that is standard error here;
Python's `sys.stderr` is the real one.

The files of this folder import no other file of the package: they run in the process of the program, in which a module
`tenon` may be another one.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import fcntl
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import os
import signal
import sys
import sysconfig
import threading
import time
import types
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

LOG = 2
"""The file descriptor of the pipe."""

OWN = 20_000
"""A signal within these nanoseconds of a note comes from the note itself. No operator returns so soon."""

HOSTS = ("paddle", "onnxruntime")
"""The modules of hosts. The recorder of each is the file of this folder with its name."""

MODULE = "_tenon_report"
"""The module by which `tenon.report.restart` finds the recorder of its process."""


class Host(Protocol):
    """Records what one host does. The file of a host has a class `Recording` that is one."""

    needs_lines: bool
    """Whether the line of the program is noted when something is written to the pipe."""
    leaves_at_once: bool
    """Whether the process must end without destructors."""

    def __init__(self, recorder: Recorder) -> None: ...

    def importing(self) -> contextlib.AbstractContextManager[None]:
        """Returns the context in which the module is imported."""
        ...

    def imported(self, module: types.ModuleType) -> None:
        """Prepares the host, before the program gets it."""

    def restart(self) -> None:
        """Forgets what was recorded so far."""

    def end(self) -> None:
        """Writes what is known at the end."""


class Recorder:
    """The state of the recorder in its process."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings
        self.key: str = settings["key"]
        self.folder = Path(settings["folder"])
        self.process = os.getpid()
        self.hosts: dict[str, Host] = {}
        self.hidden: tuple[str, ...] = (str(Path(__file__).parent) + os.sep, "<frozen ")
        self.python = sysconfig.get_path("stdlib") + os.sep
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
        """Ends the process without destructors."""
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError):
                status = status or 120
        ctypes.CDLL(None).fflush(None)
        os._exit(status)

    def load(self, name: str) -> types.ModuleType:
        """Returns a file of this folder as a module, without its package."""
        path = Path(__file__).with_name(f"{name}.py")
        spec: Any = importlib.util.spec_from_file_location(f"{MODULE}_{name}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def restart(self) -> None:
        """Forgets what was recorded so far."""
        if os.getpid() == self.process:
            for host in self.hosts.values():
                host.restart()

    def end(self) -> None:
        """Writes what is known at the end."""
        if os.getpid() == self.process:
            for host in self.hosts.values():
                host.end()

    # Lines of the program.

    def hide(self, module: types.ModuleType) -> None:
        """Counts the files of a module as no lines of the program."""
        self.hidden = (str(Path(str(module.__file__)).parent) + os.sep, *self.hidden)

    def is_shown(self, file: str) -> bool:
        """Returns whether a file belongs to the program, and not to Python or a host."""
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
        """Notes the line of the program that has made a host log."""
        if self.is_noting or time.perf_counter_ns() - self.noted < OWN or os.getpid() != self.process:
            return
        if not any(host.needs_lines for host in self.hosts.values()):
            return
        main = threading.main_thread()
        others = [thread.native_id for thread in threading.enumerate() if thread is not main]
        clock = (time.time() + self.zone) % 86400
        self.note(
            "at",
            f'{{"time": {clock:.6f}, "thread": {main.native_id}, "others": {others}, "where": {self.where(frame)}}}',
        )


class Imports(importlib.abc.MetaPathFinder):
    """Prepares hosts when they are imported."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.expected = set(HOSTS)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds the module of a host as Python does, and adds its recorder."""
        if name not in self.expected:
            return None
        self.expected.discard(name)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                host: Host = self.recorder.load(name).Recording(self.recorder)
                with host.importing():
                    execute(module)
                self.recorder.hide(module)
                self.recorder.hosts[name] = host
                host.imported(module)

            loader.exec_module = exec_module
        return spec


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
    named = types.ModuleType(MODULE)
    named.__dict__.update(recorder=recorder)
    sys.modules[MODULE] = named
    sys.meta_path.insert(0, Imports(recorder))
    # As Python 3.9 and later have it.
    script = os.path.abspath(sys.argv[2])
    sys.argv = sys.argv[2:]
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = str(Path(script).resolve().parent)
    status = run(script)
    threading._shutdown()  # type: ignore[attr-defined]
    recorder.end()
    if any(host.leaves_at_once for host in recorder.hosts.values()):
        atexit._run_exitfuncs()
        recorder.leave(status)
    sys.exit(status)


if __name__ == "__main__":
    main()
