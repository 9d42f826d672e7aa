"""Draws pictures of the command `tenon` for the docs: its terminal output as SVG, and the plot of `bench --plot`.

python pictures.py FOLDER PLUGIN.so    writes tenon-info.svg, tenon-bench.svg and tenon-bench.png
"""

from __future__ import annotations

import html
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tenon import _cli

CHARACTER, LINE, MARGIN, BAR = 8.43, 20, 18, 34
"""Pixels: the width of a character of 14 pixels, the height of a line, the margin, and the height of the title bar."""

STYLES = {"0": "", "1": "strong", "2": "faint", "31": "bad"}
SHEET = """\
text { font: 14px 'DejaVu Sans Mono', Menlo, Consolas, 'Liberation Mono', monospace; fill: #d7dae0; }
.strong { font-weight: bold; fill: #ffffff; } .faint { fill: #8b919e; } .bad { fill: #ef6b73; }
"""


def terminal(arguments: list[str], folder: Path, **variables: str) -> str:
    """Returns the output of a command in a terminal of unlimited width."""
    ours, theirs = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TENON_", "NO_COLOR"))}
    command = subprocess.Popen(
        [sys.executable, "-m", *arguments], cwd=folder, env={**environment, **variables}, stdout=theirs
    )
    os.close(theirs)
    written = b""
    try:
        while part := os.read(ours, 65536):
            written += part
    except OSError:
        # Linux reports the end of a terminal as an error.
        pass
    os.close(ours)
    if command.wait() != 0:
        raise SystemExit(f"`{' '.join(arguments)}` ended with {command.returncode}")
    return written.decode().replace("\r\n", "\n").rstrip()


def spans(line: str) -> Iterator[tuple[str, str]]:
    """Yields the pieces of a line, each with its style."""
    style = ""
    for index, part in enumerate(re.split(r"\x1b\[(\d+)m", line)):
        if index % 2:
            style = STYLES[part]
        elif part:
            yield style, part


def svg(title: str, lines: list[str]) -> str:
    """Returns lines of a terminal as a picture."""
    columns = max(len(re.sub(r"\x1b\[\d+m", "", line)) for line in lines)
    width, height = round(columns * CHARACTER) + 2 * MARGIN, len(lines) * LINE + BAR + 2 * MARGIN - 6
    drawn = [
        "<!-- Made by `cargo xtask pictures`. -->",
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{html.escape(title)}</title>",
        f"<style>{SHEET}</style>",
        f'<rect width="{width}" height="{height}" rx="9" fill="#22252b"/>',
    ]
    for index, colour in enumerate(("#ef6b73", "#e5c07b", "#7bc275")):
        drawn.append(f'<circle cx="{MARGIN + 4 + index * 20}" cy="20" r="6" fill="{colour}"/>')
    for number, line in enumerate(lines):
        # Some SVG renderers collapse spaces and ignore `white-space`.
        text = "".join(
            f'<tspan class="{style}">{html.escape(part)}</tspan>' if style else html.escape(part)
            for style, part in spans(line.replace(" ", "\u00a0"))
        )
        drawn.append(f'<text x="{MARGIN}" y="{BAR + MARGIN + number * LINE + 6}">{text}</text>')
    return "\n".join([*drawn, "</svg>", ""])


def picture(command: str, written: str, to: Path) -> None:
    """Draws a command and its output."""
    to.write_text(svg(command, [f"\x1b[1m$ {command}\x1b[0m", "", *written.split("\n")]), encoding="utf-8")


def main(folder: Path, plugin: Path) -> None:
    """Runs the commands and draws them, without paths of this machine."""
    site = str(Path(_cli.__file__).parents[2])
    with tempfile.TemporaryDirectory() as scratch:
        plugins = Path(scratch) / "plugins"
        plugins.mkdir()
        shutil.copy(plugin, plugins / "libmy_npu.so")
        (plugins / "libunfinished.so").write_bytes(b"")
        variables = {"TENON_PLUGIN_PATH": str(plugins), "TENON_LAYERS": "validate", "TENON_CPU_DEVICES": "1"}
        info = terminal(["tenon", "info"], Path(scratch), **variables)
        info = info.replace(scratch, "/opt").replace(site, "~/venv/lib/python3/site-packages")
        picture("tenon info", info, folder / "tenon-info.svg")
        bench = terminal(["tenon", "bench", "--plot", "bench.png"], Path(scratch))
        picture("tenon bench --plot bench.png", bench, folder / "tenon-bench.svg")
        shutil.copy(Path(scratch) / "bench.png", folder / "tenon-bench.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
