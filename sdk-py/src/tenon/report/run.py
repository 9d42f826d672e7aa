"""Starts a program under the recorder, and reads its log while it runs."""

from __future__ import annotations

import codecs
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenon.report.onnxruntime.profile import Profile
from tenon.report.paddle.log import SEVERITIES, VMODULE, Log

RECORDER = Path(__file__).parent / "recorder" / "program.py"


class Refused(Exception):
    """The program cannot be reported on. The message is for the user."""

    def __init__(self, reason: str, status: int = 2) -> None:
        super().__init__(reason)
        self.status = status
        """The exit status of the command."""


@dataclass
class Run:
    """A program that has ended."""

    command: Sequence[str]
    """The script and its arguments."""
    status: int
    """As a shell has it: 128 and the signal for a program that a signal has ended."""
    log: Log
    facts: dict[str, Any]
    """The notes of the recorder, by name. Those of the end are missing if the process ended at once, as with `os._exit`
    or a signal."""
    profiles: dict[int, Profile]
    """The profiles of ONNX Runtime's sessions, by their numbers."""


def run(
    script: str,
    arguments: Sequence[str] = (),
    device: str | None = None,
    *,
    provider: str | None = None,
    compare: bool = False,
    stdout: Any = None,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Runs a script, and records where its operators run.

    Args:
        script: The path of the script.
        arguments: Its arguments.
        device: The device of PaddlePaddle to set before the script gets it; None leaves that to the script.
        provider: The library of an execution provider that each session of ONNX Runtime gets; None leaves that to the
            script.
        compare: Whether each operator is compared with the host's CPU.
        stdout: As for `subprocess.Popen`.
        environment: The environment of the script.

    Raises:
        Refused: There is no such script, no such device, or no such provider.
    """
    if not os.path.isfile(script):
        raise Refused(f"there is no file {script!r}")
    variables = dict(os.environ if environment is None else environment)
    # The first character is rare, so that no other text is held back for a note that may begin with it.
    key = f"\x1ftenon-report-{uuid.uuid4().hex[:12]}"
    least = variables.get("GLOG_minloglevel", "0")
    log = Log(key, SEVERITIES[int(least) if least in ("0", "1", "2", "3") else 0])
    with tempfile.TemporaryDirectory(prefix="tenon-report-") as folder:
        reader, writer = os.pipe()
        errors = os.dup(2)
        settings = {
            "key": key,
            "folder": folder,
            "device": device,
            "provider": None if provider is None else os.path.abspath(provider),
            "compare": compare,
            "vmodule": VMODULE,
            "stderr": errors,
            "pipe": reader,
        }
        command = [sys.executable, str(RECORDER), json.dumps(settings), script, *arguments]
        try:
            with signals_of(
                subprocess.Popen(command, stdout=stdout, stderr=writer, pass_fds=(errors, reader), env=variables)
            ) as child:
                os.close(writer)
                pump(reader, child, log)
                status = child.wait()
        finally:
            os.close(reader)
            os.close(errors)
        notes = Path(folder).glob("*.json")
        facts = {path.stem: json.loads(path.read_text()) for path in notes}
        profiles = read_profiles(Path(folder), facts.get("onnxruntime", {}).get("sessions", []))
    if "refused" in facts:
        raise Refused(facts["refused"]["reason"])
    status = 128 - status if status < 0 else status
    return Run([script, *arguments], status, log, facts, profiles)


def read_profiles(folder: Path, sessions: Sequence[dict[str, Any]]) -> dict[int, Profile]:
    """Returns the profiles that the sessions of a program have left, by their numbers."""
    profiles = {}
    for path in folder.glob("profiles/*.json"):
        number = int(path.name.partition("_")[0])
        with path.open(encoding="utf-8", errors="replace") as lines:
            profiles[number] = Profile.read(lines, sessions[number]["mark"])
    return profiles


@contextmanager
def signals_of(child: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """Leaves interrupts to the program, and passes on requests to end."""

    def end(number: int, _: object) -> None:
        child.send_signal(number)

    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.SIGTERM: signal.signal(signal.SIGTERM, end),
    }
    try:
        yield child
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def pump(reader: int, child: subprocess.Popen[bytes], log: Log) -> None:
    """Reads the log until the program ends, and passes on what is not for the report."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    has_ended = False
    while True:
        ready, _, _ = select.select([reader], [], [], 0 if has_ended else 0.05)
        if ready:
            content = os.read(reader, 1 << 16)
            if not content:
                break
            show(log.feed(decoder.decode(content)))
        elif has_ended:
            # A process that the program has left behind may hold the pipe.
            break
        else:
            has_ended = child.poll() is not None
    show(log.finish())


def show(text: str) -> None:
    """Writes to standard error."""
    content = text.encode("utf-8", "surrogateescape")
    while content:
        content = content[os.write(2, content) :]
