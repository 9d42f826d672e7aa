"""Runs cases, and says what came of each: one JSON object on a line, to the standard output that it began with."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import signal
import sys
import time
from typing import Any

import onnxruntime
from host import CASES, Broken, Host, Skipped, said

PR_SET_PDEATHSIG = 1
"""A number of Linux's `prctl`."""


def main(request: dict[str, Any]) -> None:
    """Runs the cases that a request names, or lists all."""
    # The process ends with the one that reads its replies.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # What the library prints goes to standard error.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(reply: object) -> None:
        replies.write(json.dumps(reply) + "\n")

    if not hasattr(onnxruntime, "register_execution_provider_library"):
        say({"refused": f"its ONNX Runtime {onnxruntime.__version__} is older than 1.23, which registers libraries"})
        return
    if request["cases"] is None:
        found = [
            {name: getattr(one, name) for name in ("name", "promise", "source", "level")} for one in CASES.values()
        ]
        say({"cases": {"version": onnxruntime.__version__, "all": found}})
        return
    faulthandler.enable()
    host = Host(request["library"])
    for name in request["cases"]:
        say({"begin": {"case": name}})
        began = time.perf_counter()
        verdict: dict[str, str] = {"verdict": "passed"}
        try:
            CASES[name].body(host)
        except Broken as broken:
            verdict = {"verdict": "failed", "message": str(broken)}
        except Skipped as skipped:
            verdict = {"verdict": "skipped", "message": str(skipped)}
        except Exception as error:
            verdict = {"verdict": "failed", "message": said(error)}
        micros = int((time.perf_counter() - began) * 1e6)
        say({"end": {"case": name, "verdict": verdict, "micros": micros}})
    say("done")
    # The process ends as a program does: the library may crash in its destructors.


main(json.loads(sys.stdin.readline()))
