"""The report on a program, with a part for each host that it used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from tenon.report import html, text
from tenon.report.onnxruntime import page as onnxruntime_page
from tenon.report.onnxruntime import results as onnxruntime_results
from tenon.report.onnxruntime import table as onnxruntime_table
from tenon.report.paddle import page as paddle_page
from tenon.report.paddle import results as paddle_results
from tenon.report.paddle import table as paddle_table
from tenon.report.run import Refused, Run

SCHEMA = 2
"""The version of the JSON form. It changes when a field is removed or means something else."""


@dataclass
class Report:
    """Where a program ran."""

    command: Sequence[str]
    status: int
    paddle: paddle_results.Report | None
    onnxruntime: onnxruntime_results.Report | None

    def to_json(self) -> dict[str, Any]:
        """Returns the report as JSON, as the guide describes it."""
        return {
            "schema": SCHEMA,
            "command": list(self.command),
            "exit_status": self.status,
            "paddle": None if self.paddle is None else self.paddle.to_json(),
            "onnxruntime": None if self.onnxruntime is None else self.onnxruntime.to_json(),
        }

    def to_text(self, width: int) -> str:
        """Returns the report for a terminal."""
        lines = [" ".join(self.command), *text.ending(self.status)]
        if self.paddle is not None:
            lines += ["", *paddle_table.render(self.paddle, width)]
        if self.onnxruntime is not None:
            lines += ["", *onnxruntime_table.render(self.onnxruntime, width)]
        return "\n".join(lines) + "\n"

    def to_html(self) -> str:
        """Returns the report as a web page."""
        parts = [
            f"<h1>Where <code>{escape(' '.join(self.command))}</code> ran</h1>",
            *html.remarks(text.ending(self.status)),
        ]
        if self.paddle is not None:
            parts += paddle_page.render(self.paddle)
        if self.onnxruntime is not None:
            parts += onnxruntime_page.render(self.onnxruntime)
        return html.document(f"Where {self.command[0]} ran", parts)

    def fallback(self) -> str | None:
        """Describes the first operator that ran on the CPU instead of a device, if any did."""
        found = None if self.paddle is None else paddle_table.fallback(self.paddle)
        if found is None and self.onnxruntime is not None:
            found = onnxruntime_table.fallback(self.onnxruntime)
        return found

    @property
    def differs(self) -> bool:
        """Whether a comparison has found a difference."""
        in_paddle = self.paddle is not None and self.paddle.differs
        return in_paddle or (self.onnxruntime is not None and self.onnxruntime.differs)


def build(run: Run) -> Report:
    """Makes the report of a run.

    Raises:
        Refused: There is nothing to report on.
    """
    report = Report(run.command, run.status, paddle_results.build(run), onnxruntime_results.build(run))
    if report.paddle is None and report.onnxruntime is None:
        begin = run.facts.get("paddle-begin")
        if begin is not None:
            raise Refused(
                f"PaddlePaddle {begin['paddle']} has no custom device: install the wheel of a plugin, or set "
                "CUSTOM_DEVICE_ROOT to the folder of its library"
            )
        if run.status == 0:
            raise Refused(f"{run.command[0]} imported neither paddle nor onnxruntime")
        raise Refused(f"{run.command[0]} failed before it imported paddle or onnxruntime", run.status)
    return report
