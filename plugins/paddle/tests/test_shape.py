"""Operators that move elements: results and gradients against Paddle's CPU."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest

from host import RELEASE, normal, place
from kernel_case import Array, Case, check

MATRIX = normal(4, 5)
CUBE = normal(3, 4, 5, seed=1)
SQUARE = normal(4, 4, seed=2)
IMAGES = normal(2, 4, 6, 6, seed=3)
WHOLE = np.arange(20).reshape(4, 5)
TRUTHS = WHOLE % 3 == 0
TIMES = np.array([2, 0, 1, 3])

CASES: dict[str, Case] = {
    "expand": Case(lambda x: paddle.expand(x, [2, 4, 5]), (normal(4, 1),)),
    "expand of a row": Case(lambda x: paddle.expand(x, [3, -1]), (normal(1, 5),)),
    "expand of integers": Case(lambda x: paddle.expand(x, [2, 4, 5]), (WHOLE,)),
    "expand of truth values": Case(lambda x: paddle.expand(x, [2, 4, 5]), (TRUTHS,)),
    "expand_as": Case(lambda x, y: paddle.expand_as(x, y.detach()), (normal(4, 1), CUBE)),
    "broadcast_tensors": Case(
        lambda x, y: paddle.broadcast_tensors([x, y]), (normal(4, 1), normal(3, 1, 5))
    ),
    "tile": Case(lambda x: paddle.tile(x, [2, 1, 3]), (MATRIX,)),
    "tile of the last dimension": Case(lambda x: paddle.tile(x, [2]), (MATRIX,)),
    "tile of truth values": Case(lambda x: paddle.tile(x, [2, 2]), (TRUTHS,)),
    "repeat_interleave": Case(lambda x: paddle.repeat_interleave(x, 3, 1), (CUBE,)),
    "repeat_interleave of all": Case(lambda x: paddle.repeat_interleave(x, 2), (MATRIX,)),
    "repeat_interleave, each by its own number": Case(
        lambda x, times: paddle.repeat_interleave(x, times, 0), (MATRIX, TIMES)
    ),
    "pad": Case(lambda x: F.pad(x, [1, 2, 0, 3], value=0.5), (MATRIX,)),
    "pad of integers": Case(lambda x: F.pad(x, [1, 2, 0, 3], value=7), (WHOLE,)),
    "pad of images": Case(lambda x: F.pad(x, [1, 2, 0, 3], value=0.5), (IMAGES,)),
    "pad that reflects": Case(lambda x: F.pad(x, [1, 2, 0, 3], mode="reflect"), (IMAGES,)),
    "pad that replicates": Case(lambda x: F.pad(x, [1, 2, 0, 3], mode="replicate"), (IMAGES,)),
    "pad that turns round": Case(lambda x: F.pad(x, [1, 2, 0, 3], mode="circular"), (IMAGES,)),
    "pad of vectors": Case(
        lambda x: F.pad(x, [1, 2], mode="reflect", data_format="NLC"), (normal(2, 5, 3),)
    ),
    "pad of volumes": Case(
        lambda x: F.pad(x, [1, 0, 2, 1, 0, 1], data_format="NDHWC", mode="replicate"),
        (normal(1, 3, 2, 4, 2),),
    ),
    "slice": Case(lambda x: paddle.slice(x, [0, 2], [1, -3], [3, 5]), (CUBE,)),
    "slice of an index": Case(lambda x: x[1], (CUBE,)),
    "strided_slice": Case(
        lambda x: paddle.strided_slice(x, [0, 2], [2, 0], [0, 5], [-1, 2]), (CUBE,)
    ),
    "crop": Case(lambda x: paddle.crop(x, [2, 3, 2], [1, 0, 2]), (CUBE,)),
    "crop of the rest": Case(lambda x: paddle.crop(x, [-1, 3, -1], [1, 0, 2]), (CUBE,)),
    "flip": Case(lambda x: paddle.flip(x, [0, -1]), (CUBE,)),
    "flip of truth values": Case(lambda x: paddle.flip(x, [1]), (TRUTHS,)),
    "reverse": Case(lambda x: paddle.reverse(x, [1]), (MATRIX,)),
    "roll": Case(lambda x: paddle.roll(x, [1, -2], [0, 1]), (CUBE,)),
    "roll of all": Case(lambda x: paddle.roll(x, 7), (CUBE,)),
    "rot90": Case(lambda x: paddle.rot90(x, 1, [0, 1]), (MATRIX,)),
    "transpose": Case(lambda x: paddle.transpose(x, [2, 0, 1]), (CUBE,)),
    "multiplex": Case(
        lambda x, y, ids: paddle.multiplex([x, y], ids),
        (MATRIX, normal(4, 5, seed=9), np.array([[1], [0], [1], [0]], "int32")),
    ),
    "unbind": Case(lambda x: paddle.unbind(x, 1), (CUBE,)),
    "diagonal": Case(lambda x: paddle.diagonal(x, 1, 0, 2), (CUBE,)),
    "diag of a matrix": Case(lambda x: paddle.diag(x, 1), (MATRIX,)),
    "diag of a vector": Case(lambda x: paddle.diag(x, -1, padding_value=2.0), (normal(3),)),
    "diag of integers": Case(paddle.diag, (WHOLE,)),
    "diag_embed": Case(lambda x: F.diag_embed(x, 1, 0, 2), (MATRIX,)),
    "diagflat": Case(lambda x: paddle.diagflat(x, 1), (normal(2, 2),)),
    "fill_diagonal_tensor": Case(
        lambda x, y: paddle.Tensor.fill_diagonal_tensor(x * 1, y), (SQUARE, normal(4))
    ),
    "tril": Case(lambda x: paddle.tril(x, 1), (CUBE,)),
    "triu": Case(lambda x: paddle.triu(x, -1), (CUBE,)),
    "tril of truth values": Case(paddle.tril, (TRUTHS,)),
    "trace": Case(lambda x: paddle.trace(x, 1, 0, 2), (CUBE,)),
    "trace of integers": Case(paddle.trace, (WHOLE,)),
    "unfold": Case(lambda x: F.unfold(x, [3, 2], [2, 1], [1, 0], [1, 2]), (IMAGES,)),
    "fold": Case(
        lambda x: F.fold(x, [6, 6], [3, 2], [2, 1], [1, 0, 1, 0], [1, 2]),
        (normal(2, 24, 12, seed=4),),
    ),
    "pixel_shuffle": Case(lambda x: F.pixel_shuffle(x, 2), (IMAGES,)),
    "pixel_shuffle with channels last": Case(
        lambda x: F.pixel_shuffle(x, 2, "NHWC"), (normal(2, 3, 3, 8),)
    ),
    "pixel_unshuffle": Case(lambda x: F.pixel_unshuffle(x, 3), (IMAGES,)),
    "channel_shuffle": Case(lambda x: F.channel_shuffle(x, 2), (IMAGES,)),
    "channel_shuffle with channels last": Case(
        lambda x: F.channel_shuffle(x, 3, "NHWC"), (IMAGES,)
    ),
    "temporal_shift": Case(lambda x: F.temporal_shift(x, 2, 0.25), (normal(6, 4, 2, 2),)),
    "temporal_shift with channels last": Case(
        lambda x: F.temporal_shift(x, 3, 0.25, data_format="NHWC"), (normal(6, 2, 2, 4),)
    ),
    "dot": Case(paddle.dot, (MATRIX, normal(4, 5, seed=5))),
    "dot of integers": Case(paddle.dot, (WHOLE, WHOLE + 1)),
    "cross": Case(lambda x, y: paddle.cross(x, y, axis=0), (CUBE, normal(3, 4, 5, seed=6))),
    "cross of the first dimension of three": Case(paddle.cross, (normal(2, 3), normal(2, 3))),
    "kron": Case(paddle.kron, (normal(2, 3), normal(4, 2, seed=7))),
    "kron of other ranks": Case(paddle.kron, (normal(3), normal(4, 2, seed=7))),
    "assignment to a part": Case(
        lambda x, y: paddle.static.setitem(x * 1, (slice(1, 3), slice(None, None, 2)), y),
        (MATRIX, normal(2, 3, seed=8)),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_cpu(name: str, dtype: str) -> None:
    check(CASES[name], dtype)


IN_PLACE: dict[str, tuple[Callable[[Any], Any], Callable[[Array], Any]]] = {
    "tril_": (lambda x: x.tril_(1), lambda x: np.tril(x, 1)),
    "triu_": (lambda x: x.triu_(), np.triu),
    "fill_diagonal_": (
        lambda x: x.fill_diagonal_(7.0, 1),
        lambda x: np.where(np.eye(4, 5, 1) > 0, 7, x),
    ),
    "fill_diagonal_tensor_": (
        lambda x: x.fill_diagonal_tensor_(paddle.full([4], 7.0, x.dtype)),
        lambda x: np.where(np.eye(4, 5) > 0, 7, x),
    ),
}
# `tril_` and `triu_` are there since 3.0.
if RELEASE < (3, 0):
    del IN_PLACE["tril_"], IN_PLACE["triu_"]


@pytest.mark.parametrize("part", [False, True] if RELEASE >= (3, 0) else [False])
@pytest.mark.parametrize("name", IN_PLACE)
def test_operators_in_place_write_to_their_elements_alone(name: str, part: bool) -> None:
    expected: Array = np.arange(72.0, dtype="float32").reshape(8, 9) + 1
    x = paddle.to_tensor(expected)
    change, changed = IN_PLACE[name]
    where = (slice(2, 6), slice(3, 8)) if part else (slice(0, 4), slice(0, 5))
    if part:
        change(x[where])
    else:
        x = paddle.to_tensor(expected[where])
        change(x)
        expected = expected[where].copy()
        where = (slice(None), slice(None))
    expected[where] = changed(expected[where])
    np.testing.assert_array_equal(x.numpy(), expected)


# The parts of tensors that static programs take, without views.
STATIC = ["slice", "slice of an index", "strided_slice", "crop", "crop of the rest", "transpose"]
STATIC += ["diagonal", "unbind", "assignment to a part", "tile", "expand_as", "flip", "roll"]


def in_program(case: Case, place: Any) -> list[Array]:
    """Returns the results and gradients of a call in a static program."""
    paddle.enable_static()
    try:
        program = paddle.static.Program()
        with paddle.static.program_guard(program):
            arguments = []
            for number, array in enumerate(case.arguments):
                tensor = paddle.static.data(f"x{number}", array.shape, str(array.dtype))
                tensor.stop_gradient = False
                arguments.append(tensor)
            found = case.compute(*arguments)
            outputs = list(found) if isinstance(found, (tuple, list)) else [found]
            total = sum((output * output).sum() for output in outputs)
            gradients = paddle.static.gradients(total, arguments)
            wanted = outputs + [gradient for gradient in gradients if gradient is not None]
        feed = {f"x{number}": array for number, array in enumerate(case.arguments)}
        executor = paddle.static.Executor(place)
        return list(executor.run(program, feed=feed, fetch_list=wanted))
    finally:
        paddle.disable_static()


@pytest.mark.parametrize("name", STATIC)
def test_static_programs_compute_the_same(name: str) -> None:
    ours, theirs = (in_program(CASES[name], where) for where in (place(), paddle.CPUPlace()))
    assert len(ours) == len(theirs)
    for mine, expected in zip(ours, theirs):
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)
