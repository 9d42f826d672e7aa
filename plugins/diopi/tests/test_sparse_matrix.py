"""Products of sparse matrices."""

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from host import DiopiError, Library, Out, Sparse
from samples import REAL, Draw, near
from tensors import Array

INDICES = ["i4", "i8"]
NO_IMPLEMENT = 13


def parts(draw: Draw, kind: str) -> tuple[tuple[int, int], list[Array], Array]:
    """Returns the shape, the parts and the elements of a matrix with a row without elements."""
    elements = np.array(draw(6, 5), "f8") * (draw.rng.random((6, 5)) < 0.4)
    elements[2] = 0
    matrix = csr_array(elements)
    lists = [
        matrix.indptr.astype(kind),
        matrix.indices.astype(kind),
        matrix.data.astype(draw.dtype),
    ]
    return (6, 5), lists, elements


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_product(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    shape, lists, elements = parts(draw, kind)
    for width in (3, 0):
        dense = draw(5, width)
        out = lib.call("diopiSpMM", Out((6, width), dtype), Sparse(shape, *lists), dense)
        near(out, elements @ dense.astype("f8"), 2)


def test_equal_places_are_added(lib: Library) -> None:
    lists = np.array([0, 3]), np.array([1, 0, 1]), np.array([1, 2, 4], "f4")
    out = lib.call("diopiSpMM", Out((1, 2), "f4"), Sparse((1, 2), *lists), np.eye(2, dtype="f4"))
    assert out.tolist() == [[2, 5]]


def test_product_of_wrong_arguments_fails(lib: Library) -> None:
    shape, lists, _ = parts(Draw("f4"), "i8")
    dense, out = np.ones((5, 3), "f4"), Out((6, 3), "f4")
    with pytest.raises(DiopiError, match="`input` is dense") as caught:
        lib.call("diopiSpMM", out, np.ones((6, 5), "f4"), dense)
    assert caught.value.code == NO_IMPLEMENT
    for missing in range(3):
        # A matrix in another form, such as coordinates, has not all parts of compressed rows.
        other = Sparse(shape, *(None if n == missing else part for n, part in enumerate(lists)))
        with pytest.raises(DiopiError, match="another form than compressed rows") as caught:
            lib.call("diopiSpMM", out, other, dense)
        assert caught.value.code == NO_IMPLEMENT
    with pytest.raises(DiopiError, match=r"\[6, 5\] and \[4, 3\]"):
        lib.call("diopiSpMM", out, Sparse(shape, *lists), dense[:4])
    with pytest.raises(DiopiError, match=r"\[6, 3\]"):
        lib.call("diopiSpMM", Out((5, 3), "f4"), Sparse(shape, *lists), dense)
    for part, place, number in ((1, 0, 5), (1, 2, -1), (0, 6, 99), (0, 0, -1), (0, 3, 0)):
        wrong = [array.copy() for array in lists]
        wrong[part][place] = number
        with pytest.raises(DiopiError, match="index"):
            lib.call("diopiSpMM", out, Sparse(shape, *wrong), dense)
    with pytest.raises(DiopiError, match="`starts` has"):
        wrong = [lists[0] - np.array([0, 0, 0, 0, 0, 0, 1]), *lists[1:]]
        lib.call("diopiSpMM", out, Sparse(shape, *wrong), dense)


def test_other_operators_refuse_sparse_tensors(lib: Library) -> None:
    shape, lists, _ = parts(Draw("f4"), "i8")
    matrix, dense = Sparse(shape, *lists), np.ones((5, 3), "f4")
    for name, arguments in (
        ("diopiMm", (matrix, dense)),
        ("diopiAbs", (matrix,)),
        ("diopiSpMM", (matrix, matrix)),
    ):
        with pytest.raises(DiopiError, match="sparse tensor") as caught:
            lib.call(name, Out((6, 3), "f4"), *arguments)
        assert caught.value.code == NO_IMPLEMENT
