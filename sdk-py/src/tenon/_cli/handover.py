"""What the program in Rust does: found in the wheel, and run in the place of this one."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "check": "hold a device plugin to the spec's contract",
    "trace": "what a trace says",
    "rules": "what the rules of validation mean",
}
"""The commands that are handed over, and what they are for."""


def program() -> Path:
    """The program that the wheel carries.

    Raises:
        FileNotFoundError: This is a source tree in which nothing was built.
    """
    path = Path(__file__).resolve().parent.parent / "_bin" / "tenon"
    if not path.exists():
        raise FileNotFoundError(
            f"there is no program {path}: build the package with `pip install ./sdk-py`, or with `-e` to work on it"
        )
    return path


def run(arguments: Sequence[str]) -> int:
    """Becomes that program. Returns only where there is none."""
    path = program()
    sys.stdout.flush()
    os.execv(path, ["tenon", *arguments])
