"""Products that are added, folded products, gates and smooth labels: against Paddle's CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import RELEASE, normal, on_both
from kernel_case import Case, check
from net import Graph

ROWS, COLUMNS = normal(4, 5), normal(5, 6, seed=1)

EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij->ji": [(2, 3)],
    "ii->i": [(3, 3)],
    "ij,jk->ik": [(2, 3), (3, 4)],
    "bhqd,bhkd->bhqk": [(2, 2, 3, 4), (2, 2, 5, 4)],
    "...ij,...jk": [(2, 3, 4), (4, 5)],
    "i,j->ji": [(2,), (3,)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 2)],
    "ij,kj->ki": [(3, 3), (3, 3)],
    "jik,jk->i": [(3, 3, 3), (3, 3)],
    "fgab,abge->gaeb": [(2, 3, 3, 3), (3, 3, 3, 2)],
}
"""Equations in Einstein's notation, and the shapes of their operands.

The last ones would not fail, but give wrong numbers, if two dimensions were exchanged.
"""

CASES: dict[str, Case] = {
    "addmm": Case(
        lambda i, a, b: paddle.addmm(i, a, b, beta=0.5, alpha=2.0),
        (normal(4, 6, seed=2), ROWS, COLUMNS),
    ),
    "addmm, one row": Case(paddle.addmm, (normal(1, 6, seed=2), ROWS, COLUMNS)),
    "addmm, one column": Case(paddle.addmm, (normal(4, 1, seed=2), ROWS, COLUMNS)),
    "label_smooth": Case(lambda x: F.label_smooth(x, epsilon=0.2), (normal(3, 5),), double=1e-6),
    "label_smooth, prior": Case(
        lambda x: F.label_smooth(x, paddle.full([1, 5], 0.2, x.dtype), epsilon=0.2),
        (normal(3, 5),),
        double=1e-6,
    ),
    **{
        f"einsum {equation}": Case(
            lambda *operands, equation=equation: paddle.einsum(equation, *operands),
            tuple(normal(*shape, seed=seed) for seed, shape in enumerate(shapes)),
        )
        for equation, shapes in EQUATIONS.items()
    },
    "division by a number": Case(lambda x: x / 3, (ROWS,)),
    "division of a number": Case(lambda x: 3 / (x * x + 1), (ROWS,)),
}

if RELEASE >= (3, 0):
    from paddle.incubate.nn.functional import swiglu

    CASES |= {
        "baddbmm": Case(
            lambda i, a, b: paddle.baddbmm(i, a, b, beta=0.5, alpha=2.0),
            (normal(2, 4, 6, seed=2), normal(2, 4, 5), normal(2, 5, 6, seed=1)),
        ),
        "swiglu": Case(swiglu, (ROWS, normal(4, 5, seed=1))),
        "swiglu of halves": Case(swiglu, (COLUMNS,)),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients(case: str, dtype: str) -> None:
    check(CASES[case], dtype)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum_in_a_compiled_program(equation: str) -> None:
    """PaddlePaddle may compute the sums on its CPU, and the gradients on the device."""

    def compute() -> Any:
        operands = [paddle.to_tensor(normal(*shape)) for shape in EQUATIONS[equation]]
        for operand in operands:
            operand.stop_gradient = False
        graph = Graph(lambda *operands: paddle.einsum(equation, *operands))
        layer = paddle.jit.to_static(graph, full_graph=True)
        out = layer(*operands)
        (out * out).sum().backward()
        return [tensor.numpy() for tensor in (out, *(operand.grad for operand in operands))]

    for mine, other in zip(*on_both(compute)):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)


def test_folded_products() -> None:
    def compute() -> Any:
        a, b = paddle.to_tensor(normal(2, 3, 4)), paddle.to_tensor(normal(4, 5, 6, seed=1))
        for tensor in (a, b):
            tensor.stop_gradient = False
        out = paddle._legacy_C_ops.mul(a, b, "x_num_col_dims", 2, "y_num_col_dims", 1)
        (out * out).sum().backward()
        return [tensor.numpy() for tensor in (out, a.grad, b.grad)]

    ours, theirs = on_both(compute)
    assert ours[0].shape == (2, 3, 5, 6)
    for mine, wanted in zip(ours, theirs):
        assert mine == pytest.approx(wanted, rel=1e-4, abs=1e-4)
