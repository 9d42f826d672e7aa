"""Runs the examples in the documentation, and compares their output."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from support import PATIENCE, Program, environment
from tenon.errors import BY_STATUS, DeviceError, Error

REPOSITORY = Path(__file__).parent.parent.parent


class Block(NamedTuple):
    """A fenced code block."""

    language: str
    first_line: int
    """The number of its first line in the page, counted from 1."""
    lines: list[str]

    @property
    def source(self) -> str:
        """Its text."""
        return "\n".join(self.lines) + "\n"

    @property
    def is_session(self) -> bool:
        """True if it shows the output of its lines."""
        return self.source.startswith(">>> ")


def blocks(page: str, section: str | None = None) -> list[Block]:
    """Returns the blocks of a page, or those of one of its sections."""
    found: list[Block] = []
    open_block: Block | None = None
    is_inside = section is None
    for number, line in enumerate((REPOSITORY / page).read_text().splitlines(), start=1):
        if open_block is not None:
            if line.startswith("```"):
                open_block = None
            else:
                open_block.lines.append(line)
        elif line.startswith("```"):
            open_block = Block(line.removeprefix("```"), number + 1, [])
            if is_inside:
                found.append(open_block)
        elif line.startswith("## ") and section is not None:
            is_inside = line == f"## {section}"
    return found


def build(page: str, section: str | None, folder: Path) -> None:
    """Runs the shell lines of a page that compile something, in the repository."""
    for block in blocks(page, section):
        for line in block.lines:
            if block.language == "sh" and line.startswith("cc "):
                *command, output = shlex.split(line)
                subprocess.run([*command, str(folder / output)], cwd=REPOSITORY, check=True)


PAGES = [("docs/src/guide/python.md", None), ("README.md", "In Python")]


@pytest.mark.parametrize(("page", "section"), PAGES, ids=[page for page, _ in PAGES])
def test_sessions_print_the_documented_output(page: str, section: str | None, tmp_path: Path) -> None:
    """All sessions of a page run as one, in a separate process, which must also exit with 0."""
    build(page, section, tmp_path)
    sessions = [block for block in blocks(page, section) if block.language == "python" and block.is_session]
    assert sessions
    # Every line keeps its number. Prose becomes an empty line, which ends the expected output.
    lines = [""] * (sessions[-1].first_line + len(sessions[-1].lines))
    for block in sessions:
        lines[block.first_line - 1 : block.first_line - 1 + len(block.lines)] = block.lines
    copy = tmp_path / Path(page).name
    copy.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [sys.executable, "-m", "doctest", "-o", "ELLIPSIS", copy.name],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


PROGRAMS = [("README.md", "In Python"), ("docs/src/guide/acl.md", None), ("sdk-py/README.md", None)]


@pytest.mark.parametrize(("page", "section"), PROGRAMS, ids=[page for page, _ in PROGRAMS])
def test_programs_succeed(page: str, section: str | None, program: Program) -> None:
    """Programs without shown output: each exits with 0, breaks no rule, and gets only statuses of 0."""
    programs = [block for block in blocks(page, section) if block.language == "python" and not block.is_session]
    assert programs
    for block in programs:
        done = program(checked(block.source), TENON_LAYERS="validate")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_the_table_of_exceptions_is_complete() -> None:
    """Each class with its status and its built-in base class."""
    page = (REPOSITORY / "docs/src/guide/python.md").read_text()
    listed = re.findall(r"^\| (\d+)(?: to 4)? \| `(\w+)` \| `(\w+)` \|", page, re.MULTILINE)
    classes: dict[int, type[Error]] = {1: DeviceError, **BY_STATUS}
    assert listed == [(str(status), kind.__name__, kind.__bases__[1].__name__) for status, kind in classes.items()]


def checked(source: str) -> str:
    """Returns a program that names the line if it sets `ret` to another value than 0."""
    tree = ast.parse(source)
    body: list[ast.stmt] = []
    for statement in tree.body:
        body.append(statement)
        names = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        if any(name.id == "ret" and isinstance(name.ctx, ast.Store) for name in names):
            line = f"{ast.unparse(statement)}  # "
            body += ast.parse(f"assert ret == 0, {line!r} + str(ret)").body
    tree.body = body
    return ast.unparse(tree)
