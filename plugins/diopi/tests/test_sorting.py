"""Sorted and distinct elements, against NumPy."""

from typing import Any

import numpy as np
import pytest

from arrays import FLOATS, REAL, close, random
from host import NEW, DiopiError, Library, Out, like
from tensors import Array

SHAPE = (3, 6, 4)


def order(array: Array, dim: int, descending: bool) -> Array:
    """Returns the stable order of elements."""
    wide = array.astype("float64")
    return np.argsort(-wide if descending else wide, dim, kind="stable")


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", REAL)
def test_sort(lib: Library, dtype: Any, dim: int, descending: bool) -> None:
    array = random(SHAPE, dtype, gaps=True)
    expected = order(array, dim, descending)
    for of, stable in [("int64", True), ("int32", None)]:
        outs = Out(SHAPE, dtype), Out(SHAPE, of)
        values, indices = lib.call("diopiSort", *outs, array, dim, descending, stable)
        np.testing.assert_array_equal(indices, expected)
        np.testing.assert_array_equal(values, np.take_along_axis(array, expected, dim))
    for given in (dim, None) if dim == -1 else (dim,):
        out = lib.call("diopiArgsort", Out(SHAPE, "int64"), array, True, given, descending)
        np.testing.assert_array_equal(out, expected)


def test_nan_is_the_greatest(lib: Library) -> None:
    array = np.array([2, np.nan, -np.inf, np.inf], "float32")
    for descending, expected in [(False, [2, 0, 3, 1]), (True, [1, 3, 0, 2])]:
        out = lib.call("diopiArgsort", Out((4,), "int64"), array, True, 0, descending)
        assert out.tolist() == expected


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_sort_of_few_elements(lib: Library, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, "float32") + 2
    outs = like(array), like(array, "int64")
    values, indices = lib.call("diopiSort", *outs, array, -1, False, None)
    np.testing.assert_array_equal(values, array)
    assert not indices.any()
    with pytest.raises(DiopiError, match="no dimension"):
        lib.call("diopiSort", *outs, array, 2, False, None)


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sort_backward(lib: Library, dtype: Any, dim: int) -> None:
    array, dout = random(SHAPE, dtype), random(SHAPE, dtype, 5)
    indices = order(array, dim, False)
    expected = np.zeros(SHAPE, dtype)
    np.put_along_axis(expected, indices, dout, dim)
    args = dout, dim, indices, SHAPE, True
    close(lib.call("diopiSortBackward", like(array), *args), expected)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize(("k", "dim"), [(1, 0), (4, 1), (4, -1), (0, 1)])
@pytest.mark.parametrize("dtype", REAL)
def test_topk(lib: Library, dtype: Any, k: int, dim: int, largest: bool) -> None:
    array = random(SHAPE, dtype, gaps=True)
    expected = np.take(order(array, dim, largest), np.arange(k), dim)
    outs = Out(expected.shape, dtype), Out(expected.shape, "int64")
    values, indices = lib.call("diopiTopk", *outs, array, k, dim, largest, True)
    np.testing.assert_array_equal(values, np.take_along_axis(array, expected, dim))
    np.testing.assert_array_equal(np.take_along_axis(array, indices, dim), values)


def test_topk_of_too_many_fails(lib: Library) -> None:
    with pytest.raises(DiopiError):
        outs = Out((5,), "float32"), Out((5,), "int64")
        lib.call("diopiTopk", *outs, random((4,), "float32"), 5, 0, True, True)


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("dtype", REAL)
def test_unique(lib: Library, dtype: Any, dim: Any) -> None:
    array = np.asarray(
        random((4, 6), dtype, gaps=True) % 3 if dtype != "bool" else random((4, 6), dtype)
    )
    array[2] = array[0]
    wide = array.astype("float64")
    values, inverse, counts = np.unique(wide, return_inverse=True, return_counts=True, axis=dim)
    inverse = inverse.reshape(array.shape if dim is None else array.shape[dim])
    for of in ("int64", "int32"):
        out = lib.call("diopiUnique", NEW, array, dim, True, True, like(inverse, of), NEW)
        assert out[0].dtype == array.dtype
        for actual, expected in zip(out, (values, inverse, counts), strict=True):
            np.testing.assert_array_equal(actual.astype("float64"), expected)
    out = lib.call("diopiUnique", NEW, array, dim, True, False, None, None)
    np.testing.assert_array_equal(out.astype("float64"), values)


@pytest.mark.parametrize("shape", [(), (0,)])
def test_unique_of_few_elements(lib: Library, shape: tuple[int, ...]) -> None:
    array = np.zeros(shape, "float32") + 2
    out, counts = lib.call("diopiUnique", NEW, array, None, True, True, None, NEW)
    assert out.tolist() == [2.0] * array.size and counts.tolist() == [1] * array.size


def test_each_nan_is_distinct(lib: Library) -> None:
    array = np.array([np.nan, 1, np.nan, 1, 0], "float32")
    inverse = like(array, "int64")
    out, places, counts = lib.call("diopiUnique", NEW, array, None, True, True, inverse, NEW)
    np.testing.assert_array_equal(out, [0, 1, np.nan, np.nan])
    assert places.tolist() == [2, 1, 3, 1, 0] and counts.tolist() == [1, 2, 1, 1]


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_unique_compares_slices_with_the_dimension_in_front(lib: Library, dim: int) -> None:
    array = np.random.default_rng(3).integers(0, 2, (4, 3, 9))
    swapped = np.swapaxes(array, 0, dim)
    values, inverse = np.unique(swapped, return_inverse=True, axis=0)
    out = lib.call("diopiUnique", NEW, array, dim, True, False, like(inverse), None)
    np.testing.assert_array_equal(out[0], np.swapaxes(values, 0, dim))
    np.testing.assert_array_equal(out[1], inverse)
