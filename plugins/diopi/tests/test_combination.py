"""Products and quotients that are added, limits, and operators on lists of tensors."""

from typing import Any

import numpy as np
import pytest

from host import Library, like
from tables import NUMBER, SPECIAL, Case, Make, test_in_place, test_results
from tensors import Array

__all__ = ["test_in_place", "test_results"]


def three(make: Make) -> tuple[Any, ...]:
    return make.array(), make.operand(), make.operand()


def limits(make: Make) -> tuple[Any, ...]:
    low, high = make.operand(low=-2, high=0), make.operand(low=0, high=2)
    return make.array(special=SPECIAL), *[(low, high), (None, high), (low, None)][make.run % 3]


def limit(make: Make) -> tuple[Any, ...]:
    return make.array(special=SPECIAL), make.operand(low=-1, high=1)


def number_limits(make: Make) -> tuple[Any, ...]:
    return make.array(special=SPECIAL), *[(0, 2), (None, 1), (1, None)][make.run % 3]


def number_limit(make: Make) -> tuple[Any, ...]:
    return make.array(special=SPECIAL), make.run % 2


def clip(x: Array, low: Any, high: Any) -> Any:
    low, high = (None if it is None else np.asarray(it).astype(x.dtype) for it in (low, high))
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


CASES = [
    Case(
        "diopiAddcmul",
        lambda make: (*three(make), 2),
        lambda a, b, c, value: a + np.asarray(value).astype(a.dtype) * b * c,
        NUMBER,
        tolerance=4,
    ),
    Case(
        "diopiAddcdiv",
        lambda make: (*three(make)[:2], make.operand(low=0.5, high=2), 0.5),
        lambda a, b, c, value: a + value * b / c,
        tolerance=4,
    ),
    Case(
        "diopiLerpTensor",
        lambda make: (*three(make)[:2], make.operand(low=0, high=1)),
        lambda a, b, weight: a + weight * (b - a),
        tolerance=4,
    ),
    Case(
        "diopiLerpScalar",
        lambda make: (*three(make)[:2], 0.25),
        lambda a, b, weight: a + weight * (b - a),
        tolerance=4,
    ),
    Case("diopiClamp", limits, clip, NUMBER),
    Case("diopiClampScalar", number_limits, clip, NUMBER),
    Case("diopiClampMax", limit, lambda x, high: clip(x, None, high), NUMBER),
    Case("diopiClampMaxScalar", number_limit, lambda x, high: clip(x, None, high), NUMBER),
    Case("diopiClampMin", limit, lambda x, low: clip(x, low, None), NUMBER),
    Case("diopiClampMinScalar", number_limit, lambda x, low: clip(x, low, None), NUMBER),
]


def arrays() -> list[Array]:
    return [np.arange(6.0).reshape(2, 3).T, np.ones(()), np.zeros((0, 2)), np.arange(8.0)[::2]]


@pytest.mark.parametrize(
    ("name", "other"),
    [("addScalar", 1.5), ("mulScalar", 2.5), ("mulTensor", np.array(2.5))],
)
def test_list_is_computed_tensor_by_tensor(lib: Library, name: str, other: Any) -> None:
    inputs = arrays()
    outs = [like(array) for array in inputs]
    results = lib.call(f"diopiForeach{name}", outs, inputs, len(inputs), other)
    in_place = name.replace("Scalar", "InpScalar").replace("Tensor", "InpTensor")
    lib.call(f"diopiForeach{in_place}", inputs, len(inputs), other)
    for before, result, after in zip(arrays(), results, inputs, strict=True):
        wanted = before + other if name == "addScalar" else before * other
        np.testing.assert_array_equal(result, wanted)
        np.testing.assert_array_equal(after, wanted)
