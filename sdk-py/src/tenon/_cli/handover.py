"""Commands of the Rust program in the wheel, which replaces this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "new": "make a project for a device",
    "check": "test a device plugin against the spec",
    "doctor": "say why PaddlePaddle or ONNX Runtime does not list a device",
    "matrix": "list plugins and the releases that they support",
    "report": "write a file for a bug report",
    "trace": "summarise a trace",
    "capture": "list recorded calls, or write them as a C program",
    "replay": "repeat recorded calls on a device and compare the results",
    "trim": "cut a part out of recorded calls",
    "rules": "explain the rules of the validation layer",
}
"""The commands of the Rust program, with their summaries."""


def program() -> Path:
    """Returns the path of the program in the wheel.

    Raises:
        FileNotFoundError: This is a source tree without a built program.
    """
    path = Path(__file__).resolve().parent.parent / "_bin" / "tenon"
    if not path.exists():
        raise FileNotFoundError(
            f"{path} does not exist: install the package with `pip install ./sdk-py`, or with `-e` for development"
        )
    return path


def run(arguments: Sequence[str]) -> int:
    """Replaces this process by the program."""
    path = program()
    sys.stdout.flush()
    os.execv(path, ["tenon", *arguments])
