"""Elementwise arithmetic."""

from typing import Any

import numpy as np

from tables import ANY, Case, Make, test_in_place, test_results
from tensors import Array

__all__ = ["test_in_place", "test_results"]

SPECIAL = [np.nan, np.inf, -np.inf, -0.0]


def two(make: Make) -> tuple[Any, ...]:
    return make.array(special=SPECIAL), make.operand(special=SPECIAL)


def two_and_alpha(make: Make) -> tuple[Any, ...]:
    return *two(make), int(make.rng.integers(0, 3))


def add(a: Array, b: Array, alpha: float) -> Any:
    return a + b * np.asarray(alpha).astype(b.dtype)


CASES = [
    Case("diopiAdd", two_and_alpha, add, ANY),
    Case("diopiMul", two, np.multiply, ANY),
]
