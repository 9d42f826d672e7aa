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

from tenon.paddle.log import SEVERITIES, VMODULE, Log

RECORDER = Path(__file__).with_name("recorder.py")


class Refused(Exception):
    """The program cannot be reported on. The message is for the user."""


@dataclass
class Run:
    """A program that has ended."""

    command: Sequence[str]
    """The script and its arguments."""
    status: int
    """As a shell has it: 128 and the signal for a program that a signal has ended."""
    log: Log
    begin: dict[str, Any] | None
    """The recorder's notes of the moment when the program had imported PaddlePaddle."""
    end: dict[str, Any] | None
    """The recorder's notes at the end. None if the process ended at once, as with `os._exit` or a signal."""


def run(
    script: str,
    arguments: Sequence[str] = (),
    device: str | None = None,
    *,
    compare: bool = False,
    stdout: Any = None,
    environment: Mapping[str, str] | None = None,
) -> Run:
    """Runs a script, and records which operators fall back.

    Args:
        script: The path of the script.
        arguments: Its arguments.
        device: The device to set before the script gets PaddlePaddle; None leaves that to the script.
        compare: Whether each operator is compared with PaddlePaddle's CPU.
        stdout: As for `subprocess.Popen`.
        environment: The environment of the script.

    Raises:
        Refused: There is no such script, or no custom device, or the script does not import PaddlePaddle.
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
        facts = {path.stem: json.loads(path.read_text()) for path in Path(folder).glob("*.json")}
    if "refused" in facts:
        raise Refused(facts["refused"]["reason"])
    status = 128 - status if status < 0 else status
    return Run([script, *arguments], status, log, facts.get("begin"), facts.get("end"))


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
