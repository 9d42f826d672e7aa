"""Operators that join, cut and reorder tensors: results and gradients against Paddle's CPU."""

from __future__ import annotations

import paddle
import pytest

from host import normal
from kernel_case import Case, check

MATRIX = normal(4, 6)
CUBE = normal(3, 4, 5, seed=1)

CASES: dict[str, Case] = {
    "concat": Case(lambda a, b: paddle.concat([a, b]), (normal(2, 5), normal(3, 5, seed=1))),
    "concat of columns": Case(
        lambda a, b: paddle.concat([a, b], axis=-1), (normal(2, 5), normal(2, 3, seed=1))
    ),
    "split": Case(lambda x: tuple(paddle.split(x, [1, 3, 2], axis=1)), (MATRIX,)),
    "split in halves": Case(lambda x: tuple(paddle.split(x, 2)), (MATRIX,)),
    "split, one part used": Case(lambda x: paddle.split(x, 3, axis=1)[1], (MATRIX,)),
    "stack": Case(lambda a, b: paddle.stack([a, b], axis=1), (normal(2, 5), normal(2, 5, seed=1))),
    "unstack": Case(lambda x: tuple(paddle.unstack(x, axis=1)), (CUBE,)),
    # Paddle crashes in the gradient of `unstack` if a part is not used, on its CPU, too.
    "meshgrid": Case(
        lambda a, b, c: tuple(paddle.meshgrid(a, b, c)), (normal(2), normal(3, seed=1), normal(4))
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)
