"""Tests of operators from tables.

A test file has a list `CASES` and imports the tests from here:

    from tables import Case, test_in_place, test_results

    __all__ = ["test_in_place", "test_results"]

    CASES = [Case("diopiAbs", lambda make: (make.array(),), np.abs, dtypes=NUMBER)]

Each case is run with its data types, with many shapes and with all kinds of strides.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from host import Library, Out
from signatures import functions
from tensors import Array, bfloat16

__all__ = ["Case", "Make", "differences", "test_in_place", "test_results"]

INTEGER = [np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8")]
REAL = [np.dtype(name) for name in ("float16", "float32", "float64")] + [bfloat16]
NUMBER = REAL + INTEGER
BOOL = [np.dtype(bool)]
ANY = NUMBER + BOOL
COMPLEX = [np.dtype(name) for name in ("complex64", "complex128")]
FLOAT64 = [np.dtype("float64")]

# The relative error that a result may have, and the absolute one of results below 1.
TOLERANCE = {
    bfloat16: 1.6e-2,
    np.dtype("float16"): 2e-3,
    np.dtype("float32"): 2e-6,
    np.dtype("float64"): 1e-13,
    np.dtype("complex64"): 2e-6,
    np.dtype("complex128"): 1e-13,
}

_SHAPES = [(2, 3, 4), (5, 4), (7,), (), (3, 1, 2, 2), (0,), (1,), (3, 0, 2), (16, 17)]
_STRIDES = ["contiguous", "transposed", "stepped", "repeated", "permuted"]
_RUNS = 20

# Numbers that are easy to get wrong.
SPECIAL = (np.nan, np.inf, -np.inf, -0.0)
# Shapes for gradients by differences, which take long for many elements.
SMALL = ((2, 3), (4,), (), (0,), (2, 0, 3), (3, 1, 2))


def _is_float(dtype: np.dtype[Any]) -> bool:
    return dtype == bfloat16 or dtype.kind == "f"


class Make:
    """Makes the arguments of one call: arrays of a data type, with a shape and with strides."""

    def __init__(self, dtype: np.dtype[Any], run: int, shapes: Sequence[tuple[int, ...]]) -> None:
        self.rng = np.random.default_rng(run)
        self.dtype = dtype
        self.run = run
        self._strides = _STRIDES[run % len(_STRIDES)]
        self.shape = shapes[run % len(shapes)]
        if run >= len(_SHAPES) and shapes is _SHAPES:
            self.shape = tuple(int(n) for n in self.rng.integers(0, 6, self.rng.integers(0, 5)))

    def array(
        self,
        shape: Sequence[int] | None = None,
        low: float = -3,
        high: float = 3,
        dtype: Any = None,
        special: Sequence[float] = (),
    ) -> Array:
        """Returns an array with random elements from `low` to `high`.

        `special`: values that some elements get if the data type is real, such as NaN.
        """
        shape = self.shape if shape is None else tuple(shape)
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if dtype.kind == "b":
            return self._with_strides(self.rng.integers(0, 2, shape).astype(bool))
        if dtype.kind in "iu":
            low = max(low, 0) if dtype.kind == "u" else low
            numbers = np.asarray(self.rng.integers(int(low), int(high) + 1, shape))
            return self._with_strides(numbers.astype(dtype))
        elements: Array = np.asarray(self.rng.uniform(low, high, shape))
        if dtype.kind == "c":
            elements = elements + 1j * self.rng.uniform(low, high, shape)
        elif elements.size and special:
            places = self.rng.integers(0, elements.size, len(special))
            np.put(elements, places, special)
        return self._with_strides(elements.astype(dtype))

    def operand(self, **options: Any) -> Array:
        """Returns an array whose shape can be broadcast to the shape of the call."""
        drop = int(self.rng.integers(0, len(self.shape) + 1)) if self.run % 2 else 0
        shape = [1 if self.rng.random() < 0.25 else n for n in self.shape[drop:]]
        return self.array(shape, **options)

    def axis(self) -> int:
        """Returns a dimension, counted from the first or from the last."""
        count = max(len(self.shape), 1)
        return int(self.rng.integers(-count, count))

    def out(self, shape: Sequence[int], dtype: Any) -> Out:
        """Returns a place for a result; some are not contiguous."""
        if self.run % 3 != 1:
            return Out(shape, dtype)
        steps, step = [], 2
        for n in shape:
            steps.append(step)
            step *= max(n, 1)
        return Out(shape, dtype, steps)

    def _with_strides(self, array: Array) -> Array:
        if self._strides == "transposed":
            return np.asfortranarray(array)
        if self._strides == "stepped":
            wide = np.zeros([2 * n + 1 for n in array.shape], array.dtype)
            inner: tuple[Any, ...] = (*[slice(1, None, 2)] * array.ndim, ...)
            view: Array = wide[inner]
            view[...] = array
            return view
        if self._strides == "repeated" and array.ndim and array.shape[0]:
            return np.broadcast_to(array[:1], array.shape)
        if self._strides == "permuted":
            order = self.rng.permutation(array.ndim)
            return array.transpose(order).copy().transpose(np.argsort(order))
        return array


@dataclass(frozen=True)
class Case:
    """An operator, its inputs, and a reference for its results."""

    name: str
    # Makes the arguments behind the outputs.
    args: Callable[[Make], tuple[Any, ...]]
    # Computes the results from the same arguments, with real numbers as float64.
    reference: Callable[..., Any]
    dtypes: Sequence[np.dtype[Any]] = tuple(REAL)
    # The data type of the results, or a list with one for each, or a function that returns it for
    # the data type of the inputs. By default it is the latter.
    result: Any = None
    # A factor for the tolerance.
    tolerance: float = 1
    # The shapes that `Make.shape` has.
    shapes: Sequence[tuple[int, ...]] = tuple(_SHAPES)
    # Tells apart the cases of a function.
    label: str = ""

    def __str__(self) -> str:
        return self.name.removeprefix("diopi") + (f"-{self.label}" if self.label else "")

    @property
    def in_place(self) -> str | None:
        """Returns the name of the function that writes the result to its first input."""
        twin = re.sub("(Scalar|Tensor)?$", r"Inp\1", self.name, count=1)
        return twin if twin in functions() else None

    def is_in_place(self, dtype: np.dtype[Any]) -> bool:
        """Returns whether the results fit into an input of a data type."""
        fits = self.types(dtype, 1)[0] in (dtype, np.dtype(bool))
        return fits and self.in_place is not None

    def makes(self, dtype: np.dtype[Any]) -> Iterator[Make]:
        shapes = _SHAPES if tuple(self.shapes) == tuple(_SHAPES) else self.shapes
        return (Make(dtype, run, shapes) for run in range(_RUNS))

    def expected(self, args: Sequence[Any]) -> list[Array]:
        """Returns the results of the reference."""
        with np.errstate(all="ignore"):
            results = self.reference(*[_wide(arg) for arg in args])
        return [np.asarray(it) for it in (results if isinstance(results, tuple) else [results])]

    def types(self, dtype: np.dtype[Any], count: int) -> list[np.dtype[Any]]:
        """Returns the data types of the results."""
        types = self.result if isinstance(self.result, list) else [self.result] * count
        types = [it(dtype) if callable(it) and not isinstance(it, type) else it for it in types]
        return [dtype if it is None else np.dtype(it) for it in types]


def floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the type of the results of functions that make integers real."""
    return np.dtype(np.float32) if dtype.kind in "iub" else dtype


