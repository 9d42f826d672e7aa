"""The name of the device in functions of Paddle that write it in small letters."""

from __future__ import annotations

import pytest

from host import RELEASE, python

PROGRAM = """
import pickle
import paddle
name, = paddle.device.get_all_custom_device_type()
paddle.set_device(name)
x = paddle.ones([2])
try:
    print(pickle.loads(pickle.dumps(x)).tolist(), paddle.amp.is_float16_supported(name))
except (ValueError, TypeError) as error:
    print(type(error).__name__)
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("custom_cpu", "[1.0, 1.0] False"),
        ("CustomCPU", "ValueError"),
    ],
)
def test_pickle_finds_a_name_without_capital_letters(name: str, expected: str) -> None:
    """The guide says so. Tensors before 3.3 cannot be pickled on any device."""
    ran = python(PROGRAM, TENON_PADDLE_DEVICE_TYPE=name)
    assert ran.stdout.strip() == (expected if RELEASE >= (3, 3) else "TypeError"), ran.stderr
