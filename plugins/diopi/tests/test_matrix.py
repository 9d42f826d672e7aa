"""Products and distances of matrices."""

from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from host import DiopiError, Library, Number, Out, like
from samples import REAL, Draw, gradient, near
from tensors import Array

TYPES = [*REAL, np.dtype("int64"), np.dtype("int32")]


def wide(*arrays: Array) -> list[Array]:
    """Returns copies in which products are exact enough."""
    return [array.astype("i8" if array.dtype.kind in "iu" else "f8") for array in arrays]


def product(a: Array, b: Array) -> Array:
    left, right = wide(a, b)
    return np.asarray(np.matmul(left, right))


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("n, m, p", [(3, 4, 5), (1, 7, 2), (0, 3, 2), (2, 0, 3), (33, 40, 35)])
def test_mm_is_product(lib: Library, dtype: Any, n: int, m: int, p: int) -> None:
    draw = Draw(dtype, n)
    a, b = draw(n, m), draw(m, p)
    near(lib.call("diopiMm", Out((n, p), dtype), a, b), product(a, b), 4)
    a, b = draw(3, n, m), draw(3, m, p)
    near(lib.call("diopiBmm", Out((3, n, p), dtype), a, b), product(a, b), 4)


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 1, 2, 3), (6, 3, 2)),
    ((2, 3), (5, 3, 2)),
    ((4,), (2, 4, 3)),
    ((2, 0, 3), (3, 2)),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("left, right", SHAPES, ids=str)
def test_matmul_broadcasts(lib: Library, dtype: Any, left: tuple[int], right: tuple[int]) -> None:
    draw = Draw(dtype)
    a, b = draw(*left), draw(*right)
    expected = product(a, b)
    near(lib.call("diopiMatmul", Out(expected.shape, dtype), a, b), expected, 4)
    if dtype.kind in "iu":
        return
    dout = draw(*expected.shape)
    da, db = gradient(np.matmul, [a, b], dout)
    results = lib.call("diopiMatmulBackward", like(a), like(b), dout, a, b)
    for actual, result in zip(results, (da, db), strict=True):
        near(actual, result, 1e4 if dtype == np.float64 else 8)
    near(lib.call("diopiMatmulBackward", None, like(b), dout, a, b), results[1], 1)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("beta, alpha", [(1, 1), (2, -3), (0, 2)])
@pytest.mark.parametrize("shape", [(3, 5), (5,), (3, 1), ()], ids=str)
def test_addmm_adds_product(
    lib: Library, dtype: Any, beta: int, alpha: int, shape: tuple[int]
) -> None:
    draw = Draw(dtype)
    summand, a, b = draw(*shape), draw(3, 4), draw(4, 5)
    if beta == 0 and dtype.kind not in "iu":
        summand = np.full(shape, np.nan).astype(dtype)
    expected = alpha * product(a, b) + (beta * wide(summand)[0] if beta else 0)
    for kind in [int, float]:
        numbers = [Number(kind(beta), kind), Number(kind(alpha), kind)]
        near(lib.call("diopiAddmm", Out((3, 5), dtype), summand, a, b, *numbers), expected, 4)
    a, b = draw(2, 3, 4), draw(2, 4, 5)
    expected = alpha * product(a, b) + (beta * wide(summand)[0] if beta else 0)
    result = lib.call(
        "diopiBaddbmm", Out((2, 3, 5), dtype), summand, a, b, float(beta), float(alpha)
    )
    near(result, expected, 4)
    full = np.broadcast_to(summand, (2, 3, 5)).copy()
    lib.call("diopiBaddbmmInp", full, a, b, float(beta), float(alpha))
    np.testing.assert_array_equal(full, result)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4), (0, 4)], ids=str)
@pytest.mark.parametrize("has_bias", [False, True])
def test_linear_and_gradients(lib: Library, dtype: Any, shape: tuple[int], has_bias: bool) -> None:
    draw = Draw(dtype)
    x, weight, bias = draw(*shape), draw(5, 4), draw(5)
    dims = (*shape[:-1], 5)
    expected = product(x, weight.T) + (wide(bias)[0] if has_bias else 0)
    near(
        lib.call("diopiLinear", Out(dims, dtype), x, weight, bias if has_bias else None),
        expected,
        4,
    )
    dout = draw(*dims)
    references = gradient(lambda x, weight, bias: x @ weight.T + bias, [x, weight, bias], dout)
    outs = [like(x), like(weight), like(bias) if has_bias else None]
    results = lib.call("diopiLinearBackward", *outs, dout, x, weight)
    for actual, reference in zip(results, references, strict=False):
        near(actual, reference, 1e4 if dtype == np.float64 else 8)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf])