def real(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function that computes with float64 also for integers."""
    return lambda *args: function(*(np.asarray(arg, np.float64) for arg in args))


def _wide(arg: Any) -> Any:
    if isinstance(arg, list):
        return [_wide(item) for item in arg]
    if isinstance(arg, np.ndarray) and _is_float(arg.dtype):
        return arg.astype(np.float64)
    return arg


def differences(function: Callable[..., Any], dy: Array, *inputs: Array) -> tuple[Array, ...]:
    """Returns the gradients of a function by its inputs, from differences."""
    step, gradients = 1e-6, []
    for number, array in enumerate(inputs):
        gradient = np.zeros(array.shape)
        for place in np.ndindex(array.shape):
            ends = []
            for change in (step, -step):
                moved = [np.array(it, np.float64) for it in inputs]
                moved[number][place] += change
                ends.append(np.asarray(function(*moved)))
            gradient[place] = np.sum(dy * (ends[0] - ends[1])) / (2 * step)
        gradients.append(gradient)
    return tuple(gradients)


def _compare(case: Case, make: Make, actual: Array, expected: Array) -> None:
    dtype = actual.dtype
    what = f"{case} with {make.dtype}, run {make.run}: shape {make.shape}"
    assert actual.shape == expected.shape, what
    if dtype in TOLERANCE:
        error = TOLERANCE[dtype] * case.tolerance
        wide = np.complex128 if dtype.kind == "c" else np.float64
        # A result beyond the largest number of the type is infinite.
        with np.errstate(all="ignore"):
            expected = expected.astype(dtype).astype(wide)
        np.testing.assert_allclose(actual.astype(wide), expected, error, error, err_msg=what)
    else:
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(actual, expected.astype(dtype), err_msg=what)


def test_results(lib: Library, case: Case, dtype: np.dtype[Any]) -> None:
    """Compares the results of an operator with those of the reference."""
    for make in case.makes(dtype):
        args = case.args(make)
        expected = case.expected(args)
        types = zip(expected, case.types(dtype, len(expected)), strict=True)
        outs = [make.out(array.shape, type_) for array, type_ in types]
        results = lib.call(case.name, *outs, *args)
        for actual, wanted in zip(results if len(outs) > 1 else [results], expected, strict=True):
            _compare(case, make, actual, wanted)


def test_in_place(lib: Library, case: Case, dtype: np.dtype[Any]) -> None:
    """Compares the form that works in place with the other one."""
    twin = case.in_place
    assert twin is not None
    for make in case.makes(dtype):
        args = case.args(make)
        result = lib.call(case.name, Out(case.expected(args)[0].shape, dtype), *args)
        if args[0].shape == result.shape:
            target = np.array(args[0])
            lib.call(twin, target, *args[1:])
            # NumPy does not know a NaN of bfloat16.
            pair = [it.astype(np.float64) if dtype == bfloat16 else it for it in (target, result)]
            np.testing.assert_array_equal(pair[0], pair[1], err_msg=f"{case}, run {make.run}")
