"""Random arrays with all kinds of strides, and comparisons with a tolerance for each data type."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tensors import Array, bfloat16

__all__ = ["HALF", "REAL", "Draw", "gradient", "near", "near_slope", "rounded_once"]

HALF = [np.dtype("float16"), bfloat16]
REAL = [np.dtype("float32"), np.dtype("float64"), *HALF]

_TOLERANCE = {
    np.dtype("float64"): 1e-12,
    np.dtype("float32"): 1e-5,
    np.dtype("float16"): 4e-3,
    bfloat16: 3e-2,
}


class Draw:
    """Draws arrays of a data type; each third one has other strides than the one before."""

    def __init__(self, dtype: Any, seed: int = 0) -> None:
        self.dtype = np.dtype(dtype)
        self.rng = np.random.default_rng(seed)
        self._count = seed

    def __call__(self, *shape: int, low: float = -2, high: float = 2, dtype: Any = None) -> Array:
        """Returns an array with elements from `low` to `high`."""
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        numbers = self.rng.uniform(low, high, shape)
        array = np.asarray(np.floor(numbers) if dtype.kind in "iu" else numbers).astype(dtype)
        self._count += 1
        if self._count % 3 == 1:
            return np.asfortranarray(array)
        if self._count % 3 == 2 and array.ndim:
            wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1] + 1), dtype)
            wide[..., 1::2] = array
            return wide[..., 1::2]
        return array

    def writable(self, *shape: int, low: float = -2, high: float = 2) -> Array:
        """Returns an array that a call may change."""
        return self(*shape, low=low, high=high).copy()


def near(actual: Array, expected: Any, factor: float = 1) -> None:
    """Checks that a result is that of the reference, within the tolerance of its data type."""
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    if actual.dtype.kind in "iub":
        np.testing.assert_array_equal(actual, expected)
        return
    tolerance = factor * _TOLERANCE[actual.dtype]
    np.testing.assert_allclose(
        np.asarray(actual, "f8"), np.asarray(expected, "f8"), tolerance, tolerance
    )


def rounded_once(actual: Array, expected: Any) -> None:
    """Checks that a result is that of the reference, rounded once to half precision.

    A small part of the distance of two numbers is left for the computation in float32.
    """
    expected = np.asarray(expected, "f8")
    digits, least = (11, -24) if actual.dtype == np.float16 else (8, -133)
    distance = np.ldexp(1.0, np.maximum(np.frexp(expected)[1] - digits, least))
    assert actual.shape == expected.shape
    errors = np.abs(actual.astype("f8") - expected) / distance
    assert errors.size == 0 or errors.max() <= 0.51, errors


def near_slope(actual: Array, expected: Any, factor: float = 1) -> None:
    """Checks a gradient against differences, which have fewer digits than float64."""
    near(actual, expected, 1e5 if actual.dtype == np.float64 else factor)


def gradient(of: Callable[..., Any], inputs: Sequence[Array], weight: Array) -> list[Array]:
    """Computes the gradients of `sum(weight * of(*inputs))` by central differences, in float64."""
    inputs = [np.array(array, "f8") for array in inputs]
    weight = np.asarray(weight, "f8")
    gradients = [np.zeros_like(array) for array in inputs]
    step = 1e-6
    for array, result in zip(inputs, gradients, strict=True):
        for place in np.ndindex(array.shape):
            value = array[place]
            array[place] = value + step
            above = np.sum(weight * of(*inputs))
            array[place] = value - step
            below = np.sum(weight * of(*inputs))
            array[place] = value
            result[place] = (above - below) / (2 * step)
    return gradients
