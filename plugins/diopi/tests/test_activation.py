"""Activation functions."""

from typing import Any

import numpy as np
import scipy.special

from tables import Case, Make, test_in_place, test_results
from tensors import Array

__all__ = ["test_in_place", "test_results"]

SPECIAL = [np.nan, np.inf, -np.inf, -0.0]


def one(make: Make) -> tuple[Any, ...]:
    return (make.array(special=SPECIAL),)


def with_axis(make: Make) -> tuple[Any, ...]:
    return make.array(), make.axis()


def softmax(x: Array, dim: int) -> Any:
    return scipy.special.softmax(x, dim) if x.ndim and x.size else x / x


CASES = [
    Case("diopiRelu", one, lambda x: np.maximum(x, 0)),
    Case("diopiSoftmax", with_axis, softmax),
]
