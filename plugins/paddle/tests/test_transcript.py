"""The session at the end of Paddle's own tutorial for custom devices, line by line."""

from __future__ import annotations

import contextlib
import doctest
import io
from pathlib import Path
from typing import Any

import paddle
import pytest

from host import DEVICE

TUTORIAL = """
>>> paddle.device.get_all_custom_device_type()
['CustomCPU']
>>> paddle.set_device('CustomCPU')
>>> x = paddle.to_tensor([1])
>>> x
Tensor(shape=[1], dtype=int64, place=Place(CustomCPU:0), stop_gradient=True,
       [1])
>>> x + x
Tensor(shape=[1], dtype=int64, place=Place(CustomCPU:0), stop_gradient=True,
       [2])
"""


PAGES = ["README.md", "docs/src/guide/paddle.md", "docs/src/guide/paddle-tutorial.md"]


@pytest.mark.parametrize("page", PAGES)
def test_page_shows_the_tutorial(page: str) -> None:
    """The pages begin the session with the import, which the test has done already."""
    text = (Path(__file__).parents[3] / page).read_text()
    assert f"```python\n>>> import paddle{TUTORIAL}```" in text


def test_the_tutorial_says_what_it_says() -> None:
    names: dict[str, Any] = {"paddle": paddle}
    examples = doctest.DocTestParser().get_examples(TUTORIAL.replace("CustomCPU", DEVICE))
    assert len(examples) == 5
    for example in examples:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example.source, "<tutorial>", "single"), names)
        # The tutorial does not show what `set_device` returns, so only shown lines are compared.
        if example.want:
            assert printed.getvalue() == example.want
