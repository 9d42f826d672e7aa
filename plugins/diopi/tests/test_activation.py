"""Activation functions, and their gradients."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

from host import Library, like
from tables import (
    FLOAT64,
    NUMBER,
    SMALL,
    SPECIAL,
    Case,
    Make,
    differences,
    test_in_place,
    test_results,
)
from tensors import Array

__all__ = ["test_in_place", "test_results"]


SIGNED = [dtype for dtype in NUMBER if dtype.kind != "u"]


def one(make: Make) -> tuple[Any, ...]:
    return (make.array(special=SPECIAL),)


def finite(*more: Any) -> Callable[[Make], tuple[Any, ...]]:
    return lambda make: (make.array(low=-5, high=5), *more)


def with_axis(make: Make) -> tuple[Any, ...]:
    return make.array(), make.axis()


def gelu(x: Array, approximate: str) -> Any:
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + scipy.special.erf(x / np.sqrt(2)))


def hardswish(x: Array) -> Any:
    return x * np.clip(x + 3, 0, 6) / 6


def hardtanh(x: Array, low: float, high: float) -> Any:
    return np.clip(x, np.asarray(low, x.dtype), np.asarray(high, x.dtype))


def leaky_relu(x: Array, slope: float) -> Any:
    return np.where(x > 0, x, slope * x)


def silu(x: Array) -> Any:
    return x * scipy.special.expit(x)


def threshold(x: Array, limit: float, value: float) -> Any:
    return np.where(x > limit, x, np.asarray(value, x.dtype))


def softmax(x: Array, dim: int) -> Any:
    return scipy.special.softmax(x, dim) if x.ndim and x.size else x / x


def log_softmax(x: Array, dim: int) -> Any:
    return scipy.special.log_softmax(x, dim) if x.ndim and x.size else x - x


CASES = [
    Case("diopiRelu", one, lambda x: np.maximum(x, 0), NUMBER),
    Case("diopiSilu", finite(), silu, tolerance=4),
    Case("diopiHardswish", finite(), hardswish, tolerance=4),
    Case("diopiHardtanh", finite(-1, 2), hardtanh, SIGNED),
    Case("diopiLeakyRelu", finite(0.1), leaky_relu, tolerance=4),
    Case("diopiThreshold", finite(1, 20), threshold, NUMBER),
    Case("diopiGelu", finite("none"), gelu, tolerance=8, label="none"),
    Case("diopiGelu", finite("tanh"), gelu, tolerance=8, label="tanh"),
    Case("diopiSoftmax", with_axis, softmax, tolerance=4),
    Case("diopiLogSoftmax", with_axis, log_softmax, tolerance=4),
]


def backward(
    name: str,
    function: Callable[..., Any],
    *options: Any,
    rest: tuple[Any, ...] = (),
    label: str = "",
) -> Case:
    """Returns a case for a gradient by the input of a function."""

    def reference(dy: Array, x: Array, *_: Any) -> Any:
        return differences(lambda x: function(x, *options), dy, x)[0]

    return Case(
        name,
        lambda make: (make.array(), make.array(low=-5, high=5), *options, *rest),
        reference,
        FLOAT64,
        tolerance=1e7,
        shapes=SMALL,
        label=label,
    )


def backward_of_output(
    name: str, function: Callable[..., Any], inverse: Callable[..., Any]
) -> Case:
    """Returns a case for a gradient that is computed from the output of a function."""

    def reference(dy: Array, y: Array, *options: Any) -> Any:
        return differences(lambda x: function(x, *options), dy, inverse(y))[0]

    def args(make: Make) -> tuple[Any, ...]:
        options = (make.axis(),) if "softmax" in name.lower() else ()
        return make.array(), function(make.array(), *options), *options

    return Case(name, args, reference, FLOAT64, tolerance=1e7, shapes=SMALL)


CASES += [
    backward("diopiSiluBackward", silu),
    backward("diopiHardswishBackward", hardswish),
    backward("diopiHardtanhBackward", hardtanh, -1.0, 2.0),
    backward("diopiLeakyReluBackward", leaky_relu, 0.1, rest=(False,)),
    backward("diopiThresholdBackward", lambda x, limit: threshold(x, limit, 0), 1.0),
    backward("diopiGeluBackward", gelu, "none", label="none"),
    backward("diopiGeluBackward", gelu, "tanh", label="tanh"),
    backward_of_output("diopiSigmoidBackward", scipy.special.expit, scipy.special.logit),
    backward_of_output("diopiTanhBackward", np.tanh, np.arctanh),
    backward_of_output("diopiSoftmaxBackward", softmax, np.log),
    backward_of_output("diopiLogSoftmaxBackward", log_softmax, lambda y: y),
]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8"])
def test_threshold_has_the_type_of_the_input(lib: Library, dtype: str) -> None:
    array = np.arange(-6, 7).astype(dtype)
    for limit, converted in [(-4.5, -4), (2.9, 2), (-1, -1)]:
        expected = np.where(array <= np.array(converted).astype(dtype), 3, array)
        out = lib.call("diopiThreshold", like(array), array, limit, 3.7)
        np.testing.assert_array_equal(out, expected)
        same = array.copy()
        lib.call("diopiThresholdInp", same, limit, 3.7)
        np.testing.assert_array_equal(same, expected)
