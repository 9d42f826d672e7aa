"""Programs in Python that the layer `capture` records, and the example in the guide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support import PATIENCE, Program, environment
from test_guide import REPOSITORY, blocks

PAGE = "docs/src/guide/capture.md"
SECTION = "An example"


COMMANDS = f"""
python() {{ "{sys.executable}" "$@"; }}
tenon() {{ "{sys.executable}" -m tenon "$@"; }}
"""
"""`python` and `tenon` of the tests, as functions of the shell."""


def run(line: str, folder: Path) -> list[str]:
    """Runs a line in a shell."""
    done = subprocess.run(
        ["bash", "-c", COMMANDS + line],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, line + done.stdout + done.stderr
    return done.stdout.splitlines()


def is_shown(shown: list[str], output: list[str]) -> bool:
    """Returns True if a page shows an output, in which `…` stands for any lines."""
    if not shown:
        return not output
    if shown[0] == "…":
        return any(is_shown(shown[1:], output[count:]) for count in range(len(output) + 1))
    return output[:1] == shown[:1] and is_shown(shown[1:], output[1:])


def test_the_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    example = {block.language: block for block in blocks(PAGE, SECTION)}
    (tmp_path / "program.py").write_text(example["python"].source)
    # The lines of the page in groups: a command, and its output.
    commands: list[tuple[str, list[str]]] = []
    for line in example["console"].lines:
        if line.startswith("$ "):
            commands.append((line[2:], []))
        else:
            commands[-1][1].append(line)
    assert len(commands) > 5
    for command, shown in commands:
        output = run(command, tmp_path)
        assert is_shown(shown, output), f"{PAGE}: {command}\n" + "\n".join(output)


def test_wildcards_stand_for_any_lines() -> None:
    assert is_shown(["…", "b", "…"], ["a", "b"])
    assert not is_shown(["…", "b"], ["a", "b", "c"])
    assert (REPOSITORY / PAGE).is_file()


def test_capture_needs_a_file_that_can_be_written(program: Program) -> None:
    done = program("import tenon; tenon.init(layers='capture')", TENON_CAPTURE_FILE="/nowhere/program.cap")
    assert done.returncode == 1
    assert "cannot write the capture to /nowhere/program.cap" in done.stderr
    assert "TENON_CAPTURE_FILE names another file" in done.stderr
