"""Comparisons, and operators of truth values and bits."""

from typing import Any

import numpy as np
import pytest

from host import NEW, Library, Out
from tables import ANY, BOOL, INTEGER, SPECIAL, Case, Make, test_in_place, test_results
from tensors import Array

__all__ = ["test_in_place", "test_results"]


def rounded(array: Array) -> Array:
    """Makes many elements equal."""
    return array if array.dtype.kind in "iub" else np.rint(array)


def two(make: Make) -> tuple[Any, ...]:
    a, b = make.array(special=SPECIAL), make.operand(special=SPECIAL)
    return rounded(a), rounded(b)


def with_number(make: Make) -> tuple[Any, ...]:
    return two(make)[0], int(make.rng.integers(0, 3))


def bits(make: Make) -> tuple[Any, ...]:
    return make.array(low=-99, high=99), make.operand(low=-99, high=99)


def bits_and_number(make: Make) -> tuple[Any, ...]:
    return make.array(low=-99, high=99), int(make.rng.integers(0, 100))


COMPARISONS = [
    ("Eq", np.equal),
    ("Ge", np.greater_equal),
    ("Gt", np.greater),
    ("Le", np.less_equal),
    ("Lt", np.less),
    ("Ne", np.not_equal),
]

CASES = [Case(f"diopi{name}", two, function, ANY, result=bool) for name, function in COMPARISONS]
CASES += [
    Case(f"diopi{name}Scalar", with_number, function, ANY, result=bool)
    for name, function in COMPARISONS
]
CASES += [
    Case("diopiLogicalAnd", two, np.logical_and, ANY, result=bool),
    Case("diopiLogicalNot", lambda make: two(make)[:1], np.logical_not, ANY, result=bool),
    Case("diopiLogicalOr", two, np.logical_or, ANY, result=bool),
    Case("diopiBitwiseAnd", bits, np.bitwise_and, INTEGER + BOOL),
    Case("diopiBitwiseAndScalar", bits_and_number, np.bitwise_and, INTEGER),
    Case("diopiBitwiseNot", lambda make: bits(make)[:1], np.bitwise_not, INTEGER + BOOL),
    Case("diopiBitwiseOr", bits, np.bitwise_or, INTEGER + BOOL),
    Case("diopiBitwiseOrScalar", bits_and_number, np.bitwise_or, INTEGER),
]


@pytest.mark.parametrize(
    ("a", "b", "is_equal"),
    [
        (np.arange(6.0), np.arange(6.0), True),
        (np.arange(12.0)[::2], np.arange(12.0).reshape(6, 2)[:, 0], True),
        (np.arange(6.0), np.arange(6.0) + (np.arange(6) == 5), False),
        (np.arange(6.0), np.arange(6.0).reshape(2, 3), False),
        (np.array([np.nan]), np.array([np.nan]), False),
        (np.ones((0, 3)), np.ones((0, 3)), True),
        (np.array(3), np.array(3), True),
    ],
)
def test_tensors_are_equal_as_a_whole(lib: Library, a: Any, b: Any, is_equal: bool) -> None:
    assert lib.call("diopiEqual", NEW, a, b) is is_equal


def test_number_is_compared_in_the_promoted_type(lib: Library) -> None:
    array = np.array([2, 3, 4])
    result = lib.call("diopiGtScalar", Out((3,), bool), array, 2.5)
    assert result.tolist() == [False, True, True]
    result = lib.call("diopiEqScalar", Out((3,), bool), array.astype(np.float32), 3)
    assert result.tolist() == [False, True, False]
