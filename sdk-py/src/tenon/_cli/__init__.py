"""The command `tenon`: shows devices and plugins, measures them, and tests plugins.

This package contains the options and the output. `new`, `check`, `doctor`, `report`, `trace`, `capture`, `replay`,
`trim` and `rules` are run by the Rust program in the wheel, which defines their options, errors and exit codes.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from typing import TYPE_CHECKING

from tenon._cli import bench, handover, info
from tenon.errors import Error

if TYPE_CHECKING:
    from collections.abc import Sequence

EPILOG = """\
examples:
  tenon new my-npu --lang c          makes a project for a device
  tenon info                         shows devices, plugins, load failures and the environment
  tenon bench --plot bench.png       measures bandwidths and latencies, and draws them
  tenon check ./libmy_npu.so         tests a plugin against the spec
  tenon doctor                       says why PaddlePaddle or ONNX Runtime does not list a device
  tenon report ./libmy_npu.so        writes a file for a bug report
  TENON_LAYERS=trace python train.py writes tenon-trace-<pid>.json
  tenon trace summary FILE           lists the calls of a trace and their durations
  tenon replay FILE                  repeats recorded calls and compares the results
  tenon rules V031                   explains a rule of TENON_LAYERS=validate

`tenon COMMAND --help` shows more. All commands except `help`, `new`, `report`, `capture`
and `trim` accept --json.

exit status: 0 success, 1 failure, 2 wrong options, 130 interrupted; for `tenon check` see its help.
"""

INTERRUPTED = 130


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of the examples, and omits the line COMMAND above the list of commands."""

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        return text.partition("\n")[2] if isinstance(action, argparse._SubParsersAction) else text


def parser() -> argparse.ArgumentParser:
    """Returns the argument parser of the command."""
    top = argparse.ArgumentParser(
        prog="tenon",
        description="Shows, measures and tests devices and plugins.",
        epilog=EPILOG,
        formatter_class=_Formatter,
    )
    top.add_argument("-V", "--version", action="store_true", help="print the versions of the package and the library")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    info.add_command(commands)
    bench.add_command(commands)
    for name, summary in handover.COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    commands.add_parser("help", help="show the help of `tenon` or of a command", add_help=False)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    for output in (sys.stdout, sys.stderr):
        # A character that the output encoding does not support must not raise an exception.
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="replace")
    if arguments[:1] == ["help"]:
        arguments = [*(name for name in arguments[1:2] if name != "help"), "--help"]
    try:
        if arguments and arguments[0] in handover.COMMANDS:
            return handover.run(arguments)
        status = _run(arguments)
        sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader, such as `head`, closed the pipe. The interpreter flushes again at exit, so stdout is redirected.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (Error, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def _run(arguments: list[str]) -> int:
    top = parser()
    options = top.parse_args(arguments)
    if options.version:
        print("\n".join(f"{name} {version}" for name, version in info.versions().items()))
        return 0
    if options.command is None:
        top.print_help()
        # A missing command counts as wrong options.
        return 2
    run = options.run
    status: int = run(options)
    return status
