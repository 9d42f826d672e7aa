"""The command `tenon`: what there is, how fast it is, and whether a plugin is right.

What lives here: options, and how answers are shown. `check`, `trace` and `rules` are handed over to the program in
Rust that the wheel carries, so their options, errors and exit codes are its own.
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
  tenon info                         devices, plugins and why one was refused, the environment
  tenon bench --plot bench.png       bandwidth by size and latencies, as a table and a picture
  tenon check ./libmy_npu.so         does a plugin keep what the spec promises?
  TENON_LAYERS=trace python train.py writes tenon-trace-<pid>.json
  tenon trace summary FILE           what was called, and how long it took
  tenon rules V031                   what a rule of TENON_LAYERS=validate means

`tenon COMMAND --help` tells more. All commands but `help` take --json.

exit status: 0 done, 1 it could not be done, 2 wrong options, 130 interrupted; that of `tenon check` is in its help.
"""

INTERRUPTED = 130


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Leaves the examples as they are, and lists the commands without a line above that says COMMAND."""

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        return text.partition("\n")[2] if isinstance(action, argparse._SubParsersAction) else text


def parser() -> argparse.ArgumentParser:
    """The options of the whole command."""
    top = argparse.ArgumentParser(
        prog="tenon",
        description="Looks at devices and plugins, measures them, and checks them.",
        epilog=EPILOG,
        formatter_class=_Formatter,
    )
    top.add_argument("-V", "--version", action="store_true", help="print the versions of the package and the library")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    info.add_command(commands)
    bench.add_command(commands)
    for name, summary in handover.COMMANDS.items():
        commands.add_parser(name, help=summary, add_help=False)
    commands.add_parser("help", help="the same as --help, also of a command", add_help=False)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command, and returns its exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    for output in (sys.stdout, sys.stderr):
        # A sign that the terminal or the file does not know must not cost the answer.
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
        # Who reads only the beginning, such as `head`, has seen enough. The interpreter flushes once more at its end.
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
        # There is nothing that was asked for.
        return 2
    run = options.run
    status: int = run(options)
    return status
