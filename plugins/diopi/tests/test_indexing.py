"""Slices, ranges, and elements at indices, against NumPy."""

from typing import Any

import numpy as np
import pytest

from arrays import ALL, COMPLEX, close, random, with_gaps
from host import NEW, DiopiError, Library, Number, Out, like
from tensors import Array

SHAPE = (3, 4, 5)
T, F = True, False

# Index tensors for each dimension of an array of SHAPE; None: the whole dimension.
INDICES: dict[str, list[Any]] = {
    "one": [[2, 0, -1, 0]],
    "one number": [1],
    "second": [None, [3, 0]],
    "last": [None, None, [[0, 4], [-5, 1]]],
    "neighbours": [None, [0, 3, 1], [[1], [2]]],
    "apart": [[0, 1], None, [4, -1]],
    "all": [[0, 2], [1], [3, 0]],
    "mask": [[T, F, T]],
    "mask of two dimensions": [None, [[T, F, F, T, T]] * 4],
    "mask and indices": [[T, F, T], None, [0, 2]],
    "mask of all": [(np.arange(60).reshape(SHAPE) % 7 == 0).tolist()],
    "false mask": [[F, F, F]],
    "no index": [[]],
    "nothing": [None, None],
}


def tensors(indices: list[Any], dtype: str = "int64") -> list[Array | None]:
    """Returns the index tensors."""
    arrays = [None if index is None else np.array(index) for index in indices]
    return [
        array if array is None or array.dtype == bool else array.astype(dtype) for array in arrays
    ]


def key(indices: list[Any]) -> tuple[Any, ...]:
    """Returns the key of the same elements in NumPy."""
    return tuple(slice(None) if index is None else index for index in tensors(indices))


@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("dtype", ALL)
def test_index(lib: Library, dtype: Any, indices: list[Any]) -> None:
    array = random(SHAPE, dtype, gaps=True)
    for of in ("int64", "int32"):
        given = tensors(indices, of)
        out = lib.call("diopiIndex", NEW, array, given, len(given))
        assert out.shape == array[key(indices)].shape
        np.testing.assert_array_equal(out, array[key(indices)])


@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_index_backward(lib: Library, dtype: Any, indices: list[Any]) -> None:
    zeros = np.zeros(SHAPE, dtype)
    dout = random(zeros[key(indices)].shape, dtype)
    expected = np.zeros(SHAPE, "float64")
    np.add.at(expected, key(indices), dout)
    given = tensors(indices)
    grad = lib.call("diopiIndexBackward", Out(SHAPE, dtype), zeros, given, len(given), dout)
    close(grad, expected)


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("indices", INDICES.values(), ids=INDICES)
@pytest.mark.parametrize("dtype", ALL)
def test_index_put(lib: Library, dtype: Any, indices: list[Any], accumulate: bool) -> None:
    array = random(SHAPE, dtype, gaps=True)
    shape = array[key(indices)].shape
    for values in (random(shape, dtype, 7), random((), dtype, 8), random(shape[-1:], dtype, 9)):
        if not accumulate and np.size(values) > 1 and indices == INDICES["one"]:
            # Of equal indices any value may be written.
            continue
        expected = array.copy()
        if accumulate and expected.dtype == bool:
            np.logical_or.at(expected, key(indices), values)
        elif accumulate:
            is_integer = expected.dtype.kind in "iu"
            wide = expected.astype("int64" if is_integer else "complex128")
            np.add.at(wide, key(indices), values.astype(wide.dtype))
            expected = (wide if is_integer or dtype in COMPLEX else wide.real).astype(dtype)
        else:
            expected[key(indices)] = values
        given = tensors(indices)
        args = values, given, len(given), accumulate
        close(lib.call("diopiIndexPut", like(array), array, *args), expected)
        target = with_gaps(array)
        lib.call("diopiIndexPutInp", target, *args)
        close(target, expected)


def test_uint8_is_a_mask(lib: Library) -> None:
    array = random((3, 2), "float32")
    mask = np.array([1, 0, 1], "uint8")
    np.testing.assert_array_equal(lib.call("diopiIndex", NEW, array, [mask], 1), array[[0, 2]])


