"""Masks and embeddings, against NumPy."""

from typing import Any

import numpy as np
import pytest

from arrays import ALL, FLOATS, REAL, close, random, with_gaps
from host import NEW, DiopiError, Library, Out, like

SHAPE = (3, 4)


def mask_of(shape: tuple[int, ...], seed: int = 3) -> Any:
    return np.random.default_rng(seed).random(shape) > 0.5


@pytest.mark.parametrize("shape", [SHAPE, (4,), (3, 1), ()])
@pytest.mark.parametrize("dtype", ALL)
def test_masked_fill(lib: Library, dtype: Any, shape: tuple[int, ...]) -> None:
    array, mask = random(SHAPE, dtype, gaps=True), np.asarray(mask_of(shape))
    value = np.array(3).astype(dtype)
    expected = np.where(mask, value, array)
    close(lib.call("diopiMaskedFill", like(array), array, mask, value), expected)
    close(lib.call("diopiMaskedFillScalar", like(array), array, mask, 3), expected)
    for name, given in [("diopiMaskedFillInp", value), ("diopiMaskedFillInpScalar", 3)]:
        target = with_gaps(array)
        lib.call(name, target, mask, given)
        close(target, expected)


def test_masked_fill_keeps_large_integers_and_takes_infinity(lib: Library) -> None:
    large = np.array([2**62 + 1, 5])
    mask = np.array([False, True])
    out = lib.call("diopiMaskedFill", like(large), large, mask, np.float64(2.5))
    assert out.tolist() == [2**62 + 1, 2]
    reals = np.zeros(2, "float32")
    out = lib.call("diopiMaskedFillScalar", like(reals), reals, mask, float("-inf"))
    assert out.tolist() == [0, -np.inf]
    with pytest.raises(DiopiError, match="one element"):
        lib.call("diopiMaskedFill", like(reals), reals, mask, reals)


@pytest.mark.parametrize("shape", [SHAPE, (4,), (3, 1), ()])
@pytest.mark.parametrize("dtype", ALL)
def test_masked_scatter(lib: Library, dtype: Any, shape: tuple[int, ...]) -> None:
    array, source = random(SHAPE, dtype, gaps=True), random((15,), dtype, 5)
    for mask in (np.asarray(mask_of(shape)), np.zeros(shape, bool), np.ones(shape, bool)):
        wide = np.broadcast_to(mask, SHAPE)
        expected = array.copy()
        expected[wide] = source[: wide.sum()]
        close(lib.call("diopiMaskedScatter", like(array), array, mask, source), expected)


def test_masked_scatter_of_too_few_elements_fails(lib: Library) -> None:
    array, mask = random(SHAPE, "float32"), np.ones(SHAPE, bool)
    with pytest.raises(DiopiError):
        lib.call("diopiMaskedScatter", like(array), array, mask, random((11,), "float32"))


@pytest.mark.parametrize("shape", [SHAPE, (4,), (3, 1), ()])
@pytest.mark.parametrize("dtype", ALL)
def test_masked_select(lib: Library, dtype: Any, shape: tuple[int, ...]) -> None:
    array, mask = random(SHAPE, dtype, gaps=True), np.asarray(mask_of(shape))
    expected = array[np.broadcast_to(mask, SHAPE)]
    np.testing.assert_array_equal(lib.call("diopiMaskedSelect", NEW, array, mask), expected)


@pytest.mark.parametrize("shape", [SHAPE, (4,), (3, 1)])
@pytest.mark.parametrize("dtype", FLOATS)
def test_masked_select_backward(lib: Library, dtype: Any, shape: tuple[int, ...]) -> None:
    array, mask = random(SHAPE, dtype), np.asarray(mask_of(shape))
    wide = np.broadcast_to(mask, SHAPE)
    dout = random((int(wide.sum()),), dtype)
    expected = np.zeros(SHAPE, dtype)
    expected[wide] = dout
    close(lib.call("diopiMaskedSelectBackward", like(array), dout, array, mask), expected)


