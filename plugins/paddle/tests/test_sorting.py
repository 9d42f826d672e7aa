"""Scans and sorting: results and gradients against Paddle's CPU."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

from host import normal
from kernel_case import Case, check

X = normal(3, 4, 5)
WHOLE = np.arange(24).reshape(2, 3, 4) * 5 % 11
# Elements that differ, so that the order of equal ones is no part of the comparison.
DIFFERENT = np.random.default_rng(3).permutation(60).reshape(3, 4, 5)

CASES: dict[str, Case] = {
    "cumsum": Case(paddle.cumsum, (X,)),
    "cumsum of a dimension": Case(lambda x: paddle.cumsum(x, axis=1), (X,)),
    "cumsum of integers": Case(lambda x: paddle.cumsum(x, axis=-1), (WHOLE,)),
    "cumprod": Case(lambda x: paddle.cumprod(x, dim=1), (X,)),
    "cumprod of the last dimension": Case(lambda x: paddle.cumprod(x, dim=-1), (X,)),
    "logcumsumexp": Case(lambda x: paddle.logcumsumexp(x, axis=1), (X,)),
    "logcumsumexp of all": Case(paddle.logcumsumexp, (X,)),
    "cummax": Case(lambda x: paddle.cummax(x, axis=1), (X,)),
    "cummin": Case(lambda x: paddle.cummin(x, axis=-1, dtype="int32"), (X,)),
    "sort": Case(lambda x: paddle.sort(x, axis=1), (X,)),
    "sort, descending": Case(lambda x: paddle.sort(x, descending=True), (X,)),
    "argsort": Case(lambda x: paddle.argsort(x, axis=0), (X,)),
    "argsort of integers": Case(lambda x: paddle.argsort(x, descending=True), (DIFFERENT,)),
    "topk": Case(lambda x: paddle.topk(x, 3), (X,)),
    "topk of the smallest": Case(lambda x: paddle.topk(x, 2, axis=1, largest=False), (X,)),
    "topk of a number of a tensor": Case(lambda x: paddle.topk(x, paddle.to_tensor([2])), (X,)),
    "kthvalue": Case(lambda x: paddle.kthvalue(x, 2), (X,)),
    "kthvalue of a dimension, kept": Case(
        lambda x: paddle.kthvalue(x, 1, axis=1, keepdim=True), (X,)
    ),
    "mode": Case(lambda x: paddle.mode(x, axis=1), (X,)),
    "mode of integers": Case(lambda x: paddle.mode(x), (WHOLE % 3,)),
    "searchsorted": Case(
        lambda s, v: paddle.searchsorted(s.detach(), v.detach()), (np.sort(X, -1), X[:, :, :3])
    ),
    "searchsorted, right": Case(
        lambda s, v: paddle.searchsorted(s, v, out_int32=True, right=True),
        (np.arange(0, 12, 2), WHOLE),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


def test_gradient_of_cumprod_with_a_zero() -> None:
    x = paddle.to_tensor(np.array([2.0, 0.0, 3.0], "float32"))
    x.stop_gradient = False
    x.cumprod(0).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 8.0, 0.0])


def test_sort_puts_nan_last() -> None:
    x = paddle.to_tensor(np.array([np.nan, 2.0, 1.0], "float32"))
    np.testing.assert_array_equal(paddle.sort(x).numpy(), [1.0, 2.0, np.nan])