@pytest.mark.parametrize("indices", [[[3]], [[-4]], [[T, F]], [[0]] * 4, [[0, 1], [0, 1, 2]]])
def test_wrong_indices_fail(lib: Library, indices: list[Any]) -> None:
    array = random(SHAPE, "float32")
    given = tensors(indices)
    with pytest.raises(DiopiError):
        lib.call("diopiIndex", NEW, array, given, len(given))
    with pytest.raises(DiopiError):
        lib.call("diopiIndexPut", like(array), array, np.float32(1), given, len(given), False)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("index", [[0, 2, 1, 2], [], [1]])
def test_index_select(lib: Library, dtype: Any, dim: int, index: list[int]) -> None:
    array = random(SHAPE, dtype, gaps=True)
    for of in ("int64", "int32"):
        places = np.array(index, of)
        expected = np.take(array, places, dim)
        out = lib.call("diopiIndexSelect", like(expected), array, dim, places)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_index_select_backward(lib: Library, dim: int) -> None:
    index = np.array([0, 2, 0])
    dout = random(np.take(np.zeros(SHAPE), index, dim).shape, "float64")
    expected = np.zeros(SHAPE)
    np.add.at(np.moveaxis(expected, dim, 0), index, np.moveaxis(dout, dim, 0))
    grad = lib.call("diopiIndexSelectBackward", like(expected), dout, SHAPE, dim, index)
    close(grad, expected)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ALL)
def test_index_fill(lib: Library, dtype: Any, dim: int) -> None:
    array = random(SHAPE, dtype, gaps=True)
    index = np.array([2, 0, 2])
    expected = array.copy()
    np.moveaxis(expected, dim, 0)[index] = 3
    value = np.array(3).astype(dtype)
    close(lib.call("diopiIndexFillScalar", like(array), array, dim, index, 3), expected)
    close(lib.call("diopiIndexFill", like(array), array, dim, index, value), expected)
    for name, given in [("diopiIndexFillInpScalar", 3), ("diopiIndexFillInp", value)]:
        target = with_gaps(array)
        lib.call(name, target, dim, index, given)
        close(target, expected)


@pytest.mark.parametrize(("dim", "index"), [(0, 1), (1, -1), (-1, 0)])
@pytest.mark.parametrize("dtype", ALL)
def test_select(lib: Library, dtype: Any, dim: int, index: int) -> None:
    array = random(SHAPE, dtype, gaps=True)
    expected = np.take(array, index, dim)
    close(lib.call("diopiSelect", like(expected), array, dim, index), expected)
    source = random(expected.shape, dtype, 3)
    whole = array.copy()
    np.moveaxis(whole, dim, 0)[index] = source
    close(lib.call("diopiSelectScatter", like(array), array, source, dim, index), whole)
    whole = np.zeros_like(array)
    np.moveaxis(whole, dim, 0)[index] = source
    close(lib.call("diopiSelectBackward", like(array), source, SHAPE, dim, index), whole)


RANGES = [(0, 2, 1), (1, 100, 2), (-3, -1, 1), (3, 1, 1), (0, 2**63 - 1, 3), (-(2**63), 2, 1)]


@pytest.mark.parametrize("bounds", RANGES)
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ALL)
def test_slice(lib: Library, dtype: Any, dim: int, bounds: tuple[int, int, int]) -> None:
    array = random(SHAPE, dtype, gaps=True)
    expected = np.moveaxis(np.moveaxis(array, dim, 0)[slice(*bounds)], 0, dim)
    out = lib.call("diopiSlice", Out(expected.shape, dtype), array, dim, *bounds)
    close(out, expected)
    source = random(expected.shape, dtype, 3)
    whole = array.copy()
    np.moveaxis(whole, dim, 0)[slice(*bounds)] = np.moveaxis(source, dim, 0)
    close(lib.call("diopiSliceScatter", like(array), array, source, dim, *bounds), whole)
    whole = np.zeros_like(array)
    np.moveaxis(whole, dim, 0)[slice(*bounds)] = np.moveaxis(source, dim, 0)
    close(lib.call("diopiSliceBackward", like(array), source, SHAPE, dim, *bounds), whole)


def test_wrong_slices_fail(lib: Library) -> None:
    array = random((3, 4), "float32")
    for name, args in [
        ("diopiSelect", (0, 3)),
        ("diopiSelect", (2, 0)),
        ("diopiSlice", (0, 0, 3, 0)),
        ("diopiSlice", (0, 0, 2, 1)),
    ]:
        with pytest.raises(DiopiError):
            lib.call(name, Out((4,), "float32"), array, *args)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("dtype", ALL)
