"""`python -m tenon.report --compare`: operators against PaddlePaddle's CPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import paddle
import pytest
from tenon.report import __main__ as command
from tenon.report.paddle.log import Log
from tenon.report.recorder import arrays
from tenon.report.recorder.paddle_compare import Comparison
from tenon.report.run import Run

from host import name
from test_report import report

PROGRAM = """
import paddle
x = paddle.ones([4, 4])
x.stop_gradient = False
loss = (paddle.i0e(x) + x @ x).sum()
loss.backward()
y = x.detach()
y.add_(y)
paddle.nn.functional.dropout(y)
loss.item()
"""


def comparison(reported: list[dict[str, Any]]) -> Comparison:
    """Returns a comparison that adds differences to a list."""
    return Comparison(paddle, arrays, reported.append, lambda _: None)


def test_a_comparison_changes_nothing_else_in_the_report(tmp_path: Path) -> None:
    found = []
    for options in ((), ("--compare",)):
        options = ("--device", name(), "--json", "report.json", *options)
        result = report(tmp_path, PROGRAM, options=options)
        assert result.returncode == 0, result.stderr
        found.append(json.loads((tmp_path / "report.json").read_text())["paddle"])
    plain, compared = found
    assert plain["comparison"] is None
    for key in ("native", "compiled", "other_copies"):
        assert compared[key] == plain[key]
    for key in ("fallback_calls", "fallback_bytes"):
        assert compared["summary"][key] == plain["summary"][key]
    assert [row["calls"] for row in compared["reads"]] == [row["calls"] for row in plain["reads"]]
    assert plain["summary"]["fallback_calls"] == 2
    assert compared["comparison"]["differences"] == []
    assert compared["comparison"]["failed"] == {}
    # `dropout` is random. Gradients: `matmul`, `add`, `i0e`, `sum`.
    assert compared["comparison"]["operators"] >= 8
    assert compared["comparison"]["calls"] == 9


def test_a_wrong_result_is_told_once() -> None:
    def wrong(x: Any) -> Any:
        return x * (2 if x.place.is_custom_place() else 3)

    reported: list[dict[str, Any]] = []
    found = comparison(reported)
    x = paddle.to_tensor([[0.0, 1.0], [2.0, 3.0]])
    paddle.seed(7)
    for _ in range(3):
        assert found.call("wrong", wrong, (x,), {}).tolist() == [[0.0, 2.0], [4.0, 6.0]]
    assert paddle.get_device() == name()
    assert (found.compared, found.differing, found.failed) == ({"wrong": 3}, {"wrong": 3}, {})
    assert reported == [
        {
            "operator": "wrong",
            "output": 0,
            "inputs": [("float32", [2, 2])],
            "attributes": "",
            "device": "2.0",
            "cpu": "3.0",
            "index": [0, 1],
            "largest": 3.0,
            "seed": 7,
        }
    ]


def test_a_wrong_gradient_is_told() -> None:
    class Wrong(paddle.autograd.PyLayer):
        """Multiplies by 2, with a gradient that is right on the CPU only."""

        @staticmethod
        def forward(context: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient * (1 if gradient.place.is_custom_place() else 2)

    reported: list[dict[str, Any]] = []
    found = comparison(reported)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    found.call("wrong", Wrong.apply, (x,), {})
    assert [difference["operator"] for difference in reported] == ["wrong_grad"]
    assert x.grad is None


@pytest.mark.parametrize(
    ("on_the_device", "index"),
    [
        (lambda x: x.astype("float64"), None),
        (lambda x: x.reshape([1, 2]), None),
        (lambda x: x + 1e-7, "equal"),
        (lambda x: x * float("nan"), [0]),
        (lambda x: x > 5, None),
    ],
)
def test_types_shapes_and_elements_are_compared(on_the_device: Any, index: Any) -> None:
    def operator(x: Any) -> Any:
        return on_the_device(x) if x.place.is_custom_place() else x + 0

    reported: list[dict[str, Any]] = []
    comparison(reported).call("operator", operator, (paddle.to_tensor([1.0, 2.0]),), {})
    assert [difference["index"] for difference in reported] == ([] if index == "equal" else [index])


def test_rounding_and_equal_nans_are_no_difference() -> None:
    def operator(x: Any) -> Any:
        rounding = 5e-7 if x.place.is_custom_place() else 0.0
        return x - x + rounding, x * float("nan")

    found = comparison([])
    found.call("operator", operator, (paddle.to_tensor([1.0, -1.0]),), {})
    assert (found.compared, found.differing, found.failed) == ({"operator": 1}, {}, {})


def test_a_failure_of_the_cpu_is_not_one_of_the_program() -> None:
    def operator(x: Any) -> Any:
        if x.place.is_cpu_place():
            raise ValueError("no kernel")
        return x

    found = comparison([])
    x = paddle.to_tensor([1.0])
    assert found.call("operator", operator, (x,), {}) is x
    assert found.failed == {"operator": "no kernel"}
    assert paddle.get_device() == name() and not found.is_busy


def test_differences_are_shown_and_fail(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log("\x1fkey")
    difference = {
        **{"operator": "relu", "output": 0, "inputs": [["float32", [2]]], "attributes": "True"},
        **{"device": "-1.0", "cpu": "0.0", "index": [1], "largest": 1.0, "seed": 5},
        "where": ["train.py", 3, "<module>"],
    }
    log.feed(f"\x1fkey differs {json.dumps(difference)}\n")
    begin = {"paddle": "3.3.1", "devices": ["npu"], "kernels": {}}
    compared = {"compared": {"relu": 9}, "differing": {"relu": 2}, "failed": {}}
    end = {"seconds": 1.0, "device": "npu:0", "operators": {}, "comparison": compared}
    run = Run(["train.py"], 0, log, {"paddle-begin": begin, "paddle-end": end}, {})
    monkeypatch.setattr(command, "run", lambda *_, **__: run)
    assert command.main(["--compare", "train.py"]) == 4
    shown = capsys.readouterr().err
    assert "compared with PaddlePaddle's CPU: 1 operator, 9 calls; 1 with differ" in shown
    assert "relu (2 calls): result 0 differs by up to 1; at [1] it is -1.0 on the device" in shown
    assert "inputs float32 [2]; attributes True; seed 5\n    train.py:3\n" in shown
