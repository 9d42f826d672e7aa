"""Convolution and attention at places that are inputs, as MMCV has them."""

from typing import Any

import numpy as np
import pytest

from host import NEW, DiopiError, Library, Out, like
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

PLAIN = [np.dtype("float32"), np.dtype("float64")]


def sample(image: Array, y: float, x: float) -> Any:
    """Interpolates `[..., height, width]` linearly between pixels, which are 0 outside of it."""
    height, width = image.shape[-2:]
    total = np.zeros(image.shape[:-2])
    for i in (int(np.floor(y)), int(np.floor(y)) + 1):
        for j in (int(np.floor(x)), int(np.floor(x)) + 1):
            if 0 <= i < height and 0 <= j < width:
                total = total + image[..., i, j] * (1 - abs(y - i)) * (1 - abs(x - j))
    return total


class Layer:
    """A deformable convolution with two groups of channels that have offsets of their own."""

    def __init__(self, groups: int) -> None:
        self.groups = groups
        self.kernel, self.strides, self.paddings, self.dilations = (1, 2), (2, 1), (0, 1), (1, 2)

    def result(self, x: Array, weight: Array, bias: Array, offset: Array, mask: Array) -> Array:
        batch, channels = x.shape[:2]
        rows, columns = offset.shape[2:]
        out = np.zeros((batch, len(weight), rows, columns))
        own, of_offset = len(weight) // self.groups, channels // 2
        for n, o, i, j in np.ndindex(*out.shape):
            for c, a, b in np.ndindex(*weight.shape[1:]):
                channel = o // own * weight.shape[1] + c
                element = channel // of_offset * 2 + a * 2 + b
                place = (
                    i * self.strides[0] - self.paddings[0] + a * self.dilations[0],
                    j * self.strides[1] - self.paddings[1] + b * self.dilations[1],
                )
                moves = offset[n, 2 * element : 2 * element + 2, i, j]
                pixel = sample(x[n, channel], *(place + moves))
                out[n, o, i, j] += pixel * mask[n, element, i, j] * weight[o, c, a, b]
        result: Array = out + bias[:, None, None]
        return result

    def numbers(self, wide_first: bool) -> list[int]:
        """Returns the arguments of the C functions."""
        pairs = self.kernel, self.strides, self.paddings, self.dilations
        ordered = [pair[::-1] if wide_first else pair for pair in pairs]
        return [number for pair in ordered for number in pair] + [self.groups, 2]


