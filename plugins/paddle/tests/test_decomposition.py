"""Decompositions and systems of equations: results and gradients against Paddle's CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from paddle.base import core

from host import DEVICE, RELEASE, normal, on_both
from kernel_case import Array, Case, check
from test_operators import kernels_of_the_spec


def matrices(*shape: int, seed: int = 0) -> Array:
    return normal(*shape, seed=seed, dtype="float64")


def numbers(*shape: int) -> Array:
    return matrices(*shape) + 1j * matrices(*shape, seed=1)


SQUARE = matrices(2, 4, 4) + 3 * np.eye(4)
COMPLEX = numbers(2, 3, 3) + 2 * np.eye(3)
TALL, WIDE = matrices(2, 5, 3), matrices(2, 3, 5)
POSITIVE = SQUARE @ np.swapaxes(SQUARE, -1, -2)
RIGHT = matrices(2, 4, 3, seed=2)


def symmetric(x: Any) -> Any:
    """A Hermitian matrix, so that the gradients of both of its triangles are compared."""
    order = [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2]
    return (x + paddle.conj(paddle.transpose(x, order))) / 2


def linalg(name: str, *arguments: Any, **attributes: Any) -> Any:
    return lambda *x: getattr(paddle.linalg, name)(*x, *arguments, **attributes)


CASES: dict[str, Case] = {
    "inverse": Case(linalg("inv"), (SQUARE,)),
    "solve": Case(linalg("solve"), (SQUARE, RIGHT)),
    "solve of a vector": Case(linalg("solve"), (SQUARE[0], RIGHT[0, :, 0])),
    "solve of one matrix": Case(linalg("solve"), (SQUARE[:1], RIGHT)),
    "determinant": Case(linalg("det"), (SQUARE,)),
    "determinant of one": Case(linalg("det"), (SQUARE[0],)),
    "slogdet": Case(linalg("slogdet"), (SQUARE,)),
    "cholesky": Case(linalg("cholesky"), (POSITIVE,), double=1e-9),
    "cholesky, upper": Case(linalg("cholesky", upper=True), (POSITIVE,), double=1e-9),
    "cholesky_solve": Case(linalg("cholesky_solve"), (RIGHT, np.linalg.cholesky(POSITIVE))),
    "cholesky_solve, upper": Case(
        linalg("cholesky_solve", upper=True),
        (RIGHT, np.swapaxes(np.linalg.cholesky(POSITIVE), -1, -2).copy()),
    ),
    **{
        f"triangular_solve, {upper}, {transpose}, {unit}": Case(
            linalg("triangular_solve", upper, transpose, unit), (SQUARE, RIGHT)
        )
        for upper in (True, False)
        for transpose in (True, False)
        for unit in (False,)
    },
    # Paddle's own gradients by a triangle whose diagonal is taken to be 1 are as large as 1e250.
    **{
        f"triangular_solve with units, {upper}, {transpose}": Case(
            lambda x, y, flags=(upper, transpose, True): paddle.linalg.triangular_solve(
                x.detach(), y, *flags
            ),
            (SQUARE / 4, RIGHT),
        )
        for upper in (True, False)
        for transpose in (True, False)
    },
    "triangular_solve of one matrix": Case(linalg("triangular_solve"), (SQUARE[:1], RIGHT)),
    **{
        f"lu, {name}": Case(lambda x: paddle.linalg.lu(x)[0], (x,), tolerance=1e-4)
        for name, x in (("square", SQUARE), ("tall", TALL), ("wide", WIDE))
    },
    "pivots": Case(lambda x: paddle.linalg.lu(x, get_infos=True)[1:], (SQUARE[:, ::-1].copy(),)),
    **{
        f"lu_unpack, {name}": Case(
            lambda x: paddle.linalg.lu_unpack(*paddle.linalg.lu(x)), (x,), tolerance=1e-4
        )
        for name, x in (("square", SQUARE), ("tall", TALL), ("wide", WIDE))
    },
    **{
        f"matrix_power {n}": Case(linalg("matrix_power", n), (SQUARE,), tolerance=1e-4)
        for n in (-3, -1, 0, 1, 2, 5)
    },
    "multi_dot": Case(lambda *x: paddle.linalg.multi_dot(x), (TALL[0], WIDE[0], TALL[1], WIDE[1])),
    "multi_dot of vectors": Case(
        lambda *x: paddle.linalg.multi_dot(x), (TALL[0, :, 0], TALL[0], WIDE[0], WIDE[0, 0])
    ),
    "qr": Case(linalg("qr"), (TALL,), tolerance=1e-4),
    "qr, square": Case(linalg("qr"), (SQUARE,), tolerance=1e-4),
    "qr, wide": Case(linalg("qr"), (WIDE,), tolerance=1e-4),
    "qr, complete": Case(lambda x: [y.detach() for y in paddle.linalg.qr(x, "complete")], (TALL,)),
    "qr, r": Case(lambda x: paddle.linalg.qr(x, "r").detach(), (TALL,)),
    # Paddle's own gradient of a batch differs from differences.
    "eigvalsh": Case(lambda x: paddle.linalg.eigvalsh(symmetric(x)), (SQUARE[0],)),
    "eigh": Case(
        lambda x: [
            y if n == 0 else y.abs() for n, y in enumerate(paddle.linalg.eigh(symmetric(x)))
        ],
        (SQUARE[0],),
        tolerance=1e-4,
    ),
    "eigh of the upper triangle": Case(
        lambda x: paddle.linalg.eigh(x, UPLO="U")[0].detach(), (SQUARE,), tolerance=1e-4
    ),
    "singular values": Case(lambda x: paddle.linalg.svd(x)[1], (TALL,)),
    "singular vectors": Case(
        lambda x: [y.abs() for y in paddle.linalg.svd(x)], (TALL,), tolerance=1e-4
    ),
    "singular vectors of a wide matrix": Case(
        lambda x: [y.abs() for y in paddle.linalg.svd(x)], (WIDE,), tolerance=1e-4
    ),
    "pinv": Case(linalg("pinv"), (TALL,), tolerance=1e-4),
    "norm, nuclear": Case(lambda x: paddle.linalg.norm(x, "nuc", axis=[1, 2]), (TALL,))
    if RELEASE >= (3, 0)
    else Case(lambda x: paddle.linalg.svd(x)[1].sum(-1), (TALL,)),
}

# In 2.6 ranks have another type, and the determinants of no matrices the shape of the matrices.
if RELEASE >= (3, 0):
    CASES |= {
        "rank": Case(lambda x: paddle.linalg.matrix_rank(x.detach()), (TALL @ WIDE,)),
        "rank, tolerances": Case(
            lambda x, y: paddle.linalg.matrix_rank(x.detach(), y.detach()),
            (TALL, np.array([0.1, 3.0])),
        ),
        "rank, hermitian": Case(
            lambda x: paddle.linalg.matrix_rank(x.detach(), hermitian=True), (POSITIVE,)
        ),
        "matrix of no rows": Case(lambda x: paddle.linalg.det(x).detach(), (np.zeros((0, 3, 3)),)),
        "inverse of complex matrices": Case(linalg("inv"), (COMPLEX,)),
        "determinant of complex matrices": Case(linalg("det"), (COMPLEX,)),
        "triangular_solve of complex matrices": Case(
            linalg("triangular_solve", transpose=True), (COMPLEX, numbers(2, 3, 2))
        ),
        "svdvals": Case(lambda x: paddle.linalg.svdvals(x), (TALL,)),
    }


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


@pytest.mark.parametrize("x", [SQUARE, COMPLEX], ids=["real", "complex"])
def test_eigenvectors_are_multiplied_by_eigenvalues(x: Array) -> None:
    w, v = (y.numpy() for y in paddle.linalg.eig(paddle.to_tensor(x)))
    np.testing.assert_allclose(x @ v, v * w[:, None], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(v, axis=1), 1, atol=1e-12)
    values = paddle.linalg.eigvals(paddle.to_tensor(x)).numpy()
    for one, other, mine in zip(w, values, np.linalg.eigvals(x)):
        np.testing.assert_allclose(np.sort_complex(one), np.sort_complex(mine), atol=1e-12)
        np.testing.assert_allclose(np.sort_complex(other), np.sort_complex(mine), atol=1e-12)


def test_complex_factors_make_the_matrix() -> None:
    x = np.concatenate([COMPLEX, numbers(2, 3, 2)], -1)
    tensor = paddle.to_tensor(x)
    if RELEASE >= (3, 1):
        u, s, vh = (y.numpy() for y in paddle.linalg.svd(tensor, full_matrices=True))
        np.testing.assert_allclose(u * s[:, None] @ vh[:, :3], x, atol=1e-12)
        np.testing.assert_allclose(np.conj(np.swapaxes(u, 1, 2)) @ u, [np.eye(3)] * 2, atol=1e-12)
        np.testing.assert_allclose(vh @ np.conj(np.swapaxes(vh, 1, 2)), [np.eye(5)] * 2, atol=1e-12)
    if RELEASE >= (3, 0):
        q, r = (y.numpy() for y in paddle.linalg.qr(tensor))
        np.testing.assert_allclose(q @ r, x, atol=1e-12)
        np.testing.assert_allclose(np.conj(np.swapaxes(q, 1, 2)) @ q, [np.eye(3)] * 2, atol=1e-12)
    hermitian = COMPLEX + np.conj(np.swapaxes(COMPLEX, 1, 2))
    w, v = (y.numpy() for y in paddle.linalg.eigh(paddle.to_tensor(hermitian)))
    np.testing.assert_allclose(hermitian @ v, v * w[:, None], atol=1e-12)


GRADIENTS: dict[str, tuple[Any, Array]] = {
    "eigenvalues": (lambda x: paddle.linalg.eigvalsh(symmetric(x)), SQUARE),
    "eigh of a batch": (lambda x: paddle.linalg.eigh(symmetric(x))[0], SQUARE),
    "eigh": (lambda x: paddle.linalg.eigh(symmetric(x))[1].abs(), SQUARE[0]),
    "svd": (lambda x: paddle.linalg.svd(x)[0].abs(), TALL[0]),
    "svd of a wide matrix": (lambda x: paddle.linalg.svd(x)[2].abs(), WIDE[0]),
    "lu of a tall matrix": (lambda x: paddle.linalg.lu(x)[0], TALL[0]),
    "lu of a wide matrix": (lambda x: paddle.linalg.lu(x)[0], WIDE[0]),
    "solve": (lambda x: paddle.linalg.solve(x, paddle.to_tensor(RIGHT[0])), SQUARE[0]),
    "cholesky": (lambda x: paddle.linalg.cholesky(symmetric(x)), POSITIVE[0]),
    **{
        f"triangle with units, {upper}, {transpose}": (
            lambda x, flags=(upper, transpose, True): paddle.linalg.triangular_solve(
                x, paddle.to_tensor(RIGHT[0]), *flags
            ),
            SQUARE[0],
        )
        for upper in (True, False)
        for transpose in (True, False)
    },
    "matrix_power": (lambda x: paddle.linalg.matrix_power(x, -2), SQUARE[0]),
}


# Paddle 2.6 crashes if one of the outputs has no gradient, also on its CPU. Paddle converts no
# complex gradient to the gradient of a real input on a custom device.
if RELEASE >= (3, 0):
    GRADIENTS |= {
        "qr of a wide matrix": (lambda x: paddle.linalg.qr(x)[1], WIDE[0]),
        "eig": (lambda x: paddle.linalg.eig(x)[0].real(), COMPLEX[0]),
        "eigenvectors": (lambda x: paddle.linalg.eig(x)[1].abs(), COMPLEX[0]),
    }


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_differences(name: str) -> None:
    compute, x = GRADIENTS[name]

    def weighted(x: Array) -> tuple[Any, Any]:
        tensor = paddle.to_tensor(x, stop_gradient=False)
        out = compute(tensor)
        return tensor, (out * paddle.to_tensor(normal(*out.shape, seed=7, dtype="float64"))).sum()

    tensor, total = weighted(x)
    total.backward()
    gradient = tensor.grad.numpy()
    step = 1e-6
    for place in np.ndindex(*x.shape):
        moved = np.zeros_like(x)
        moved[place] = step
        slope = (weighted(x + moved)[1] - weighted(x - moved)[1]) / (2 * step)
        np.testing.assert_allclose(gradient[place].real, float(slope), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "lu"])
def test_singular_matrices_end_as_on_the_cpu(name: str) -> None:
    """With an error, or with the same numbers."""
    singular = np.array([[1.0, 2.0], [2.0, 4.0]])

    def run() -> Any:
        try:
            found = getattr(paddle.linalg, name)(paddle.to_tensor(singular))
        except Exception:
            return "refused"
        found = found if isinstance(found, (tuple, list)) else [found]
        return [y.numpy() for y in found]

    ours, theirs = on_both(run)
    assert (ours == "refused") == (theirs == "refused"), (ours, theirs)
    if ours != "refused":
        for mine, other in zip(ours, theirs):
            np.testing.assert_array_equal(mine, other)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_that_of_float32_rounded(dtype: str) -> None:
    x = paddle.to_tensor(SQUARE).astype(dtype)
    wide = x.astype("float32")
    for mine, wanted in [
        (paddle.linalg.det(x), paddle.linalg.det(wide)),
        (paddle.linalg.multi_dot([x[0], x[1]]), paddle.linalg.multi_dot([wide[0], wide[1]])),
    ]:
        assert str(mine.dtype).endswith(dtype)
        np.testing.assert_allclose(
            mine.astype("float32").numpy(),
            wanted.astype(dtype).astype("float32").numpy(),
            rtol=1e-2,
        )


@pytest.mark.parametrize("kernel", kernels_of_the_spec("decomposition"))
def test_kernels_take_the_types_that_the_cpu_takes(kernel: str) -> None:
    registered = core._get_registered_phi_kernels("all")[kernel]
    keys = [key.strip("()").split(", ") for key in registered]
    ours = {ty for place, _, ty in keys if place == DEVICE}
    cpus = {ty for place, _, ty in keys if place == "CPU"}
    # The eigenvalues of real matrices are complex too.
    unused = {"float32", "float64"} if kernel == "eig_grad" else set()
    assert cpus - unused <= ours
