"""Arrays of numbers for the tests of operators."""

from typing import Any

import numpy as np

from tensors import Array, bfloat16

INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]
FLOATS: list[Any] = ["float16", "float32", "float64", bfloat16]
REAL = ["bool", *INTEGERS, *FLOATS]
COMPLEX = ["complex64", "complex128"]
ALL = [*REAL, *COMPLEX]


def with_gaps(array: Array) -> Array:
    """Returns the same elements with gaps between those of the last dimension."""
    if array.ndim == 0:
        return array
    wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
    wide[..., ::2] = array
    return wide[..., ::2]


def random(shape: tuple[int, ...], dtype: Any, seed: int = 0, gaps: bool = False) -> Array:
    """Returns small random numbers, most of them different."""
    values = np.random.default_rng(seed).integers(-9, 10, shape).astype("float64")
    kind = np.dtype(dtype).kind
    if kind not in "iub":
        values += np.random.default_rng(seed + 1).integers(0, 4, shape) / 4
    if kind == "u":
        values = abs(values)
    if kind == "b":
        values = values > 0
    array = np.asarray(values).astype(dtype)
    if kind == "c":
        array = (
            array + array.dtype.type(1j) * np.asarray(values)[..., ::-1]
            if shape
            else array * (1 + 2j)
        )
    array = np.asarray(array, dtype)
    return with_gaps(array) if gaps else array


def close(actual: Any, expected: Any, dtype: Any = None) -> None:
    """Compares a result with a reference, with a tolerance for the type of the result."""
    actual = np.asarray(actual)
    dtype = np.dtype(actual.dtype if dtype is None else dtype)
    tolerance = {np.dtype("float16"): 2e-3, bfloat16: 1.6e-2, np.dtype("float64"): 1e-12}
    tolerance |= {np.dtype("complex128"): 1e-12}
    limit = tolerance.get(dtype, 2e-6) if dtype.kind not in "iub" else 0
    wide = "complex128" if dtype.kind == "c" else "float64" if dtype.kind not in "iub" else dtype
    expected = np.asarray(expected).astype(dtype).astype(wide)
    np.testing.assert_allclose(actual.astype(wide), expected, rtol=limit, atol=limit)
