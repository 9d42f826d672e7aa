"""Scans and sorting: results and gradients against Paddle's CPU."""

from __future__ import annotations

from functools import partial

import numpy as np
import paddle
import pytest
from paddle.base import core

from host import DEVICE, RELEASE, is_on, normal, on_both
from kernel_case import Array, Case, check

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

CASES |= {
    f"median along {axis}, {mode}, kept {kept}": Case(
        lambda x, axis=axis, mode=mode, kept=kept: paddle.median(
            x, axis, kept, **({"mode": mode} if RELEASE >= (3, 0) else {})
        ),
        (X,),
    )
    for mode in ("avg", "min")
    for axis, kept in ((None, False), (1, True), (-1, False))
}
WITH_NAN = np.where(X > 1, np.float32("nan"), X)
CASES |= {
    f"nanmedian along {axis}, {mode}, kept {kept}": Case(
        lambda x, axis=axis, mode=mode, kept=kept: paddle.nanmedian(
            x, axis, kept, **({"mode": mode} if RELEASE >= (3, 0) else {})
        ),
        (WITH_NAN,),
    )
    for mode in ("avg", "min")
    for axis, kept in ((None, False), (1, True), ((0, -1), False))
}
# Since 3.2 the median is a kernel, and equal elements share the gradient.
if RELEASE >= (3, 2):
    CASES |= {
        f"median of equal elements along {axis}": Case(
            lambda x, axis=axis: paddle.median(x, axis), (np.round(X[:, :3, :3]),)
        )
        for axis in (None, 0, -1)
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


@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_distinct_elements_are_those_of_the_cpu(dtype: str, axis: int | None, index: str) -> None:
    x = np.random.default_rng(1).integers(-2, 3, (6, 2)).astype(dtype)

    def run(*flags: bool) -> list[Array]:
        found = paddle.unique(paddle.to_tensor(x), *flags, axis=axis, dtype=index)
        tensors = found if isinstance(found, (tuple, list)) else [found]
        assert len(tensors) == 1 + sum(flags)
        return [tensor.numpy() for tensor in tensors]

    for flags in [(False,) * 3, (True,) * 3, (False, True, False), (False, False, True)]:
        ours, theirs = on_both(partial(run, *flags))
        for mine, expected in zip(ours, theirs):
            assert mine.dtype == expected.dtype
            np.testing.assert_array_equal(mine, expected)


def test_distinct_elements_are_on_the_device() -> None:
    assert is_on(paddle.unique(paddle.to_tensor(WHOLE)))


@pytest.mark.parametrize("kernel", ["nanmedian", "nanmedian_grad"])
def test_nanmedian_has_a_kernel_in_every_release(kernel: str) -> None:
    places = core._get_registered_phi_kernels("all")[kernel]
    assert any(DEVICE in place for place in places)
