"""Products, standard deviations and norms of complex numbers, against NumPy."""

from typing import Any

import numpy as np
import pytest

from arrays import COMPLEX, close, random
from host import Library, Number, Out, like
from tensors import Array

SHAPE = (3, 4, 5)
DIMS: list[Any] = [(), (1,), (0, 2), (-1,)]
REAL = {"complex64": "float32", "complex128": "float64"}
ORDERS = [0, 1, 2, 3.5, float("inf"), -float("inf")]


@pytest.mark.parametrize("shape", [(3, 2), (1, 7), (2, 5, 3), ()])
@pytest.mark.parametrize("dim", [None, 0, -1])
@pytest.mark.parametrize("dtype", COMPLEX)
def test_product(lib: Library, dtype: str, dim: int | None, shape: tuple[int, ...]) -> None:
    array = random(shape, dtype, gaps=True) / 4
    expected = np.prod(array.astype("complex128"), dim if shape else None)
    close(lib.call("diopiProd", Out(np.shape(expected), dtype), array, dim), expected)


@pytest.mark.parametrize("dtype", COMPLEX)
def test_product_of_nothing_is_one(lib: Library, dtype: str) -> None:
    array = np.zeros((2, 0), dtype)
    assert lib.call("diopiProd", Out((2,), dtype), array, 1).tolist() == [1, 1]
    assert lib.call("diopiProd", Out((), dtype), array, None) == 1


@pytest.mark.parametrize("correction", [None, 0, 2.5])
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_std(lib: Library, dtype: str, dims: Any, correction: float | None) -> None:
    array = random(SHAPE, dtype, gaps=True)
    ddof: Any = 1 if correction is None else correction
    expected = np.std(array.astype("complex128"), dims or None, ddof=ddof)
    out = Out(np.shape(expected), REAL[dtype])
    close(lib.call("diopiStd", out, array, dims, correction), expected)


def test_std_of_a_number(lib: Library) -> None:
    array = np.array(3 + 4j, "complex64")
    assert lib.call("diopiStd", Out((), "float32"), array, (), 0) == 0


def norm(sizes: Array, order: float, dims: Any) -> Array:
    axis = dims or None
    if order == 0:
        return np.asarray(np.sum(sizes != 0, axis, keepdims=True, dtype="float64"))
    if np.isinf(order):
        return np.asarray((np.max if order > 0 else np.min)(sizes, axis, keepdims=True))
    return np.asarray(np.sum(sizes**order, axis, keepdims=True) ** (1 / order))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dims", DIMS)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_norms(lib: Library, dtype: str, dims: Any, order: float) -> None:
    array = random(SHAPE, dtype, gaps=True)
    expected = norm(abs(array.astype("complex128")), order, dims)
    out = Out(expected.shape, REAL[dtype])
    close(lib.call("diopiNorm", out, array, order, dims), expected)
    order_number = Number(order, "float64")
    close(lib.call("diopiLinalgVecNorm", out, array, order_number, dims, True), expected)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dims", DIMS)
def test_norm_backward(lib: Library, dims: Any, order: float) -> None:
    rng = np.random.default_rng(1)
    array = rng.normal(size=SHAPE) + 1j * rng.normal(size=SHAPE)
    array[0, 0, 0] = 0
    # The result of the library: an infinite norm is compared with the absolute values.
    shape = norm(abs(array), order, dims).shape
    value = lib.call("diopiNorm", Out(shape, "float64"), array, order, dims)
    dout = random(value.shape, "float64", 5) + 0.3
    grad = lib.call("diopiNormBackward", like(array), dout, array, value, dims, order)
    expected = np.zeros(SHAPE, "complex128")
    # By the real and the imaginary part, as PyTorch's gradients of complex numbers.
    for place in np.ndindex(SHAPE):
        for step in (1e-6, 1e-6j):
            ends = []
            for change in (step, -step):
                near = array.copy()
                near[place] += change
                ends.append(norm(abs(near), order, dims))
            slope = np.sum(dout * (ends[0] - ends[1])) / 2e-6
            expected[place] += slope * (1 if step == 1e-6 else 1j)
    # Where there is no slope the gradient is 0.
    expected[0, 0, 0] = 0
    expected = np.zeros(SHAPE) if order == 0 else expected
    np.testing.assert_allclose(grad, expected, rtol=1e-5, atol=1e-5)
