"""Indexing and assignment by index: results and gradients against Paddle's CPU."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import RELEASE, normal
from kernel_case import Array, Case, check

MATRIX = normal(4, 5)
CUBE = normal(3, 4, 5, seed=1)
ROWS = np.array([2, 0, 2])
DISTINCT = np.array([3, 0, 1])
PLACES = np.array([[0, 1], [2, 3], [0, 1]])
EACH = np.array([[0, 1, 4], [3, 3, 2], [0, 0, 0], [4, 2, 1]])
APART = np.array([[0, 1, 4], [3, 1, 2], [0, 2, 1], [4, 2, 1]])
MASK = MATRIX > 0

CASES: dict[str, Case] = {
    "gather": Case(paddle.gather, (MATRIX, ROWS)),
    "gather of columns": Case(lambda x, index: paddle.gather(x, index, axis=1), (MATRIX, ROWS)),
    "gather with a column of indices": Case(
        lambda x, index: paddle.gather(x, index), (MATRIX, ROWS[:, None])
    ),
    "gather_nd": Case(paddle.gather_nd, (CUBE, PLACES)),
    "gather_nd of elements": Case(paddle.gather_nd, (MATRIX, PLACES)),
    "index_select": Case(lambda x, index: paddle.index_select(x, index, axis=1), (CUBE, ROWS)),
    "index_sample": Case(paddle.index_sample, (MATRIX, EACH)),
    "take_along_axis": Case(lambda x, index: paddle.take_along_axis(x, index, 1), (MATRIX, EACH)),
    "masked_select": Case(paddle.masked_select, (MATRIX, MASK)),
    "nonzero": Case(paddle.nonzero, (MASK,)),
    "nonzero of numbers": Case(lambda x: paddle.nonzero(x.detach()), (MATRIX * (MATRIX > 0),)),
    "one_hot": Case(lambda x: F.one_hot(x, 5), (EACH,)),
    "scatter": Case(paddle.scatter, (MATRIX, DISTINCT, normal(3, 5, seed=2))),
    "scatter of sums": Case(
        lambda x, index, new: paddle.scatter(x, index, new, overwrite=False),
        (MATRIX, ROWS, normal(3, 5, seed=2)),
    ),
    "scatter_nd_add": Case(paddle.scatter_nd_add, (MATRIX, PLACES, normal(3, seed=3))),
    "scatter_nd": Case(
        lambda index, new: paddle.scatter_nd(index, new, [4, 5]), (PLACES, normal(3))
    ),
    "index_add": Case(
        lambda x, index, new: paddle.index_add(x, index, 0, new),
        (MATRIX, ROWS, normal(3, 5, seed=4)),
    ),
    "index_put": Case(
        lambda x, rows, columns, new: paddle.index_put(x, (rows, columns), new),
        (MATRIX, DISTINCT, DISTINCT, normal(3, seed=5)),
    ),
    "index_put of rows": Case(
        lambda x, rows, new: paddle.index_put(x, (rows,), new), (MATRIX, DISTINCT, normal(3, 5))
    ),
    "index_put of sums": Case(
        lambda x, rows, new: paddle.index_put(x, (rows,), new, accumulate=True),
        (MATRIX, ROWS, normal(3, 5)),
    ),
    "index_put by a mask": Case(
        lambda x, mask, new: paddle.index_put(x, (mask,), new), (MATRIX, MASK, normal(1, seed=6))
    ),
    "put_along_axis": Case(
        lambda x, index, new: paddle.put_along_axis(x, index, new, 1), (MATRIX, APART, normal(4, 3))
    ),
    "put_along_axis of sums": Case(
        lambda x, index, new: paddle.put_along_axis(x, index, new, 1, reduce="add"),
        (MATRIX, EACH, normal(4, 3)),
    ),
    "indexing by a list": Case(lambda x: x[[2, 0, 2]], (MATRIX,)),
    "indexing by tensors": Case(lambda x, i, j: x[i, j], (MATRIX, ROWS, DISTINCT)),
    "indexing by a mask": Case(lambda x, mask: x[mask], (MATRIX, MASK)),
    "indexing by a slice and a tensor": Case(lambda x, i: x[:, i], (CUBE, ROWS)),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


# Before 3.1, the gradient of Paddle's CPU is that of the first row in all rows.
if RELEASE < (3, 1):
    del CASES["gather of columns"]


def put(x: Any, key: Any, value: Any) -> None:
    x[key] = value


def tensor(array: Array) -> Any:
    return paddle.to_tensor(array)


ASSIGNMENTS: dict[str, tuple[Callable[[Any], Any], Callable[[Array], None]]] = {
    "list": (lambda x: put(x, [2, 0], 7), lambda x: put(x, [2, 0], 7)),
    "list and rows": (
        lambda x: put(x, [2, 0], paddle.ones([2, 5], x.dtype)),
        lambda x: put(x, [2, 0], 1),
    ),
    "tensor": (lambda x: put(x, tensor(DISTINCT), 7), lambda x: put(x, DISTINCT, 7)),
    "tensors": (
        lambda x: put(x, (tensor(DISTINCT), tensor(DISTINCT)), paddle.ones([3], x.dtype)),
        lambda x: put(x, (DISTINCT, DISTINCT), 1),
    ),
    "mask": (lambda x: put(x, tensor(MASK), 7), lambda x: put(x, MASK, 7)),
    "mask of rows": (lambda x: put(x, tensor(MASK[:, 0]), 7), lambda x: put(x, MASK[:, 0], 7)),
    "index_put_": (
        lambda x: paddle.index_put_(x, (tensor(DISTINCT),), paddle.ones([3, 5], x.dtype)),
        lambda x: put(x, DISTINCT, 1),
    ),
    "scatter_": (
        lambda x: paddle.scatter_(x, tensor(DISTINCT), paddle.ones([3, 5], x.dtype)),
        lambda x: put(x, DISTINCT, 1),
    ),
    "index_add_": (
        lambda x: paddle.index_add_(x, tensor(ROWS), 0, paddle.ones([3, 5], x.dtype)),
        lambda x: np.add.at(x, ROWS, 1),
    ),
}
VIEWS: dict[str, tuple[tuple[int, int], Callable[[Any], Any]]] = {"all": ((4, 5), lambda x: x)}
"""Tensors of 4 × 5 elements, as views of others of a shape."""
# There are no views before 3.0.
if RELEASE >= (3, 0):
    VIEWS["part"] = ((8, 9), lambda x: x[2:6, 3:8])
    VIEWS["transposed"] = ((5, 4), lambda x: x.transpose((1, 0)))

TYPES = ("float32", "float64", "int32", "int64")
ASSIGNED = [(name, dtype) for name in ASSIGNMENTS for dtype in TYPES]


@pytest.mark.parametrize(("name", "dtype"), ASSIGNED)
@pytest.mark.parametrize("view", VIEWS)
def test_assignments_write_to_their_elements_alone(name: str, view: str, dtype: str) -> None:
    """NumPy is the reference: from 3.1 on, Paddle's CPU writes beyond a view with gaps."""
    shape, choose = VIEWS[view]
    expected = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    x = paddle.to_tensor(expected)
    assign, assign_with_numpy = ASSIGNMENTS[name]
    assign(choose(x))
    assign_with_numpy(choose(expected))
    np.testing.assert_array_equal(x.numpy(), expected)