@pytest.mark.parametrize("condition", ["bool", "uint8"])
@pytest.mark.parametrize("dtype", ALL)
def test_where(lib: Library, dtype: Any, condition: str) -> None:
    array, other = random(SHAPE, dtype, gaps=True), random((4,), dtype, 5)
    mask = mask_of((3, 1)).astype(condition)
    expected = np.where(mask, array, other)
    close(lib.call("diopiWhere", Out(SHAPE, dtype), mask, array, other), expected)


def test_where_promotes_and_ignores_what_is_not_chosen(lib: Library) -> None:
    mask = np.array([True, False])
    out = lib.call("diopiWhere", Out((2,), "float64"), mask, np.arange(2), np.array([np.nan, 0.5]))
    assert out.tolist() == [0, 0.5]
    out = lib.call(
        "diopiWhere", Out((2,), "complex64"), mask, np.ones(2, "complex64") * 1j, np.float32(2)
    )
    assert out.tolist() == [1j, 2]


@pytest.mark.parametrize("shape", [SHAPE, (5,), (2, 0), (), (2, 3, 2)])
@pytest.mark.parametrize("dtype", REAL)
def test_nonzero(lib: Library, dtype: Any, shape: tuple[int, ...]) -> None:
    array = random(shape, dtype, gaps=True) * np.asarray(mask_of(shape)).astype(dtype)
    out = lib.call("diopiNonzero", NEW, np.asarray(array))
    assert out.shape == (np.count_nonzero(array), len(shape)) and out.dtype == np.int64
    if shape:
        np.testing.assert_array_equal(out, np.argwhere(array))


@pytest.mark.parametrize("of", ["int64", "int32", "float32"])
@pytest.mark.parametrize("classes", [4, -1])
def test_one_hot(lib: Library, of: str, classes: int) -> None:
    index = np.array([[0, 3], [1, 1]])
    out = lib.call("diopiOneHot", Out((2, 2, 4), of), index, classes)
    np.testing.assert_array_equal(out, np.eye(4, dtype=of)[index])


def test_one_hot_of_wrong_indices_fails(lib: Library) -> None:
    for index, classes in [(4, 4), (-1, 4), (0, 5)]:
        with pytest.raises(DiopiError):
            lib.call("diopiOneHot", Out((1, 4), "int64"), np.array([index]), classes)


@pytest.mark.parametrize("of", ["int64", "int32"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_embedding(lib: Library, dtype: Any, of: str) -> None:
    table, index = random((5, 3), dtype, gaps=True), np.array([[0, 4], [2, 2]], of)
    args = table, index, 2, False, False
    out = lib.call("diopiEmbedding", Out((2, 2, 3), dtype), *args)
    np.testing.assert_array_equal(out, table[index])
    with pytest.raises(DiopiError):
        lib.call("diopiEmbedding", Out((1, 3), dtype), table, np.array([5]), -1, False, False)


@pytest.mark.parametrize("by_frequency", [False, True])
@pytest.mark.parametrize("padding", [-1, 2, 0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_embedding_backward(lib: Library, dtype: Any, padding: int, by_frequency: bool) -> None:
    index = np.array([[0, 4, 2], [2, 0, 2]])
    dout = random((2, 3, 3), dtype)
    expected = np.zeros((5, 3), "float64")
    for place in np.ndindex(index.shape):
        if index[place] != padding:
            count = np.sum(index == index[place]) if by_frequency else 1
            expected[index[place]] += dout[place].astype("float64") / count
    args = dout, index, 5, padding, by_frequency, False
    close(lib.call("diopiEmbeddingBackward", Out((5, 3), dtype), *args), expected)


@pytest.mark.parametrize("norm_type", [1.0, 2.0, float("inf")])
@pytest.mark.parametrize("dtype", FLOATS)
def test_embedding_renorm(lib: Library, dtype: Any, norm_type: float) -> None:
    table, index = random((6, 3), dtype, gaps=True), np.array([[0, 4], [2, 4]])
    table[2] = 0.25
    expected = table.astype("float64")
    for row in (0, 4, 2):
        size = np.linalg.norm(expected[row], norm_type)
        if size > 3:
            expected[row] *= 3 / (size + 1e-7)
    lib.call("diopiEmbeddingRenorm_", table, index, 3.0, norm_type)
    close(table, expected)
