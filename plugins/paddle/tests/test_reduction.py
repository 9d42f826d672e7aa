"""Reductions: results and gradients against Paddle's CPU."""

from __future__ import annotations

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import normal, on_both
from kernel_case import Array, Case, check

X = normal(3, 4, 5)
WHOLE = np.arange(24).reshape(2, 3, 4) % 7 - 3
TRUTHS = WHOLE > 0
# Each row has its largest and its smallest element twice.
TIES = np.array([[1.0, 3.0, 3.0, -2.0, -2.0], [5.0, 0.0, 5.0, 0.0, 1.0]])

CASES: dict[str, Case] = {
    "sum": Case(paddle.sum, (X,)),
    "sum of a dimension": Case(lambda x: paddle.sum(x, axis=1), (X,)),
    "sum of two dimensions, kept": Case(lambda x: paddle.sum(x, axis=[0, -1], keepdim=True), (X,)),
    "sum of a number": Case(lambda x: paddle.sum(x[0, 0, 0]), (X,)),
    "sum in float64": Case(lambda x: paddle.sum(x, dtype="float64"), (X,)),
    "sum of integers": Case(lambda x: paddle.sum(x, axis=0), (WHOLE,)),
    "sum of 32-bit integers": Case(lambda x: paddle.sum(x, axis=0), (WHOLE.astype("int32"),)),
    "sum of truth values": Case(lambda x: paddle.sum(x, axis=0), (TRUTHS,)),
    "nansum": Case(lambda x: paddle.nansum(x, axis=1), (X,)),
    "mean": Case(paddle.mean, (X,)),
    "mean of a dimension": Case(lambda x: paddle.mean(x, axis=-1), (X,)),
    "mean of two dimensions, kept": Case(lambda x: paddle.mean(x, axis=[0, 2], keepdim=True), (X,)),
    "prod": Case(paddle.prod, (X,)),
    "prod of a dimension": Case(lambda x: paddle.prod(x, axis=1, keepdim=True), (X,)),
    "prod of integers": Case(lambda x: paddle.prod(x, axis=1), (WHOLE,)),
    "max": Case(paddle.max, (X,)),
    "max of a dimension": Case(lambda x: paddle.max(x, axis=1), (X,)),
    "max of equal elements": Case(lambda x: paddle.max(x, axis=1), (TIES,)),
    "max of integers": Case(lambda x: paddle.max(x, axis=-1, keepdim=True), (WHOLE,)),
    "min": Case(paddle.min, (X,)),
    "min of a dimension": Case(lambda x: paddle.min(x, axis=[0, 1]), (X,)),
    "min of equal elements": Case(lambda x: paddle.min(x, axis=1), (TIES,)),
    "amax": Case(lambda x: paddle.amax(x, axis=1), (TIES,)),
    "amin": Case(lambda x: paddle.amin(x, axis=1, keepdim=True), (TIES,)),
    "any": Case(lambda x: paddle.any(x, axis=1), (TRUTHS,)),
    "all": Case(lambda x: paddle.all(x, axis=[0, 1], keepdim=True), (TRUTHS,)),
    "any of all": Case(paddle.any, (TRUTHS,)),
    "argmax": Case(paddle.argmax, (X,)),
    "argmax of a dimension": Case(lambda x: paddle.argmax(x, axis=1), (TIES,)),
    "argmin of a dimension": Case(
        lambda x: paddle.argmin(x, axis=1, keepdim=True, dtype="int32"), (TIES,)
    ),
    "argmin of integers": Case(lambda x: paddle.argmin(x, axis=0), (WHOLE,)),
    "logsumexp": Case(paddle.logsumexp, (X,)),
    "logsumexp of a dimension": Case(lambda x: paddle.logsumexp(x, axis=[1], keepdim=True), (X,)),
    "norm": Case(paddle.norm, (X,)),
    "norm of a dimension": Case(lambda x: paddle.norm(x, p=2, axis=1), (X,)),
    "norm of order 1": Case(lambda x: paddle.norm(x, p=1, axis=-1, keepdim=True), (X,)),
    # Paddle's CPU has the reciprocal of the order in float32.
    "norm of order 3": Case(lambda x: paddle.norm(x, p=3, axis=0), (X,), 1e-4, 1e-6),
    "norm of order infinity": Case(lambda x: paddle.norm(x, p=float("inf"), axis=1), (X,)),
    "norm of matrices": Case(lambda x: paddle.norm(x, p="fro", axis=[1, 2]), (X,)),
    "normalize": Case(lambda x: F.normalize(x, axis=1), (X,)),
    "std": Case(lambda x: paddle.std(x, axis=1), (X,)),
    "mse_loss": Case(lambda x: F.mse_loss(x, paddle.zeros_like(x)), (X,)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


def test_clip_by_norm() -> None:
    """Paddle's CPU has it for float32 only."""
    check(Case(lambda x: paddle.nn.clip.clip_by_norm(x.detach(), 0.5), (X,)), "float32")


def test_gradient_of_broadcasting_sums() -> None:
    def compute() -> list[Array]:
        bias = paddle.to_tensor(normal(5, seed=1))
        bias.stop_gradient = False
        (paddle.to_tensor(X) + bias).sum().backward()
        return [bias.grad.numpy()]

    ours, theirs = on_both(compute)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5)


def test_gradient_of_prod_with_a_zero_is_the_product_of_the_others() -> None:
    """Paddle's CPU divides by the zero."""
    x = paddle.to_tensor(np.array([2.0, 0.0, 3.0], "float32"))
    x.stop_gradient = False
    x.prod().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [0.0, 6.0, 0.0])


def test_max_of_nan_is_nan() -> None:
    x = paddle.to_tensor(np.array([1.0, np.nan, 3.0], "float32"))
    assert np.isnan(float(x.max())) and np.isnan(float(x.min()))
