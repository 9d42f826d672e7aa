"""Tools for programs that run on a custom device of PaddlePaddle.

`python -m tenon.paddle report script.py` runs a program, and prints which operators ran on the device, which fell back
to PaddlePaddle's CPU kernels, and what that cost. It works with any plugin.
"""

from __future__ import annotations

import os
import sys

__all__ = ["restart_report"]

VARIABLE = "TENON_PADDLE_REPORT"
"""The process that a report is made of, and the key of its notes. The recorder sets it."""


def restart_report() -> None:
    """Forgets what the report has recorded so far, such as a warm-up. Does nothing without a report."""
    process, _, key = os.environ.get(VARIABLE, "").partition(":")
    if process != str(os.getpid()):
        return
    if "paddle" in sys.modules:
        from paddle.base import core

        core.clear_low_precision_op_list()
    os.write(2, f"{key} restart {{}}\n".encode())
