"""Functions of one number."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

from tables import ANY, NUMBER, SPECIAL, Case, Make, floating, real, test_in_place, test_results
from tensors import Array

__all__ = ["test_in_place", "test_results"]


def one(low: float, high: float) -> Callable[[Make], tuple[Array]]:
    return lambda make: (make.array(low=low, high=high, special=SPECIAL),)


# The function, and the range of its arguments.
REAL_FUNCTIONS: list[tuple[str, Callable[..., Any], float, float]] = [
    ("Acos", np.arccos, -1, 1),
    ("Acosh", np.arccosh, 1, 5),
    ("Asin", np.arcsin, -1, 1),
    ("Asinh", np.arcsinh, -3, 3),
    ("Atan", np.arctan, -3, 3),
    ("Atanh", np.arctanh, -0.9, 0.9),
    ("Cos", np.cos, -9, 9),
    ("Cosh", np.cosh, -3, 3),
    ("Erf", scipy.special.erf, -3, 3),
    ("Erfinv", scipy.special.erfinv, -0.95, 0.95),
    ("Exp", np.exp, -3, 3),
    ("Expm1", np.expm1, -3, 3),
    ("Log", np.log, 0.1, 5),
    ("Log10", np.log10, 0.1, 5),
    ("Log1p", np.log1p, -0.9, 5),
    ("Log2", np.log2, 0.1, 5),
    ("Reciprocal", np.reciprocal, 0.5, 3),
    ("Rsqrt", lambda x: 1 / np.sqrt(x), 0.1, 5),
    ("Sigmoid", scipy.special.expit, -5, 5),
    ("Sin", np.sin, -9, 9),
    ("Sinh", np.sinh, -3, 3),
    ("Sqrt", np.sqrt, 0, 5),
    ("Tan", np.tan, -1.5, 1.5),
    ("Tanh", np.tanh, -3, 3),
]

CASES = [
    Case(f"diopi{name}", one(low, high), real(function), ANY, result=floating, tolerance=8)
    for name, function, low, high in REAL_FUNCTIONS
]

CASES += [
    Case("diopiAbs", one(-3, 3), np.abs, NUMBER),
    Case("diopiCeil", one(-3, 3), np.ceil),
    Case("diopiFloor", one(-3, 3), np.floor),
    Case("diopiIsNan", one(-3, 3), np.isnan, NUMBER, result=bool),
    Case("diopiNeg", one(-3, 3), np.negative, NUMBER),
    Case("diopiSgn", lambda make: (make.array(special=[0.0, -0.0]),), np.sign, NUMBER),
    Case("diopiSign", lambda make: (make.array(special=[0.0, -0.0]),), np.sign, NUMBER),
]
