"""Type checks of programs that use the installed package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RIGHT = """\
from __future__ import annotations

import acl
import tenon


def devices() -> list[str]:
    names: list[str] = [device.name for device in tenon.devices()]
    return names


def copy(device: tenon.Device, data: bytes) -> int:
    with device.create_stream() as stream:
        event: tenon.Event = stream.record_event()
        event.synchronize(timeout=1.5)
        done: bool = event.query()
        handle: int = stream.handle
    try:
        free: int = device.memory_stats().free
    except tenon.OutOfMemoryError as error:
        message: str = error.message
        raise MemoryError(message) from error
    return free + handle + done


async def wait(event: tenon.Event) -> None:
    await event


status = acl.init()
"""

WRONG = """\
import tenon

ordinal: str = tenon.device("cpu:0").ordinal
tenon.Device(0)
tenon.device("cpu:0").create_strem()
"""

CHECKERS = {
    "mypy": ["-m", "mypy", "--strict", "--no-error-summary", "--config-file=", "--cache-dir=/dev/null"],
    "pyright": ["-m", "pyright", "--pythonpath", sys.executable],
}


def check(checker: str, source: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a checker on a program."""
    path = folder / "program.py"
    path.write_text(source)
    command = [sys.executable, *CHECKERS[checker], str(path)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("checker", CHECKERS)
def test_correct_program_passes(checker: str, tmp_path: Path) -> None:
    done = check(checker, RIGHT, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("checker", CHECKERS)
def test_each_mistake_is_found(checker: str, tmp_path: Path) -> None:
    done = check(checker, WRONG, tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    for line in (3, 4, 5):
        assert f"program.py:{line}:" in done.stdout
