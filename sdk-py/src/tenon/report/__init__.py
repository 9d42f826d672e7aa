"""Runs a program, and reports where its operators ran: `python -m tenon.report script.py`.

It works with PaddlePaddle and ONNX Runtime, and with the plugin of any vendor.
"""

from __future__ import annotations

import sys

__all__ = ["restart"]


def restart() -> None:
    """Forgets what the report on this program has recorded so far, such as a warm-up. Does nothing without a report."""
    recorded = sys.modules.get("_tenon_report")
    if recorded is not None:
        recorded.recorder.restart()
