"""Typical programs for Ascend, run on the built-in device without changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import PATIENCE, environment

FOLDER = Path(__file__).parent / "programs"
LAST_LINES = {
    "vectors": "240 arrays came back",
    "threads": "6 threads, 40 rounds each, twice",
    "pipeline": "60 batches through 3 slots",
    "callbacks": "200 batches, 20 notes",
    "rebuild": "300 times",
    "images": "4 boxes",
    "double_buffer": "3000 blocks",
}


@pytest.mark.parametrize("layers", ["", "validate"], ids=["alone", "validated"])
@pytest.mark.parametrize("name", LAST_LINES)
def test_a_program_runs(name: str, layers: str) -> None:
    """The program checks its own results. The validation layer reports nothing."""
    program = FOLDER / f"{name}.py"
    done = subprocess.run(
        [sys.executable, str(program)],
        env=environment(TENON_LAYERS=layers),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, LAST_LINES[name] + "\n", "")


def test_every_program_is_run() -> None:
    assert {program.stem for program in FOLDER.glob("*.py")} == {*LAST_LINES, "sample"}


@pytest.mark.parametrize("program", sorted(FOLDER.glob("*.py")), ids=lambda program: program.stem)
def test_programs_use_nothing_but_acl(program: Path) -> None:
    assert "tenon" not in program.read_text()
