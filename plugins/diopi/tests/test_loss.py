"""Losses of elements."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.special

from host import DiopiError, Library, Out
from tables import Case, Make, test_results
from tensors import Array

__all__ = ["test_results"]

SHAPES = [(2, 3, 4), (5, 4), (7,), (), (3, 1, 2, 2), (0,), (16, 3)]
REDUCTIONS = ["NONE", "MEAN", "SUM"]


def reduction(make: Make) -> int:
    return make.run % 3


def reduced(losses: Array, mode: int) -> Any:
    return [losses, losses.mean() if losses.size else np.nan, losses.sum()][mode]


def spread(dy: Array, losses: Array, mode: int) -> Array:
    return dy / max(losses.size, 1) if mode == 1 else dy


def predictions(make: Make, low: float = -3, high: float = 3) -> tuple[Array, Array]:
    return make.array(low=low, high=high), make.array(low=0, high=1)


def upstream(make: Make) -> Array:
    return make.array() if reduction(make) == 0 else make.array([])


def smooth_l1(x: Array, y: Array, beta: float) -> Any:
    return scipy.special.huber(beta, x - y) / beta if beta else np.abs(x - y)


def smooth_l1_slope(x: Array, y: Array, beta: float) -> Any:
    return np.clip((x - y) / beta, -1, 1) if beta else np.sign(x - y)


def bce(x: Array, y: Array, weight: Any) -> Any:
    losses = -(y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log1p(-x), -100))
    return losses if weight is None else losses * weight


def bce_slope(x: Array, y: Array, weight: Any) -> Any:
    slope = (x - y) / np.maximum(x * (1 - x), 1e-12)
    return slope if weight is None else slope * weight


def logits(x: Array, y: Array, weight: Any, pos_weight: Any) -> Any:
    pos_weight = 1 if pos_weight is None else pos_weight
    losses = (1 - y) * np.logaddexp(0, x) + pos_weight * y * np.logaddexp(0, -x)
    return losses if weight is None else losses * weight


def logits_slope(x: Array, y: Array, weight: Any, pos_weight: Any) -> Any:
    pos_weight = 1 if pos_weight is None else pos_weight
    slope = (1 - y) * scipy.special.expit(x) - pos_weight * y * scipy.special.expit(-x)
    return slope if weight is None else slope * weight


def focal(x: Array, y: Array, alpha: float, gamma: float) -> Any:
    p = scipy.special.expit(x)
    losses = logits(x, y, None, None) * (p * (1 - y) + (1 - p) * y) ** gamma
    return losses * (alpha * y + (1 - alpha) * (1 - y)) if alpha >= 0 else losses


def focal_slope(x: Array, y: Array, alpha: float, gamma: float) -> Any:
    return (focal(x + 1e-6, y, alpha, gamma) - focal(x - 1e-6, y, alpha, gamma)) / 2e-6


def pair(
    name: str,
    inputs: Callable[[Make], tuple[Any, ...]],
    loss: Callable[..., Any],
    slope: Callable[..., Any],
    *,
    tolerance: float = 20,
    mode_first: bool = False,
) -> Iterator[Case]:
    """Returns the cases of a loss and its gradient. The inputs begin with the predictions."""

    def put(inputs: tuple[Any, ...], mode: int) -> tuple[Any, ...]:
        return (*inputs[:2], mode, *inputs[2:]) if mode_first else (*inputs, mode)

    def take(args: tuple[Any, ...]) -> tuple[tuple[Any, ...], int]:
        return ((*args[:2], *args[3:]), args[2]) if mode_first else (args[:-1], args[-1])

    def forward(*args: Any) -> Any:
        inputs, mode = take(args)
        return reduced(loss(*inputs), mode)

    def backward(dy: Array, *args: Any) -> Any:
        inputs, mode = take(args)
        return spread(dy, inputs[0], mode) * slope(*inputs)

    yield Case(
        f"diopi{name}",
        lambda make: put(inputs(make), reduction(make)),
        forward,
        shapes=SHAPES,
        tolerance=tolerance,
    )
    yield Case(
        f"diopi{name}Backward",
        lambda make: (upstream(make), *put(inputs(make), reduction(make))),
        backward,
        shapes=SHAPES,
        tolerance=tolerance,
    )


def weight(make: Make) -> Any:
    return make.operand(low=0.5, high=2) if make.run % 2 else None


def pos_weight(make: Make) -> Any:
    return make.array(make.shape[-1:], 0.5, 2) if make.run % 4 > 1 else None


CASES = [
    *pair("MSELoss", predictions, lambda x, y: (x - y) ** 2, lambda x, y: 2 * (x - y)),
    *pair(
        "SmoothL1Loss",
        lambda make: (*predictions(make), [1.0, 0.5, 0.0][make.run // 3 % 3]),
        smooth_l1,
        smooth_l1_slope,
        mode_first=True,
    ),
    *pair("BCELoss", lambda make: (*predictions(make, 0.05, 0.95), weight(make)), bce, bce_slope),
    *pair(
        "BCEWithLogits",
        lambda make: (*predictions(make), weight(make), pos_weight(make)),
        logits,
        logits_slope,
    ),
    Case(
        "diopiSigmoidFocalLoss",
        lambda make: (*predictions(make), [0.25, -1.0][make.run % 2], 2.0, reduction(make)),
        lambda x, y, alpha, gamma, mode: reduced(focal(x, y, alpha, gamma), mode),
        shapes=SHAPES,
        tolerance=20,
    ),
]


@pytest.mark.parametrize("mode", range(3), ids=REDUCTIONS)
@pytest.mark.parametrize("gamma", [0.0, 0.5, 2.0])
def test_sigmoid_focal_loss_backward(lib: Library, mode: int, gamma: float) -> None:
    rng = np.random.default_rng(mode)
    x, y = rng.normal(size=(3, 4)), rng.integers(0, 2, (3, 4)).astype(float)
    dy = rng.normal(size=(3, 4) if mode == 0 else ())
    # The gradient of the input is in the midst of the other parameters.
    dx = lib.call(
        "diopiSigmoidFocalLossBackward", dy, x, y, Out((3, 4), "float64"), gamma, 0.25, mode
    )
    np.testing.assert_allclose(dx, spread(dy, x, mode) * focal_slope(x, y, 0.25, gamma), 1e-6, 1e-9)


def test_bce_loss_certain_predictions_are_limited(lib: Library) -> None:
    x, y = np.array([0, 1], np.float32), np.array([1, 0], np.float32)
    out = lib.call("diopiBCELoss", Out((2,), "float32"), x, y, None, 0)
    np.testing.assert_array_equal(out, [100, 100])


def test_unknown_reduction_fails(lib: Library) -> None:
    x = np.ones(2, np.float32)
    with pytest.raises(DiopiError, match="`reduction` is"):
        lib.call("diopiMSELoss", Out((), "float32"), x, x, 7)
