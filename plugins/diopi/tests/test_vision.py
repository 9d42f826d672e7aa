"""Images of another size."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from tables import Case, Make, test_results
from tensors import Array

__all__ = ["test_results"]

SHAPES = [(2, 3, 5), (1, 2, 4, 6), (2, 1, 3, 4, 5)]
MODES = {3: ["linear"], 4: ["bilinear", "bicubic"], 5: ["trilinear"]}


def nearest(n: int, count: int) -> Array:
    """Returns the matrix from n elements to the nearest ones."""
    return np.eye(n)[[i * n // count for i in range(count)]]


def cubic(distance: float) -> float:
    """Returns Keys' kernel with the parameter -0.75."""
    d, a = abs(distance), -0.75
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * (d**3 - 5 * d**2 + 8 * d - 4) if d < 2 else 0


def interpolated(n: int, count: int, mode: str, align_corners: bool) -> Array:
    """Returns the matrix of linear or cubic interpolation."""
    matrix = np.zeros((count, n))
    for i in range(count):
        if align_corners:
            place = i * (n - 1) / (count - 1) if count > 1 else 0.0
        else:
            place = (i + 0.5) * n / count - 0.5
        if mode == "bicubic":
            for near in range(int(np.floor(place)) - 1, int(np.floor(place)) + 3):
                matrix[i, np.clip(near, 0, n - 1)] += cubic(place - near)
        else:
            place = max(place, 0)
            low = min(int(place), n - 1)
            matrix[i, low] += 1 - (place - low)
            matrix[i, min(low + 1, n - 1)] += place - low
    return matrix


def apply(x: Array, matrices: Sequence[Array]) -> Array:
    """Multiplies each spatial dimension by a matrix."""
    for axis, matrix in enumerate(matrices, 2):
        x = np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis)
    return x


def size(make: Make) -> list[int]:
    return [int(n) for n in make.rng.integers(1, 9, len(make.shape) - 2)]


def upstream(make: Make) -> tuple[Array, list[int], list[int]]:
    out = size(make)
    # The header asks for the spatial size of the input. Hosts also pass the whole shape.
    ins = list(make.shape[2:] if make.run % 2 else make.shape)
    return make.array([*make.shape[:2], *out]), out, ins


def space(dy: Array, ins: list[int]) -> list[int]:
    return ins[2 - dy.ndim :]


def linear(make: Make) -> tuple[bool, str]:
    modes = MODES[len(make.shape)]
    return make.run % 2 == 1, modes[make.run // 2 % len(modes)]


def matrices(
    make: Callable[..., Array], ins: Sequence[int], outs: Sequence[int], *args: Any
) -> list[Array]:
    return [make(n, count, *args) for n, count in zip(ins, outs, strict=True)]


def linear_matrices(ins: Sequence[int], outs: Sequence[int], align: bool, mode: str) -> list[Array]:
    return matrices(interpolated, ins, outs, mode, align)


def transposed(parts: Sequence[Array]) -> list[Array]:
    return [matrix.T for matrix in parts]


CASES = [
    Case(
        "diopiUpsampleNearest",
        lambda make: (make.array(), size(make)),
        lambda x, size: apply(x, matrices(nearest, x.shape[2:], size)),
        shapes=SHAPES,
    ),
    Case(
        "diopiUpsampleNearestBackward",
        upstream,
        lambda dy, outs, ins: apply(dy, transposed(matrices(nearest, space(dy, ins), outs))),
        shapes=SHAPES,
        tolerance=10,
    ),
    Case(
        "diopiUpsampleLinear",
        lambda make: (make.array(), size(make), *linear(make)),
        lambda x, size, *args: apply(x, linear_matrices(x.shape[2:], size, *args)),
        shapes=SHAPES,
        tolerance=10,
    ),
    Case(
        "diopiUpsampleLinearBackward",
        lambda make: (*upstream(make), *linear(make)),
        lambda dy, outs, ins, *args: apply(
            dy, transposed(linear_matrices(space(dy, ins), outs, *args))
        ),
        shapes=SHAPES,
        tolerance=20,
    ),
]


@pytest.mark.parametrize(
    ("mode", "shape"), list(itertools.product(["bilinear", "none"], [(1, 1, 4)])), ids=str
)
def test_upsample_linear_mode_for_other_shape_fails(lib: Library, mode: str, shape: Any) -> None:
    with pytest.raises(DiopiError, match=mode):
        x = np.zeros(shape, np.float32)
        lib.call("diopiUpsampleLinear", Out(shape, "float32"), x, [4], False, mode)
