"""Decompositions of matrices, and systems of equations with triangles."""

from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out, like
from samples import Draw, gradient, near
from tensors import Array

FLOATS = [np.dtype("float32"), np.dtype("float64")]


def positive_definite(draw: Draw, *shape: int) -> Array:
    x = draw(*shape, low=-1, high=1).astype("f8")
    return np.asarray(x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])).astype(draw.dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (1, 1), (2, 2, 4, 4), (0, 3, 3), (0, 0)], ids=str)
def test_cholesky_and_gradient(
    lib: Library, dtype: Any, upper: bool, shape: tuple[int, ...]
) -> None:
    draw = Draw(dtype, len(shape))
    x = positive_definite(draw, *shape)
    expected = np.linalg.cholesky(x.astype("f8"))
    expected = np.swapaxes(expected, -1, -2) if upper else expected
    read = np.triu(x) if upper else np.tril(x)
    factor, info = lib.call("diopiCholesky", like(x), Out(shape[:-2], "i4"), read, upper, True)
    near(factor, expected, 8)
    assert not info.any()
    dout = draw(*shape)

    def decomposed(x: Array) -> Array:
        factor = np.linalg.cholesky((x + np.swapaxes(x, -1, -2)) / 2)
        return np.swapaxes(factor, -1, -2) if upper else factor

    (reference,) = gradient(decomposed, [x], dout)
    near(
        lib.call("diopiCholeskyBackward", like(x), dout, factor, upper),
        reference,
        1e6 if dtype == "f8" else 20,
    )


def test_cholesky_of_indefinite_matrix(lib: Library) -> None:
    x = np.stack([np.eye(3), np.diag([1.0, -1.0, 1.0])])
    _, info = lib.call("diopiCholesky", like(x), Out((2,), "i4"), x, False, False)
    assert info.tolist() == [0, 2]
    with pytest.raises(DiopiError, match="matrix 1 is not positive definite"):
        lib.call("diopiCholesky", like(x), Out((2,), "i4"), x, False, True)
    with pytest.raises(DiopiError):
        lib.call("diopiCholesky", Out((2, 3), "f8"), Out((), "i4"), np.ones((2, 3)), False, False)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
@pytest.mark.parametrize("batches", [((), ()), ((2,), (2,)), ((3, 1), (2,)), ((0,), (0,))], ids=str)
def test_triangular_solve_and_gradients(
    lib: Library,
    dtype: Any,
    upper: bool,
    transpose: bool,
    unitriangular: bool,
    batches: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    draw = Draw(dtype)
    a = (draw(*batches[0], 3, 3, low=-1, high=1) + 2 * np.eye(3)).astype(dtype)
    b = draw(*batches[1], 3, 2)

    def triangle(a: Array) -> Array:
        a = np.triu(a) if upper else np.tril(a)
        if unitriangular:
            a = a * (1 - np.eye(3)) + np.eye(3)
        return np.swapaxes(a, -1, -2) if transpose else a

    def solved(a: Array, b: Array) -> Array:
        a, b = triangle(a), np.asarray(b)
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return np.linalg.solve(
            np.broadcast_to(a, (*batch, 3, 3)), np.broadcast_to(b, (*batch, 3, 2))
        )

    expected = solved(a.astype("f8"), b.astype("f8"))
    copy = Out((*expected.shape[:-2], 3, 3), dtype)
    flags = [upper, transpose, unitriangular]
    x, copied = lib.call("diopiTriangularSolve", Out(expected.shape, dtype), copy, b, a, *flags)
    near(x, expected, 8)
    np.testing.assert_array_equal(copied, np.broadcast_to(a, copied.shape))
    dout = draw(*expected.shape)
    da, db = gradient(solved, [a, b], dout)
    arguments = [dout, None, x, b, a, *flags]
    results = lib.call("diopiTriangularSolveBackward", like(b), like(a), *arguments)
    near(results[0], db, 1e6 if dtype == "f8" else 20)
    near(results[1], da, 1e6 if dtype == "f8" else 20)
    arguments[1] = np.ones((*expected.shape[:-2], 3, 3), dtype)
    _, more = lib.call("diopiTriangularSolveBackward", like(b), like(a), *arguments)
    near(more, results[1] + arguments[1].size / max(a.size, 1), 1e6 if dtype == "f8" else 20)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize(
    "shape", [(4, 3), (3, 4), (3, 3), (2, 2, 5, 2), (1, 1), (0, 3, 2)], ids=str
)
def test_qr(lib: Library, dtype: Any, mode: str, shape: tuple[int, ...]) -> None:
    x = Draw(dtype)(*shape)
    batch, rows, columns = shape[:-2], *shape[-2:]
    order = rows if mode == "complete" else min(rows, columns)
    q_shape = (0,) if mode == "r" else (*batch, rows, order)
    q, r = lib.call(
        "diopiLinalgQR", x, mode, Out(q_shape, dtype), Out((*batch, order, columns), dtype)
    )
    if mode == "r":
        near(r, np.linalg.qr(x.astype("f8"), "r"), 8)
        return
    expected = np.linalg.qr(x.astype("f8"), "complete" if mode == "complete" else "reduced")
    near(q, expected.Q, 8)
    near(r, expected.R, 8)


def test_qr_of_wrong_shapes_and_modes(lib: Library) -> None:
    x, q, r = np.ones((4, 3)), Out((4, 3), "f8"), Out((3, 3), "f8")
    with pytest.raises(DiopiError, match="mode"):
        lib.call("diopiLinalgQR", x, "full", q, r)
    with pytest.raises(DiopiError, match="`r` has the shape"):
        lib.call("diopiLinalgQR", x, "complete", q, r)
    with pytest.raises(DiopiError, match="not that of matrices"):
        lib.call("diopiLinalgQR", np.ones(3), "reduced", q, r)
