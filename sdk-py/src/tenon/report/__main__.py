"""The command `python -m tenon.report`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tenon.report.run import Refused, run
from tenon.report.whole import build

FELL_BACK = 3
"""The exit status for `--forbid-fallback`."""
DIFFERS = 4
"""The exit status for `--compare`."""

DESCRIPTION = """\
Runs a script that uses PaddlePaddle or ONNX Runtime, and prints which operators ran on a device and which on the CPU,
what was copied, how long that took, and what to do about it. It works with the plugin of any vendor.
"""

EPILOG = """\
The report goes to standard error, so that standard output is the script's own. The exit status is that of the script,
and 2 if there is nothing to report on. If the script ended with 0, it is 4 if --compare found a difference, and 3 if
--forbid-fallback is given and an operator ran on the CPU. In the script, tenon.report.restart() forgets what was
recorded so far, such as a warm-up.
"""


def parser() -> argparse.ArgumentParser:
    """Returns the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tenon.report",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="set this device of PaddlePaddle before the script begins, such as CustomCPU:0",
    )
    parser.add_argument(
        "--provider",
        metavar="LIBRARY",
        help="give the first device of this library to each session of ONNX Runtime that chose none",
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the report to this file as JSON")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the report to this file as a web page")
    parser.add_argument("--quiet", action="store_true", help="do not print the report")
    parser.add_argument(
        "--forbid-fallback",
        action="store_true",
        help="exit with the status 3 if an operator ran on the CPU instead of the device",
    )
    parser.add_argument(
        "--compare",
        action="store_true",
        help="compute each operator on the CPU of the host too, and show which results differ (slow)",
    )
    parser.add_argument("script", help="the script to run")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…", help="its arguments")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command. Returns its exit status."""
    options = parser().parse_args(arguments)
    try:
        ran = run(options.script, options.arguments, options.device, provider=options.provider, compare=options.compare)
        report = build(ran)
    except Refused as refusal:
        return complain(str(refusal), refusal.status)
    sys.stderr.write("" if options.quiet else "\n" + report.to_text(shutil.get_terminal_size((100, 24)).columns))
    try:
        if options.json is not None:
            options.json.write_text(json.dumps(report.to_json(), indent=2) + "\n")
        if options.html is not None:
            options.html.write_text(report.to_html(), encoding="utf-8")
    except OSError as error:
        return complain(f"cannot write {error.filename}: {error.strerror}", ran.status or 2)
    if report.differs and ran.status == 0:
        return complain("results differ from the CPU of the host", DIFFERS)
    fallback = report.fallback() if options.forbid_fallback else None
    return ran.status if fallback is None else complain(fallback, ran.status or FELL_BACK)


def complain(reason: str, status: int) -> int:
    """Writes a line to standard error. Returns the exit status."""
    sys.stderr.write(f"tenon: {reason}\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
