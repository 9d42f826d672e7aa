"""The command `python -m tenon.paddle`."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from tenon.paddle import page, table
from tenon.paddle.report import Report, build
from tenon.paddle.run import Refused, run

FELL_BACK = 3
"""The exit status for `--forbid-fallback`."""
DIFFERS = 4
"""The exit status for `--compare`."""

EPILOG = """\
The report goes to standard error, so that standard output is the script's own. The exit status is that of the script,
and 2 if there is nothing to report on. If the script ended with 0, it is 4 if --compare found a difference, and 3 if
--forbid-fallback is given and an operator fell back. In the script, tenon.paddle.restart_report() forgets what was
recorded so far, such as a warm-up.
"""


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    main = argparse.ArgumentParser(
        prog="python -m tenon.paddle", description="Tools for custom devices of PaddlePaddle."
    )
    commands = main.add_subparsers(title="commands", metavar="COMMAND", required=True)
    report = commands.add_parser(
        "report",
        help="run a script, and print which operators ran on the device and which on the CPU",
        description="Runs a script, and prints which operators ran on the custom device, which fell back to "
        "PaddlePaddle's CPU kernels, and what that cost. It works with the plugin of any vendor.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    report.add_argument(
        "--device",
        metavar="NAME",
        help="set this device before the script begins, such as CustomCPU:0",
    )
    report.add_argument("--json", metavar="FILE", type=Path, help="write the report to this file as JSON")
    report.add_argument("--html", metavar="FILE", type=Path, help="write the report to this file as a web page")
    report.add_argument("--quiet", action="store_true", help="do not print the report")
    report.add_argument(
        "--forbid-fallback",
        action="store_true",
        help="exit with the status 3 if an operator falls back",
    )
    report.add_argument(
        "--compare",
        action="store_true",
        help="run each operator once more on PaddlePaddle's CPU, and show which results differ (slow)",
    )
    report.set_defaults(command=report_script)
    report.add_argument("script", help="the script to run")
    report.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…", help="its arguments")
    doctor = commands.add_parser(
        "doctor",
        help="say why a device does not show up in this environment",
        description="Examines the plugins that PaddlePaddle of this environment finds, and says what is wrong with "
        "them. It is `tenon doctor` of the package `tenon`.",
    )
    doctor.set_defaults(command=run_doctor)
    doctor.add_argument("--json", action="store_true", help="print JSON for programs")
    doctor.add_argument("plugins", nargs="*", metavar="PLUGIN", type=Path, help="libraries of further plugins")
    return main


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status."""
    options = parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    return command(options)


def run_doctor(options: argparse.Namespace) -> int:
    """Examines the plugins of this environment. Returns the exit status."""
    if find_spec("tenon.__main__") is None:
        return complain("`doctor` is part of the package `tenon`, which is not installed: pip install ./sdk-py", 2)
    command = [sys.executable, "-m", "tenon", "doctor", "--paddle", sys.executable]
    flags = ["--json"] if options.json else []
    return subprocess.run([*command, *flags, *options.plugins], check=False).returncode


def report_script(options: argparse.Namespace) -> int:
    """Runs a script, and reports on it. Returns the exit status."""
    try:
        ran = run(options.script, options.arguments, options.device, compare=options.compare)
        if ran.begin is None:
            if ran.status == 0:
                raise Refused(f"{options.script} did not import paddle")
            return complain(f"{options.script} failed before it imported paddle", ran.status)
    except Refused as refusal:
        return complain(str(refusal), 2)
    report = build(ran)
    sys.stderr.write("" if options.quiet else "\n" + table.render(report, shutil.get_terminal_size((100, 24)).columns))
    try:
        if options.json is not None:
            options.json.write_text(json.dumps(report.to_json(), indent=2) + "\n")
        if options.html is not None:
            options.html.write_text(page.render(report), encoding="utf-8")
    except OSError as error:
        return complain(f"cannot write {error.filename}: {error.strerror}", ran.status or 2)
    if report.comparison is not None and report.comparison.differences and ran.status == 0:
        return complain("results differ from PaddlePaddle's CPU", DIFFERS)
    return forbid(report) if options.forbid_fallback else ran.status


def forbid(report: Report) -> int:
    """Says which operator fell back first, if any did. Returns the exit status."""
    first = report.first
    if first is None:
        compiled = next((row.operator for row in report.compiled if not row.is_on_device), None)
        if compiled is None:
            return report.status
        return complain(f"{compiled} runs on the CPU in a compiled program", report.status or FELL_BACK)
    where = first.lines[0][0]
    return complain(
        f"{first.operator} ({first.dtype}) fell back to the CPU: {table.place(where)}{table.source(where)}",
        report.status or FELL_BACK,
    )


def complain(reason: str, status: int) -> int:
    """Writes a line to standard error. Returns the exit status."""
    sys.stderr.write(f"tenon: {reason}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
