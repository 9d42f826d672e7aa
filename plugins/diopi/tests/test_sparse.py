"""Sparse voxels, as MMCV has them."""

from typing import Any

import numpy as np
import pytest

from host import NEW, DiopiError, Library
from samples import REAL, Draw, gradient, near, near_slope
from tensors import Array

INDICES = ["i4", "i8"]
ROOM, INPUTS, OUTPUTS = 6, 5, 4


class Layer:
    """A window of 1x3x2 elements, with some pairs of voxels for each."""

    def __init__(self, draw: Draw, kind: str, inputs: int = INPUTS, outputs: int = OUTPUTS) -> None:
        self.counts = np.array([3, 0, 6, 2, 6, 1], kind)
        ends = [draw(6, ROOM, low=0, high=high, dtype=kind) for high in (inputs, outputs)]
        self.pairs = np.stack(ends, 1)
        self.outputs = outputs
        self.center = 2
        for n, count in enumerate(self.counts):
            self.pairs[n, :, count:] = -1

    def convolved(self, x: Array, filters: Array, bias: Array, submanifold: bool = False) -> Array:
        out = np.zeros((self.outputs, filters.shape[-1])) + bias
        matrices = filters.reshape(6, *filters.shape[-2:])
        for n, (pairs, count) in enumerate(zip(self.pairs, self.counts, strict=True)):
            if submanifold and n == self.center:
                out += x @ matrices[n]
                continue
            for source, target in pairs[:, :count].T:
                out[target] += x[source] @ matrices[n]
        return out

    def largest(self, x: Array) -> Array:
        out = np.zeros((self.outputs, x.shape[1]))
        for pairs, count in zip(self.pairs, self.counts, strict=True):
            for source, target in pairs[:, :count].T:
                out[target] = np.maximum(out[target], x[source])
        return out


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("submanifold", [0, 1])
def test_convolution(lib: Library, dtype: Any, kind: str, inverse: int, submanifold: int) -> None:
    draw = Draw(dtype)
    outputs = INPUTS if submanifold else OUTPUTS
    layer = Layer(draw, kind, outputs=outputs)
    x, filters, bias = draw(INPUTS, 3), draw(1, 3, 2, 3, 2), draw(2)
    pairs = np.ascontiguousarray(layer.pairs[:, ::-1]) if inverse else layer.pairs
    rest = inverse, submanifold
    lists = pairs, layer.counts
    wide = x.astype("f8"), filters.astype("f8")
    plain = layer.convolved(*wide, np.zeros(2), bool(submanifold))
    out = lib.call("diopiIndiceConvMmcv", NEW, x, filters, *lists, outputs, *rest)
    assert out.dtype == dtype
    near(out, plain, 4)
    name = "diopiFusedIndiceConvBatchnormMmcv"
    out = lib.call(name, NEW, x, filters, bias, *lists, outputs, *rest)
    near(out, plain + bias.astype("f8"), 4)
    upstream = draw(outputs, 2)
    arguments = x, filters, upstream, *lists, *rest
    backs = lib.call("diopiIndiceConvBackwardMmcv", [NEW] * 2, *arguments)
    slopes = gradient(
        lambda x, filters: layer.convolved(x, filters, np.zeros(2), bool(submanifold)),
        wide,
        upstream,
    )
    near_slope(backs[0], slopes[0], 20)
    near_slope(backs[1], slopes[1], 20)


@pytest.mark.parametrize("dtype", REAL, ids=str)
@pytest.mark.parametrize("kind", INDICES)
def test_max_pool(lib: Library, dtype: Any, kind: str) -> None:
    draw = Draw(dtype)
    layer, x = Layer(draw, kind), draw(INPUTS, 3)
    # Each pair occurs once, so that features equal their maximum only once.
    seen: set[tuple[int, int]] = set()
    for pairs, count in zip(layer.pairs, layer.counts, strict=True):
        for place in range(count):
            pair = int(pairs[0, place]), int(pairs[1, place])
            while pair in seen:
                pair = (pair[0] + 1) % INPUTS, (pair[1] + (pair[0] == INPUTS - 1)) % OUTPUTS
            seen.add(pair)
            pairs[:, place] = pair
    out = lib.call("diopiIndiceMaxpoolMmcv", NEW, x, layer.pairs, layer.counts, OUTPUTS)
    near(out, layer.largest(x.astype("f8")))
    assert out.astype("f8").any()
    upstream = draw(OUTPUTS, 3)
    arguments = x, out, upstream, layer.pairs, layer.counts
    back = lib.call("diopiIndiceMaxpoolBackwardMmcv", NEW, *arguments)
    near_slope(back, gradient(layer.largest, [x], upstream)[0], 4)


def test_largest_feature_below_zero(lib: Library) -> None:
    x, pairs, counts = -np.ones((1, 2), "f4"), np.zeros((1, 2, 1), "i4"), np.ones(1, "i4")
    out = lib.call("diopiIndiceMaxpoolMmcv", NEW, x, pairs, counts, 1)
    assert out.tolist() == [[0, 0]]
    back = lib.call("diopiIndiceMaxpoolBackwardMmcv", NEW, x, out, np.ones_like(x), pairs, counts)
    assert back.tolist() == [[0, 0]]


@pytest.mark.parametrize(("place", "number"), [((0, 0, 0), 5), ((4, 1, 5), -1), ((2, 1, 1), 4)])
def test_pairs_that_do_not_exist_fail(lib: Library, place: Any, number: int) -> None:
    draw = Draw("f4")
    layer, x, filters = Layer(draw, "i4"), draw(INPUTS, 3), draw(1, 3, 2, 3, 2)
    layer.pairs[place] = number
    lists = layer.pairs, layer.counts
    with pytest.raises(DiopiError, match=f"index {number}"):
        lib.call("diopiIndiceConvMmcv", NEW, x, filters, *lists, OUTPUTS, 0, 0)
    with pytest.raises(DiopiError, match=f"index {number}"):
        lib.call("diopiIndiceMaxpoolMmcv", NEW, x, *lists, OUTPUTS)


def test_convolution_of_wrong_arguments_fails(lib: Library) -> None:
    draw = Draw("f4")
    layer, x, filters = Layer(draw, "i4"), draw(INPUTS, 3), draw(1, 3, 2, 3, 2)
    name, counts = "diopiIndiceConvMmcv", layer.counts.copy()
    counts[0] = ROOM + 1
    with pytest.raises(DiopiError, match=f"index {ROOM + 1}"):
        lib.call(name, NEW, x, filters, layer.pairs, counts, OUTPUTS, 0, 0)
    with pytest.raises(DiopiError, match="`numActOut` is -1"):
        lib.call(name, NEW, x, filters, layer.pairs, layer.counts, -1, 0, 0)
    with pytest.raises(DiopiError, match=r"\[4\]"):
        lib.call(name, NEW, x, filters, layer.pairs, layer.counts, OUTPUTS, 0, 1)
    with pytest.raises(DiopiError, match=r"\[1, 3, 2, 4, 2\]"):
        lib.call(name, NEW, x, draw(1, 3, 2, 4, 2), layer.pairs, layer.counts, OUTPUTS, 0, 0)