def test_cdist_and_gradient(lib: Library, p: float) -> None:
    draw = Draw("float64")
    a, b = draw(2, 4, 3), draw(2, 5, 3)
    a[0, 1] = b[0, 2]
    metric: dict[str, Any] = (
        {"metric": "chebyshev"} if p == np.inf else {"metric": "minkowski", "p": p}
    )
    if p == 0:
        expected = np.count_nonzero(a[:, :, None] != b[:, None], -1).astype("f8")
    else:
        expected = np.stack([cdist(one, other, **metric) for one, other in zip(a, b, strict=True)])
    for mode in [None, 0, 1, 2]:
        near(lib.call("diopiCdist", Out((2, 4, 5), "f8"), a, b, p, mode), expected)
    single = lib.call(
        "diopiCdist", Out((4, 5), "f4"), a[0].astype("f4"), b[0].astype("f4"), p, None
    )
    near(single, expected[0], 4)

    def distances(a: Array) -> Any:
        differences = np.abs(a[:, :, None] - b[:, None])
        if p == 0:
            return np.zeros(expected.shape)
        return np.max(differences, -1) if p == np.inf else np.sum(differences**p, -1) ** (1 / p)

    dout = draw(2, 4, 5)
    # Equal rows have no gradient; the operator gives 0.
    dout[0, 1, 2] = 0
    result = lib.call("diopiCdistBackward", like(a), dout, a, b, p, expected)
    near(result, gradient(distances, [a], dout)[0], 1e7)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 3.0, np.inf])
def test_cdist_of_many_rows_and_its_gradient(lib: Library, dtype: Any, p: float) -> None:
    # More rows and columns than are computed at once.
    draw = Draw(dtype)
    a, b = draw(3, 600, low=-0.05, high=0.05), draw(40, 600, low=-0.05, high=0.05)
    metric: dict[str, Any] = (
        {"metric": "chebyshev"} if p == np.inf else {"metric": "minkowski", "p": p}
    )
    wide = [array.astype("f8") for array in (a, b)]
    expected = cdist(*wide, **metric)
    out = lib.call("diopiCdist", Out((3, 40), dtype), a, b, p, None)
    near(out, expected, 2)
    dout = draw(3, 40, low=-0.1, high=0.1)
    differences = wide[0][:, None] - wide[1]
    sizes, norms = np.abs(differences), expected[..., None]
    slopes = np.zeros(sizes.shape)
    # Equal elements have no gradient.
    np.power(sizes / norms, 0 if p == np.inf else p - 1, out=slopes, where=sizes > 0)
    slopes *= np.sign(differences) * (sizes == norms if p == np.inf else 1)
    reference = (dout.astype("f8")[..., None] * slopes).sum(1)
    result = lib.call("diopiCdistBackward", like(a), dout, a, b, p, expected.astype(dtype))
    near(result, reference, 20)


def test_cdist_close_rows_are_exact(lib: Library) -> None:
    # A product of matrices would lose all digits.
    a = np.full((30, 8), 1000, "f4")
    b = a + np.float32(2**-10)
    out = lib.call("diopiCdist", Out((30, 30), "f4"), a, b, 2.0, 1)
    np.testing.assert_allclose(out, np.sqrt(8) * 2**-10, 1e-6)


def test_cdist_batches_are_broadcast(lib: Library) -> None:
    draw = Draw("float64")
    a, b, dout = draw(1, 4, 3), draw(2, 5, 3), draw(2, 4, 5)
    expected = np.stack([cdist(a[0], other) for other in b])
    near(lib.call("diopiCdist", like(dout), a, b, 2.0, None), expected)
    (reference,) = gradient(
        lambda a: np.sqrt(((a[:, :, None] - b[:, None]) ** 2).sum(-1)), [a], dout
    )
    near(lib.call("diopiCdistBackward", like(a), dout, a, b, 2.0, expected), reference, 1e7)


def test_cdist_of_no_rows_and_columns(lib: Library) -> None:
    draw = Draw("float32")
    assert lib.call("diopiCdist", Out((0, 2), "f4"), draw(0, 3), draw(2, 3), 2.0, None).shape == (
        0,
        2,
    )
    near(
        lib.call("diopiCdist", Out((3, 2), "f4"), draw(3, 0), draw(2, 0), 2.0, None),
        np.zeros((3, 2)),
    )


@pytest.mark.parametrize(
    "name, shapes, rest",
    [
        ("diopiMm", [(2, 3), (2, 3), (4, 3)], []),
        ("diopiMatmul", [(2, 2), (2, 3), (4, 2)], []),
        ("diopiLinear", [(2, 5), (2, 3), (5, 4), (5,)], []),
        ("diopiCdist", [(2, 2), (2, 3), (2, 4)], [2.0, None]),
        ("diopiCdist", [(2, 2), (2, 3), (2, 3)], [-1.0, None]),
        ("diopiCdist", [(2, 2), (2, 3), (2, 3)], [1.0, 3]),
        ("diopiCdist", [(2, 2), (3,), (3,)], [1.0, None]),
    ],
)
def test_wrong_shapes_are_errors(
    lib: Library, name: str, shapes: list[tuple[int]], rest: list[Any]
) -> None:
    out, *inputs = shapes
    draw = Draw("float32")
    with pytest.raises(DiopiError) as error:
        lib.call(name, Out(out, "f4"), *(draw(*shape) for shape in inputs), *rest)
    assert error.value.code != 0
    assert error.value.message