def inputs(dtype: Any, groups: int) -> tuple[Array, ...]:
    draw = Draw(dtype)
    x, weight, bias = draw(2, 4, 3, 2), draw(4, 4 // groups, 1, 2), draw(4)
    offset, mask = draw(2, 8, 2, 2), draw(2, 4, 2, 2, low=0)
    return x, weight, bias, offset, mask


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("with_bias", [False, True])
def test_convolution_with_a_mask(lib: Library, dtype: Any, groups: int, with_bias: bool) -> None:
    layer = Layer(groups)
    x, weight, bias, offset, mask = inputs(dtype, groups)
    columns, ones = np.ones((2, 2), dtype), np.ones(0, dtype)
    arguments = columns, ones, x, weight, bias, offset, mask, *layer.numbers(False), with_bias
    shape = 2, 4, 2, 2
    out = lib.call("diopiModulatedDeformConvMmcv", Out(shape, dtype), *arguments)
    wide = [array.astype("f8") for array in (x, weight, bias, offset, mask)]
    near(out, layer.result(wide[0], wide[1], wide[2] * with_bias, *wide[3:]), 30)


@pytest.mark.parametrize("dtype", PLAIN, ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_with_a_mask(lib: Library, dtype: Any, groups: int) -> None:
    layer = Layer(groups)
    x, weight, bias, offset, mask = inputs(dtype, groups)
    upstream, none = Draw(dtype)(2, 4, 2, 2), np.zeros(0, dtype)
    outs = [like(array) for array in (x, weight, bias, offset, mask)]
    arguments = x, weight, bias, none, offset, mask, np.zeros(0, dtype), upstream
    rest = *layer.numbers(False), True
    results = lib.call("diopiModulatedDeformConvBackwardMmcv", *outs, *arguments, *rest)
    expected = gradient(layer.result, [x, weight, bias, offset, mask], upstream)
    for actual, wanted in zip(results, expected, strict=True):
        near_slope(actual, wanted, 100)


@pytest.mark.parametrize("dtype", PLAIN, ids=str)
@pytest.mark.parametrize("groups", [1, 2])
def test_convolution(lib: Library, dtype: Any, groups: int) -> None:
    layer = Layer(groups)
    x, weight, _, offset, _ = inputs(dtype, groups)
    upstream, none = Draw(dtype)(2, 4, 2, 2), np.zeros(0, dtype)

    def result(x: Array, weight: Array, offset: Array) -> Array:
        return layer.result(x, weight, np.zeros(4), offset, np.ones((2, 4, 2, 2)))

    rest = *layer.numbers(True), 32
    columns, ones = np.ones((2, 2), dtype), np.ones(0, dtype)
    arguments = columns, ones, x, weight, offset, *rest
    out = lib.call("diopiDeformConvMmcv", Out((2, 4, 2, 2), dtype), *arguments)
    near(out, result(x.astype("f8"), weight.astype("f8"), offset.astype("f8")), 10)
    assert not columns.any()
    outs = like(x), like(offset)
    inner = x, offset, upstream, weight, none, *rest
    slopes = lib.call("diopiDeformConvBackwardInputMmcv", *outs, *inner)
    last = like(weight), x, offset, none, np.zeros(0, dtype), *rest, 0.5
    of_weight = lib.call("diopiDeformConvBackwardParametersMmcv", upstream, *last)
    expected = gradient(result, [x, weight, offset], upstream)
    near_slope(slopes[0], expected[0], 100)
    near_slope(slopes[1], expected[2], 100)
    near_slope(of_weight, expected[1] / 2, 100)
    with pytest.raises(DiopiError, match="`weight` has the shape"):
        wrong = columns, ones, x, weight, offset, *rest[:-3], 3, 2, 32
        lib.call("diopiDeformConvMmcv", Out((2, 4, 2, 2), dtype), *wrong)


SIZES = [(3, 4), (2, 2), (1, 3)]
STARTS = [0, 12, 16]


def attended(value: Array, places: Array, weights: Array) -> Array:
    batch, queries, heads, _, points = weights.shape
    out = np.zeros((batch, queries, heads, value.shape[3]))
    for n, q, h, level, point in np.ndindex(batch, queries, heads, 3, points):
        height, width = SIZES[level]
        pixels = value[n, STARTS[level] : STARTS[level] + height * width, h]
        image = pixels.T.reshape(-1, height, width)
        x, y = places[n, q, h, level, point] * (width, height) - 0.5
        out[n, q, h] += sample(image, y, x) * weights[n, q, h, level, point]
    return out.reshape(batch, queries, -1)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_attention(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    value, weights = draw(2, 19, 2, 3), draw(2, 2, 2, 3, 1)
    places, upstream = draw(2, 2, 2, 3, 1, 2, low=-0.3, high=1.3), draw(2, 2, 6)
    shapes, starts = np.array(SIZES, kind), np.array(STARTS, kind)
    arguments = value, shapes, starts, places, weights
    out = lib.call("diopiMsDeformAttnMmcv", NEW, *arguments, 64)
    wide = [array.astype("f8") for array in (value, places, weights)]
    near(out, attended(*wide), 10)
    outs = like(value), like(places), like(weights)
    results = lib.call("diopiMsDeformAttnBackwardMmcv", *outs, *arguments, upstream, 64)
    for actual, wanted in zip(results, gradient(attended, wide, upstream), strict=True):
        near_slope(actual, wanted, 100 if dtype == "f4" else 10)
    starts[2] = 17
    with pytest.raises(DiopiError, match="index 17"):
        lib.call("diopiMsDeformAttnMmcv", NEW, *arguments, 64)
