"""Reassembly and correlation of features, and rotated filters, as MMCV has them."""

from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

INDICES = ["i4", "i8"]


def assembled(x: Array, masks: Array, kernel: int, groups: int, scale: int) -> Array:
    half = kernel // 2
    wide = np.pad(x, [(0, 0), (0, 0), (half, half), (half, half)])
    wide = wide.repeat(scale, 2).repeat(scale, 3)
    weights = masks.reshape(len(x), groups, kernel, kernel, *masks.shape[2:])
    weights = weights.repeat(x.shape[1] // groups, 1)
    height, width = masks.shape[2:]
    out = np.zeros((*x.shape[:2], height, width))
    for i, j in np.ndindex(kernel, kernel):
        window = wide[:, :, i * scale : i * scale + height, j * scale : j * scale + width]
        out += window * weights[:, :, i, j]
    return out


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("numbers", [(3, 2, 2), (1, 1, 3), (5, 4, 1)], ids=str)
def test_carafe(lib: Library, dtype: Any, numbers: tuple[int, int, int]) -> None:
    kernel, groups, scale = numbers
    draw = Draw(dtype)
    x = draw(2, 4, 2, 3)
    masks = draw(2, groups * kernel**2, 2 * scale, 3 * scale)
    wide = x.astype("f8"), masks.astype("f8")
    expected = assembled(*wide, *numbers)
    shape = expected.shape
    naive = lib.call("diopiCarafeNaiveMmcv", Out(shape, dtype), x, masks, *numbers)
    near(naive, expected, 2)
    buffers = Out(x.shape, dtype), Out(shape, dtype), Out(masks.shape, dtype)
    kept, _, _, out = lib.call("diopiCarafeMmcv", *buffers, Out(shape, dtype), x, masks, *numbers)
    near(out, expected, 2)
    upstream = draw(*shape)
    slopes = gradient(lambda x, masks: assembled(x, masks, *numbers), wide, upstream)
    targets = Out(x.shape, dtype), Out(masks.shape, dtype)
    backs = lib.call("diopiCarafeNaiveBackwardMmcv", *targets, upstream, x, masks, *numbers)
    unused = Out(shape, dtype), Out(x.shape, dtype), Out(x.shape, dtype), Out(masks.shape, dtype)
    arguments = upstream, kept, masks, *numbers
    others = lib.call("diopiCarafeBackwardMmcv", *unused, *targets, *arguments)[-2:]
    for actual in (backs, others):
        near_slope(actual[0], slopes[0], 10)
        near_slope(actual[1], slopes[1], 10)


def test_carafe_of_wrong_arguments_fails(lib: Library) -> None:
    x, masks, out = (
        np.ones((1, 3, 2, 2), "f4"),
        np.ones((1, 9, 4, 4), "f4"),
        Out((1, 3, 4, 4), "f4"),
    )
    for numbers, message in (
        ((2, 1, 2), "`kernel_size` cannot be 2"),
        ((3, 2, 2), "`groups` cannot be 2"),
        ((3, 1, 0), "`scale` cannot be 0"),
        ((3, 1, 3), r"\[1, 9, 6, 6\]"),
        ((2**40 + 1, 1, 2), "address space"),
    ):
        with pytest.raises(DiopiError, match=message):
            lib.call("diopiCarafeNaiveMmcv", out, x, masks, *numbers)


def correlated(a: Array, b: Array, numbers: tuple[int, ...]) -> Array:
    kernel, patch, pad, dilation, spread, stride = (numbers[n : n + 2] for n in range(0, 12, 2))
    size = [
        (a.shape[n + 2] + 2 * pad[n] - (kernel[n] - 1) * dilation[n] - 1) // stride[n] + 1
        for n in (0, 1)
    ]
    out = np.zeros((len(a), *patch, *size))

    def read(x: Array, row: int, column: int) -> Any:
        inside = 0 <= row < x.shape[2] and 0 <= column < x.shape[3]
        return x[:, :, row, column] if inside else np.zeros(x.shape[:2])

    for p, q, i, j in np.ndindex(*out.shape[1:]):
        for k, m in np.ndindex(*kernel):
            row = i * stride[0] - pad[0] + k * dilation[0]
            column = j * stride[1] - pad[1] + m * dilation[1]
            down = p * spread[0] - spread[0] * (patch[0] - 1) // 2
            right = q * spread[1] - spread[1] * (patch[1] - 1) // 2
            pair = read(a, row, column) * read(b, row + down, column + right)
            out[:, p, q, i, j] += pair.sum(1)
    return out


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize(
    "numbers",
    [(1, 1, 3, 5, 0, 0, 1, 1, 1, 1, 1, 1), (2, 3, 3, 2, 1, 2, 2, 1, 2, 1, 2, 1)],
    ids=["plain", "all"],
)
def test_correlation(lib: Library, dtype: Any, numbers: tuple[int, ...]) -> None:
    draw = Draw(dtype)
    a, b = draw(2, 2, 4, 3), draw(2, 2, 4, 3)
    wide = a.astype("f8"), b.astype("f8")
    expected = correlated(*wide, numbers)
    out = lib.call("diopiCorrelationMmcv", Out(expected.shape, dtype), a, b, *numbers)
    near(out, expected, 2)
    upstream = draw(*expected.shape)
    targets = Out(a.shape, dtype), Out(b.shape, dtype)
    backs = lib.call("diopiCorrelationBackwardMmcv", *targets, upstream, a, b, *numbers)
    slopes = gradient(lambda a, b: correlated(a, b, numbers), wide, upstream)
    near_slope(backs[0], slopes[0], 20)
    near_slope(backs[1], slopes[1], 20)


@pytest.mark.parametrize(("place", "number"), [(0, 9), (2, 0), (4, -1), (10, 0), (6, 2**40)])
def test_correlation_of_wrong_arguments_fails(lib: Library, place: int, number: int) -> None:
    x, numbers = np.ones((1, 2, 4, 3), "f4"), [1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1, 1]
    lib.call("diopiCorrelationMmcv", Out((1, 1, 1, 4, 3), "f4"), x, x, *numbers)
    numbers[place] = number
    with pytest.raises(DiopiError, match=f"cannot be {number}"):
        lib.call("diopiCorrelationMmcv", Out((1, 1, 1, 4, 3), "f4"), x, x, *numbers)


def copied(x: Array, indices: Array) -> Array:
    outputs, inputs, orientations, height, width = x.shape
    rotations = indices.shape[-1]
    out = np.zeros((outputs, rotations, inputs, orientations * height * width))
    for n, place in enumerate(indices.reshape(-1, rotations) - 1):
        for rotation in range(rotations):
            out[:, rotation, :, place[rotation]] += x.reshape(outputs, inputs, -1)[:, :, n]
    return out.reshape(outputs * rotations, inputs * orientations, height, width)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_rotated_filters(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    x = draw(2, 3, 2, 3, 3)
    places = [draw.rng.permutation(18) + 1 for _ in range(4)]
    indices = np.stack(places, -1).reshape(2, 3, 3, 4).astype(kind)
    shape, name = (8, 6, 3, 3), "diopiActiveRotatedFilter"
    near(lib.call(f"{name}Mmcv", Out(shape, dtype), x, indices), copied(x.astype("f8"), indices))
    upstream, back = draw(*shape), Out(x.shape, dtype)
    back = lib.call(f"{name}BackwardMmcv", back, upstream, indices)
    near_slope(back, gradient(lambda x: copied(x, indices), [x], upstream)[0], 4)
    for wrong in (0, 19, -(2**31)):
        indices[0, 0, 0, 0] = wrong
        with pytest.raises(DiopiError, match=f"index {wrong}"):
            lib.call(f"{name}Mmcv", Out(shape, dtype), x, indices)
        with pytest.raises(DiopiError, match=f"index {wrong}"):
            lib.call(f"{name}BackwardMmcv", Out(x.shape, dtype), upstream, indices)
