"""The negative log-likelihood and the cross entropy."""

from typing import Any

import numpy as np
import pytest
import scipy.special

from host import Library, Out, like
from tables import Case, Make, test_results
from tensors import Array

__all__ = ["test_results"]

SHAPES = [(5, 4), (4,), (3, 6, 2), (2, 3, 2, 4), (8, 3)]
IGNORED = -100


def axis_of(x: Array) -> int:
    return min(x.ndim - 1, 1)


def classes(make: Make) -> Array:
    """Returns classes of which some are ignored."""
    axis = min(len(make.shape) - 1, 1)
    shape = make.shape[:axis] + make.shape[axis + 1 :]
    target = np.asarray(make.rng.integers(0, make.shape[axis], shape))
    return np.where(make.rng.random(shape) < 0.2, IGNORED, target) if shape else target


def weights(make: Make) -> Any:
    return make.array([make.shape[min(len(make.shape) - 1, 1)]], 0.5, 2) if make.run % 2 else None


def one_hot(x: Array, target: Array) -> Array:
    """Returns 1 for each class that is a target, and 0 elsewhere."""
    places = np.arange(x.shape[axis_of(x)]).reshape(-1, *[1] * (x.ndim - axis_of(x) - 1))
    return np.asarray(np.expand_dims(target, axis_of(x)) == places)


def by_class(x: Array, weight: Any) -> Any:
    return 1 if weight is None else weight.reshape(-1, *[1] * (x.ndim - axis_of(x) - 1))


def reduced(losses: Array, total: Any, mode: int) -> Any:
    return [losses, losses.sum() / total, losses.sum()][mode]


def total_of(x: Array, target: Array, weight: Any) -> Any:
    return (one_hot(x, target) * by_class(x, weight)).sum()


def nll(x: Array, target: Array, weight: Any, mode: int, _: int) -> Any:
    losses = -(one_hot(x, target) * x * by_class(x, weight)).sum(axis_of(x))
    return reduced(losses, total_of(x, target, weight), mode)


def with_total(x: Array, target: Array, weight: Any, mode: int, ignored: int) -> Any:
    total = total_of(x, target, weight) if mode else np.zeros(())
    return nll(x, target, weight, mode, ignored), total


def wanted(x: Array, target: Array, weight: Any, smoothing: float) -> tuple[Array, Any]:
    """Returns the weight of the logarithm of each class, and the divisor of the mean."""
    axis, counted = axis_of(x), np.ones(())
    if target.dtype.kind == "f":
        labels, total = target, x.size / x.shape[axis]
    else:
        labels, total = one_hot(x, target), total_of(x, target, weight)
        counted = np.expand_dims(target != IGNORED, axis)
    smooth = labels * (1 - smoothing) + smoothing / x.shape[axis]
    return smooth * counted * by_class(x, weight), total


def entropy(x: Array, target: Array, weight: Any, mode: int, _: int, smoothing: float) -> Any:
    factors, total = wanted(x, target, weight, smoothing)
    logarithms = scipy.special.log_softmax(x, axis_of(x))
    return reduced(-(factors * logarithms).sum(axis_of(x)), total, mode)


def of_losses(dy: Array, x: Array, total: Any, mode: int) -> Any:
    """Returns the gradient of the loss of each example."""
    return [np.expand_dims(dy, axis_of(x)) if mode == 0 else dy, dy / total, dy][mode]


def nll_slope(dy: Array, x: Array, target: Array, weight: Any, mode: int, _: int) -> Any:
    gradient = of_losses(dy, x, total_of(x, target, weight), mode)
    return np.where(one_hot(x, target), -gradient * by_class(x, weight), 0)


def entropy_slope(dy: Array, x: Array, target: Array, weight: Any, *rest: Any) -> Any:
    mode, _, smoothing = rest
    factors, total = wanted(x, target, weight, smoothing)
    gradient = -factors * of_losses(dy, x, total, mode)
    return gradient - scipy.special.softmax(x, axis_of(x)) * gradient.sum(axis_of(x), keepdims=True)


def nll_args(make: Make) -> tuple[Any, ...]:
    return make.array(), classes(make), weights(make), make.run % 3, IGNORED


def of_shape(make: Make, shape: Any) -> Array:
    # An array in the order of Fortran has a dimension.
    return make.array(shape).reshape(shape)


def upstream(make: Make, target: Array) -> Array:
    return of_shape(make, [] if make.run % 3 else target.shape)


def nll_backward(make: Make) -> tuple[Any, ...]:
    args = nll_args(make)
    return upstream(make, args[1]), *args


def v2_backward(make: Make) -> tuple[Any, ...]:
    dy, x, target, weight, *rest = nll_backward(make)
    total = np.asarray(total_of(x, target, weight)).astype(make.dtype)
    return dy, x, target, weight, total, *rest


def entropy_args(make: Make) -> tuple[Any, ...]:
    smoothing = [0.0, 0.1][make.run // 2 % 2]
    target = make.array(low=0, high=1) if make.run % 5 == 4 else classes(make)
    return make.array(), target, weights(make), make.run % 3, IGNORED, smoothing


def entropy_backward(make: Make) -> tuple[Any, ...]:
    args = entropy_args(make)
    shape = list(make.shape)
    shape.pop(min(len(shape) - 1, 1))
    return of_shape(make, [] if make.run % 3 else shape), *args


def without_total(function: Any) -> Any:
    return lambda dy, x, target, weight, _, *rest: function(dy, x, target, weight, *rest)


def case(name: str, *args: Any, tolerance: float = 20) -> Case:
    options: Any = {"shapes": SHAPES, "tolerance": tolerance}
    return Case(f"diopi{name}", *args, **options)


CASES = [
    case("NLLLoss", nll_args, nll),
    case("NLLLossV2", nll_args, with_total),
    case("CrossEntropyLoss", entropy_args, entropy),
    case("NLLLossBackward", nll_backward, nll_slope),
    case("NLLLossV2Backward", v2_backward, without_total(nll_slope)),
    case("CrossEntropyLossBackward", entropy_backward, entropy_slope),
]


def test_nll_loss_mean_of_ignored_targets_is_nan(lib: Library) -> None:
    x, target = np.zeros((2, 3), np.float32), np.full(2, IGNORED)
    assert np.isnan(lib.call("diopiNLLLoss", Out((), "float32"), x, target, None, 1, IGNORED))


@pytest.mark.parametrize("soft", [False, True])
def test_negative_smoothing_is_none(lib: Library, soft: bool) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(4, 3)), rng.uniform(size=3)
    target = rng.uniform(size=(4, 3)) if soft else rng.integers(0, 3, 4)
    results = []
    for smoothing in (-1.5, 0.0):
        rest = target, weight, 1, -100, smoothing
        loss = lib.call("diopiCrossEntropyLoss", Out((), "float64"), x, *rest)
        dx = lib.call("diopiCrossEntropyLossBackward", like(x), np.ones(()), x, *rest)
        results.append((loss, dx))
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
