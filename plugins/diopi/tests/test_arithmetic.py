"""Arithmetic with tensors and numbers."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Number, Out, like
from tables import (
    ANY,
    INTEGER,
    NUMBER,
    REAL,
    SPECIAL,
    Case,
    Make,
    floating,
    test_in_place,
    test_results,
)
from tensors import Array

__all__ = ["test_in_place", "test_results"]


def two(make: Make) -> tuple[Any, ...]:
    return make.array(special=SPECIAL), make.operand(special=SPECIAL)


def number(make: Make, low: int = 0, high: int = 3) -> Any:
    """Returns an integer, or a real number for real tensors."""
    value = int(make.rng.integers(low, high + 1))
    return value + 0.5 if make.dtype in REAL and make.run % 2 else value


def with_alpha(make: Make) -> tuple[Any, ...]:
    return *two(make), number(make)


def with_number(make: Make) -> tuple[Any, ...]:
    return make.array(special=SPECIAL), number(make)


def with_number_and_alpha(make: Make) -> tuple[Any, ...]:
    return *with_number(make), number(make)


def of_type(value: Any, array: Array) -> Any:
    return np.asarray(value).astype(array.dtype)


def scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b, alpha: function(a, of_type(b, a) * of_type(alpha, a))


def wide_divide(a: Array, b: Any, _: str) -> Any:
    return np.asarray(a, np.float64) / np.asarray(b, np.float64)


def truncated(a: Array, b: Any, _: str) -> Any:
    return np.trunc(wide_divide(a, b, _))


def floored(a: Array, b: Any, _: str) -> Any:
    return np.floor(wide_divide(a, b, _))


CASES = [
    Case("diopiAdd", with_alpha, scaled(np.add), ANY),
    Case("diopiAddScalar", with_number_and_alpha, scaled(np.add), NUMBER),
    Case("diopiSub", with_alpha, scaled(np.subtract), NUMBER),
    Case("diopiSubScalar", with_number_and_alpha, scaled(np.subtract), NUMBER),
    Case("diopiMul", two, np.multiply, ANY),
    Case("diopiMulScalar", with_number, lambda a, b: a * of_type(b, a), NUMBER),
    Case("diopiMaximum", two, np.maximum, ANY),
    Case("diopiMinimum", two, np.minimum, ANY),
]


def by_tensor(sign: int, *more: Any) -> Callable[[Make], tuple[Any, ...]]:
    """Returns what makes a dividend, and a divisor with a sign."""
    low, high = sorted((sign, 4 * sign))
    return lambda make: (make.array(low=-9, high=9), make.operand(low=low, high=high), *more)


def by_number(sign: int, *more: Any) -> Callable[[Make], tuple[Any, ...]]:
    low, high = sorted((sign, 4 * sign))
    return lambda make: (make.array(low=-9, high=9), number(make, low, high - 1), *more)


ROUNDED = [
    ("RoundModeNone", wide_divide, floating),
    ("RoundModeTrunc", truncated, None),
    ("RoundModeFloor", floored, None),
]

for sign, types in [(1, NUMBER), (-1, REAL + [dtype for dtype in INTEGER if dtype.kind != "u"])]:
    for mode, function, result in ROUNDED:
        for name, args in [("", by_tensor(sign, mode)), ("Scalar", by_number(sign, mode))]:
            label = f"{mode}{sign}"
            CASES.append(Case(f"diopiDiv{name}", args, function, types, result=result, label=label))
    CASES += [
        Case(
            "diopiRemainderTensor",
            by_tensor(sign),
            np.remainder,
            types,
            tolerance=16,
            label=str(sign),
        ),
        Case(
            "diopiRemainderScalar",
            by_number(sign),
            lambda a, b: np.remainder(a, of_type(b, a)),
            types,
            tolerance=16,
            label=str(sign),
        ),
    ]

CASES += [
    Case(
        "diopiRemainder",
        lambda make: (number(make, -9, 9), make.array(low=1, high=4)),
        lambda a, b: np.remainder(of_type(a, b), b),
        [dtype for dtype in NUMBER if dtype.kind != "u"],
        tolerance=16,
    ),
    Case(
        "diopiPow",
        lambda make: (make.array(low=0.1, high=3), [2, 0.5, -1.5, 3.0, 0][make.run % 5]),
        np.power,
        tolerance=4,
    ),
    Case(
        "diopiPow",
        lambda make: (make.array(), [2, 0, 1, 3][make.run % 4]),
        lambda a, b: np.power(a, of_type(b, a)),
        INTEGER,
        label="integer",
    ),
    Case(
        "diopiPowTensor",
        lambda make: (make.array(low=0.1, high=3), make.operand()),
        np.power,
        tolerance=4,
    ),
    Case(
        "diopiPowTensor",
        lambda make: (make.array(), make.operand(low=0, high=3)),
        np.power,
        INTEGER,
        label="integer",
    ),
    Case(
        "diopiPowScalar",
        lambda make: (number(make, 1, 3), make.array()),
        lambda a, b: np.power(float(a), b),
        tolerance=4,
    ),
]


def of(dtype: str, values: list[Any]) -> Array:
    return np.array(values, dtype)


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        # A number changes the kind of the type, not its width.
        (np.arange(4, dtype=np.int32), 0.5, of("float32", [0.5, 1.5, 2.5, 3.5])),
        (np.ones(4, np.float16), 2, of("float16", [3] * 4)),
        (of("uint8", [250, 3]), 10, of("int64", [4, 13])),
        (np.array([True, False]), 2, of("int64", [3, 2])),
        # A tensor without dimensions does the same, a tensor with dimensions changes the width too.
        (of("float32", [1, 2]), np.array(2.0**-30), of("float64", [1, 2])),
        (of("float32", [1, 2]), np.array([2.0**-30] * 2), of("float64", [1, 2]) + 2.0**-30),
        (of("int8", [100, 1]), of("int16", [100, 1]), of("int16", [200, 2])),
        (of("int64", [1, 2]), of("float16", [0.5, 0.25]), of("float16", [1.5, 2.25])),
        (of("uint8", [255]), of("int8", [-1]), of("int16", [254])),
        (np.array([True]), np.array([True]), of("float32", [1])),
        # The output's type is that of the result only.
        (of("uint8", [200]), of("uint8", [100]), of("int64", [44])),
        (of("int64", [2**53 + 1]), of("int64", [1]), of("int64", [2**53 + 2])),
        (of("float64", [1.75]), of("float64", [1]), of("int32", [2])),
    ],
)
def test_types_are_promoted(lib: Library, a: Array, b: Any, result: Array) -> None:
    out = Out(result.shape, result.dtype)
    name = "diopiAdd" if isinstance(b, np.ndarray) else "diopiAddScalar"
    np.testing.assert_array_equal(lib.call(name, out, a, b, 1), result)


def test_number_has_the_type_that_it_is_given(lib: Library) -> None:
    ones = np.ones(2, np.int32)
    for other, wanted in [(Number(2.5, np.float32), 3.5), (Number(2, np.int8), 3)]:
        result = lib.call("diopiAddScalar", Out((2,), np.float64), ones, other, 1)
        assert result.tolist() == [wanted] * 2


def test_output_may_be_an_input(lib: Library) -> None:
    for strided in (np.arange(24.0).reshape(4, 6), np.arange(48.0).reshape(6, 8).T[1:5, ::2]):
        array, other = strided.copy(order="K"), np.linspace(0, 1, strided.shape[1])
        lib.call("diopiAdd", array, array, other, 2)
        np.testing.assert_array_equal(array, strided + 2 * other)
        lib.call("diopiMul", array, array, array)
        np.testing.assert_array_equal(array, (strided + 2 * other) ** 2)


def test_wrong_shapes_are_errors(lib: Library) -> None:
    a = np.ones((2, 3))
    for out, other in [((2, 3), np.ones(2)), ((3, 2), a), ((2,), a), ((2, 3), np.ones((4, 1, 1)))]:
        with pytest.raises(DiopiError, match="^diopiMul: ") as caught:
            lib.call("diopiMul", Out(out, float), a, other)
        assert caught.value.code == 1
    for args in [(None, a, a), (Out((2, 3), float), None, a), (Out((2, 3), float), a, None)]:
        with pytest.raises(DiopiError, match="is null") as caught:
            lib.call("diopiMul", *args)
        assert caught.value.code == 1


def test_threads_compute_at_the_same_time(lib: Library) -> None:
    def compute(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            a, b = rng.random((2, 37, 11))
            if not np.array_equal(lib.call("diopiMul", like(a), a, b), a * b):
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(compute, range(8))) == [True] * 8


def test_message_names_function_and_reason(lib: Library) -> None:
    with pytest.raises(DiopiError) as caught:
        lib.call("diopiBitwiseAnd", Out((2,), float), np.ones(2), np.ones(2))
    assert caught.value.code == 13
    assert caught.value.message.startswith("diopiBitwiseAnd: ")
    assert "float64" in caught.value.message