@pytest.mark.parametrize("shape", [SHAPE, (2, 3, 3), (2, 0, 3)])
def test_gather(lib: Library, dtype: Any, dim: int, shape: tuple[int, ...]) -> None:
    array = random(SHAPE, dtype, gaps=True)
    index = np.random.default_rng(2).integers(0, SHAPE[dim], shape)
    part = array[tuple(slice(n) if at != dim % 3 else slice(None) for at, n in enumerate(shape))]
    expected = np.take_along_axis(part, index, dim)
    for of in ("int64", "int32"):
        out = lib.call("diopiGather", Out(shape, dtype), array, dim, with_gaps(index.astype(of)))
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gather_backward(lib: Library, dim: int) -> None:
    index = np.random.default_rng(2).integers(0, SHAPE[dim], (2, 3, 3))
    dout = random(index.shape, "float64")
    expected = np.zeros(SHAPE)
    for place in np.ndindex(index.shape):
        at = list(place)
        at[dim] = index[place]
        expected[tuple(at)] += dout[place]
    args = dout, np.zeros(SHAPE), dim, index
    close(lib.call("diopiGatherBackward", Out(SHAPE, "float64"), *args), expected)
    none = np.zeros((0, 4, 5), "int64")
    args = np.zeros(none.shape), np.zeros(SHAPE), 0, none
    assert not lib.call("diopiGatherBackward", Out(SHAPE, "float64"), *args).any()


@pytest.mark.parametrize("dim", [0, 1, -1])
# Operators multiply no complex numbers.
@pytest.mark.parametrize(
    "dtype, reduce",
    [
        (it, how)
        for it in ALL
        for how in ("", "add", "multiply")
        if how != "multiply" or it not in COMPLEX
    ],
)
def test_scatter(lib: Library, dtype: Any, dim: int, reduce: str) -> None:
    array = random(SHAPE, dtype, gaps=True)
    rng = np.random.default_rng(2)
    # Different indices along the dimension, as of equal ones any value may be written.
    order = np.argsort(rng.random(SHAPE), dim)
    index = order[:2, :3, :3]
    source = random(SHAPE, dtype, 4)
    values = np.array(1 if np.dtype(dtype) == bool else 2).astype(dtype)
    one = np.full(SHAPE, values)
    for given, name in [(source, "diopiScatter"), (one, "diopiScatterScalar")]:
        expected = array.copy()
        for place in np.ndindex(index.shape):
            at = list(place)
            at[dim] = index[place]
            own, new = expected[tuple(at)], given[place]
            expected[tuple(at)] = {"": new, "add": own + new, "multiply": own * new}[reduce]
        value = (
            given
            if name == "diopiScatter"
            else Number(values.item().real if dtype in COMPLEX else float(values), "float64")
        )
        out = lib.call(name, like(array), array, dim, value, index, reduce)
        close(out, expected)
        target = with_gaps(array)
        inplace = "diopiScatterInp" if name == "diopiScatter" else "diopiScatterInpScalar"
        lib.call(inplace, target, dim, value, index.astype("int32"), reduce)
        close(target, expected)


def test_gather_and_scatter_of_a_single_number(lib: Library) -> None:
    one, zero = np.float32(3), np.int64(0)
    assert lib.call("diopiGather", Out((), "float32"), one, 0, zero) == 3
    assert lib.call("diopiScatter", Out((), "float32"), one, -1, np.float32(4), zero, "") == 4
    assert lib.call("diopiScatterScalar", Out((), "float32"), one, 0, 2, zero, "add") == 5
    assert lib.call("diopiIndexSelect", Out((), "float32"), one, 0, zero) == 3
    assert lib.call("diopiIndexFillScalar", Out((), "float32"), one, 0, zero, 7) == 7


def test_wrong_scatters_fail(lib: Library) -> None:
    array, index = random((2, 2), "float32"), np.zeros((2, 2), "int64")
    for arguments, message in [
        ((0, array, index, "sum"), "neither"),
        ((0, array, index + 2, ""), "2"),
        ((2, array, index, ""), "no dimension"),
        ((0, array[:1], index, ""), "length 1"),
    ]:
        with pytest.raises(DiopiError, match=message):
            lib.call("diopiScatter", like(array), array, *arguments)
    with pytest.raises(DiopiError):
        lib.call("diopiGather", like(array), array, 0, index + 2)
