"""Errors in operators of the plugin: Python gets an exception, and the process continues."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

from host import DEVICE, python

AGAIN = 3
"""Often enough to see that an exception leaves nothing behind."""


def test_an_error_of_the_plugin_is_a_value_error() -> None:
    """The plugin raises it as Paddle's own exception, through C++ that it does not know."""
    parameter, rate = paddle.ones([4]), paddle.to_tensor([0.1])
    wrong = paddle.ones([4], dtype="float64")
    for _ in range(AGAIN):
        with pytest.raises(ValueError, match="`grad` has elements of type float64, not float32"):
            paddle._C_ops.sgd_(parameter, rate, wrong, None, False)
    paddle._C_ops.sgd_(parameter, rate, paddle.ones([4]), None, False)
    np.testing.assert_allclose(parameter.numpy(), np.full(4, 0.9), rtol=1e-6)


def test_an_exception_of_paddle_passes_through_the_plugin() -> None:
    """`full` asks for memory that is not there: Paddle throws through the plugin's frames."""
    for _ in range(AGAIN):
        with pytest.raises(MemoryError, match="Out of memory"):
            paddle.full([1 << 45], 1.0)
    assert paddle.full([2], 1.0).tolist() == [1.0, 1.0]


def test_an_index_out_of_range_behind_queued_work_is_an_error_of_the_next_wait() -> None:
    """With one thread, or if the work is done by then, it is an error of the call."""
    table, numbers = paddle.ones([8, 4]), paddle.full([1 << 13], 8, "int64")
    for _ in range(AGAIN):
        square = paddle.ones([512, 512])
        with pytest.raises((ValueError, OSError)):
            for _ in range(4):
                square = square @ square
            paddle.nn.functional.embedding(numbers, table)
            paddle.device.synchronize()
    assert paddle.nn.functional.embedding(numbers - 1, table).numpy().min() == 1.0


LATE = f"""
import paddle
paddle.set_device({DEVICE!r})
table, numbers = paddle.ones([8, 4]), paddle.full([1 << 13], 8, "int64")
square = paddle.ones([512, 512])
for _ in range(4):
    square = square @ square
paddle.nn.functional.embedding(numbers, table)
"""
"""A program whose last call fails after it has returned."""


def test_an_error_that_nobody_waits_for_ends_the_process_with_status_1() -> None:
    ran = python(LATE, TENON_CPU_THREADS="2", TENON_SYNC=None)
    assert ran.returncode == 1, ran.stderr
    assert "tenon: finalize: a kernel on stream" in ran.stderr
    assert "the index 8 is outside of a dimension of length 8" in ran.stderr


def test_sync_raises_an_error_where_it_happens() -> None:
    late = "try:\n" + "".join(f"    {line}\n" for line in LATE.splitlines())
    ran = python(
        late + "except (ValueError, OSError) as error:\n    print(error)",
        TENON_CPU_THREADS="2",
        TENON_SYNC="1",
    )
    assert ran.returncode == 0, ran.stderr
    assert "embedding: a kernel on stream" in ran.stdout
    assert "the index 8 is outside of a dimension of length 8" in ran.stdout
