"""Convolutions, transposed convolutions, and slices of images."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from tables import NUMBER, Case, Make, test_results
from tensors import Array

__all__ = ["test_results"]

SHAPES: dict[int, list[tuple[int, ...]]] = {
    2: [(2, 4, 6, 5), (1, 2, 7, 7), (0, 4, 5, 5)],
    3: [(2, 4, 4, 5, 3), (1, 2, 5, 5, 5)],
}


@dataclass(frozen=True)
class Windows:
    """The attributes of a convolution, as lists with one number for each dimension."""

    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int

    def count(self, axis: int, n: int, kernel: int) -> int:
        span = self.dilation[axis] * (kernel - 1) + 1
        return (n + 2 * self.padding[axis] - span) // self.stride[axis] + 1

    def parts(self, x: Array, weight: Array) -> Iterator[tuple[int, Any, Any]]:
        """Yields each group, the place in the kernel, and the padded images' elements there."""
        kernel = weight.shape[2:]
        counts = [
            self.count(axis, n, k)
            for axis, (n, k) in enumerate(zip(x.shape[2:], kernel, strict=True))
        ]
        for place in np.ndindex(*kernel):
            starts = [d * k for d, k in zip(self.dilation, place, strict=True)]
            cuts = [
                slice(a, a + s * count, s)
                for a, s, count in zip(starts, self.stride, counts, strict=True)
            ]
            for group in range(self.groups):
                yield group, place, tuple(cuts)

    def padded(self, x: Array) -> Array:
        return np.pad(
            x,
            [(0, 0), (0, 0), *[(p, p + s) for p, s in zip(self.padding, self.stride, strict=True)]],
        )

    def inner(self, padded: Array, shape: Any) -> Array:
        """Returns images without their padding."""
        cuts = [slice(p, p + n) for p, n in zip(self.padding, shape[2:], strict=True)]
        return padded[(slice(None), slice(None), *cuts)]

    def of_group(self, channels: int, group: int) -> slice:
        own = channels // self.groups
        return slice(group * own, (group + 1) * own)

    def conv(self, x: Array, weight: Array) -> Array:
        kernel = weight.shape[2:]
        counts = [
            self.count(axis, n, k)
            for axis, (n, k) in enumerate(zip(x.shape[2:], kernel, strict=True))
        ]
        out, images = np.zeros((x.shape[0], weight.shape[0], *counts)), self.padded(x)
        for group, place, cuts in self.parts(x, weight):
            ins, outs = self.of_group(x.shape[1], group), self.of_group(weight.shape[0], group)
            matrix = weight[(outs, slice(None), *place)]
            out[:, outs] += np.einsum("nc...,oc->no...", images[(slice(None), ins, *cuts)], matrix)
        return out

    def conv_dx(self, dy: Array, weight: Array, shape: Any) -> Array:
        dx = self.padded(np.zeros(shape))
        for group, place, cuts in self.parts(np.zeros(shape), weight):
            ins, outs = self.of_group(shape[1], group), self.of_group(weight.shape[0], group)
            matrix = weight[(outs, slice(None), *place)]
            dx[(slice(None), ins, *cuts)] += np.einsum("no...,oc->nc...", dy[:, outs], matrix)
        return self.inner(dx, shape)

    def conv_dw(self, dy: Array, x: Array, weight: Array) -> Array:
        dw, images = np.zeros(weight.shape), self.padded(x)
        for group, place, cuts in self.parts(x, weight):
            ins, outs = self.of_group(x.shape[1], group), self.of_group(weight.shape[0], group)
            part = images[(slice(None), ins, *cuts)]
            part = part.reshape(*part.shape[:2], int(np.prod(part.shape[2:])))
            gradient = dy[:, outs].reshape(dy.shape[0], outs.stop - outs.start, part.shape[2])
            dw[(outs, slice(None), *place)] = np.einsum("nol,ncl->oc", gradient, part)
        return dw


def draw(make: Make, space: int) -> Windows:
    numbers: Any = [
        [int(n) for n in make.rng.integers(low, high, space)]
        for low, high in ((1, 3), (0, 2), (1, 3))
    ]
    strides, paddings, dilations = numbers
    return Windows(strides, paddings, dilations, 1 + make.run % 2)


def with_bias(out: Array, bias: Any) -> Array:
    return out if bias is None else out + bias.reshape(-1, *[1] * (out.ndim - 2))


def conv(make: Make) -> tuple[Any, ...]:
    space = len(make.shape) - 2
    windows = draw(make, space)
    kernel = [int(n) for n in make.rng.integers(1, 3, space)]
    weight = make.array([4, make.shape[1] // windows.groups, *kernel])
    bias = make.array([4]) if make.run % 3 else None
    return (
        make.array(),
        weight,
        bias,
        windows.stride,
        windows.padding,
        windows.dilation,
        windows.groups,
    )


def conv_result(x: Array, weight: Array, bias: Any, *lists: Any) -> Array:
    return with_bias(Windows(*lists).conv(x, weight), bias)


def conv_backward(make: Make) -> tuple[Any, ...]:
    x, weight, _, *lists = conv(make)
    dy = make.array(Windows(*lists).conv(x.astype(float), weight.astype(float)).shape)
    return dy, x, weight, [4], *lists


def conv_gradients(dy: Array, x: Array, weight: Array, _: Any, *lists: Any) -> Any:
    windows = Windows(*lists)
    sums = dy.sum(tuple(axis for axis in range(dy.ndim) if axis != 1))
    return windows.conv_dx(dy, weight, x.shape), windows.conv_dw(dy, x, weight), sums


def added(windows: Windows) -> list[int]:
    return [max(s, d) - 1 for s, d in zip(windows.stride, windows.dilation, strict=True)]


def transposed_shape(x: Array, weight: Array, windows: Windows, more: Any) -> list[int]:
    lists = zip(
        x.shape[2:],
        windows.stride,
        windows.padding,
        windows.dilation,
        weight.shape[2:],
        more,
        strict=True,
    )
    sizes = [(n - 1) * s - 2 * p + d * (k - 1) + a + 1 for n, s, p, d, k, a in lists]
    return [x.shape[0], weight.shape[1] * windows.groups, *sizes]


def transposed(make: Make) -> tuple[Any, ...]:
    x, weight, bias, *lists = conv(make)
    windows = Windows(*lists)
    weight = make.array([x.shape[1], 4 // windows.groups, *weight.shape[2:]])
    stride, padding, dilation, groups = lists
    return x, weight, bias, stride, padding, added(windows), groups, dilation


def transposed_result(x: Array, weight: Array, bias: Any, *lists: Any) -> Array:
    stride, padding, more, groups, dilation = lists
    windows = Windows(stride, padding, dilation, groups)
    shape = transposed_shape(x, weight, windows, more)
    return with_bias(crop(windows.conv_dx(*grown(x, weight, windows, shape)), shape), bias)


def grown(x: Array, weight: Array, windows: Windows, shape: Any) -> tuple[Array, Array, Any]:
    """Returns the images with zeros for the further windows that the result has."""
    counts = [
        windows.count(axis, n, k)
        for axis, (n, k) in enumerate(zip(shape[2:], weight.shape[2:], strict=True))
    ]
    more = [max(count - n, 0) for count, n in zip(counts, x.shape[2:], strict=True)]
    return np.pad(x, [(0, 0), (0, 0), *[(0, n) for n in more]]), weight, shape


def crop(x: Array, shape: Any) -> Array:
    return x[tuple(slice(0, n) for n in shape)]


def transposed_backward(make: Make) -> tuple[Any, ...]:
    x, weight, _, stride, padding, more, groups, dilation = transposed(make)
    windows = Windows(stride, padding, dilation, groups)
    dy = make.array(transposed_shape(x, weight, windows, more))
    return dy, x, weight, [4], stride, padding, dilation, more, groups


def transposed_gradients(dy: Array, x: Array, weight: Array, _: Any, *lists: Any) -> Any:
    stride, padding, dilation, _, groups = lists
    windows = Windows(stride, padding, dilation, groups)
    filled, _, _ = grown(x, weight, windows, dy.shape)
    sums = dy.sum(tuple(axis for axis in range(dy.ndim) if axis != 1))
    return crop(windows.conv(dy, weight), x.shape), windows.conv_dw(filled, dy, weight), sums


def columns(make: Make) -> tuple[Any, ...]:
    windows = draw(make, 2)
    return make.array(), [2, 3], windows.dilation, windows.padding, windows.stride


def im2col(x: Array, kernel: list[int], *lists: Any) -> Array:
    dilation, padding, stride = lists
    windows = Windows(stride, padding, dilation, 1)
    weight = np.zeros((1, 1, *kernel))
    parts = [
        windows.padded(x)[(slice(None), slice(None), *cuts)]
        for _, _, cuts in windows.parts(x, weight)
    ]
    stacked = np.stack(parts, 2)
    return stacked.reshape(x.shape[0], x.shape[1] * len(parts), int(np.prod(stacked.shape[3:])))


def col2im_args(make: Make) -> tuple[Any, ...]:
    x, *lists = columns(make)
    cols = im2col(np.zeros(x.shape), *lists)
    return make.array(cols.shape), list(x.shape[2:]), *lists


def col2im(cols: Array, size: list[int], kernel: list[int], *lists: Any) -> Array:
    dilation, padding, stride = lists
    windows = Windows(stride, padding, dilation, 1)
    area = int(np.prod(kernel))
    shape = (cols.shape[0], cols.shape[1] // area, *size)
    images, weight = windows.padded(np.zeros(shape)), np.zeros((1, 1, *kernel))
    parts = cols.reshape(shape[0], shape[1], area, cols.shape[2])
    for number, (_, _, cuts) in enumerate(windows.parts(np.zeros(shape), weight)):
        target = images[(slice(None), slice(None), *cuts)]
        target += parts[:, :, number].reshape(target.shape)
    return windows.inner(images, shape)


def slices(make: Make) -> tuple[Any, ...]:
    axis = make.axis()
    size = int(make.rng.integers(0, make.shape[axis] + 1)) if make.shape else 1
    return make.array(), axis, size, int(make.rng.integers(1, 4))


def unfold(x: Array, axis: int, size: int, step: int) -> Array:
    if x.ndim == 0:
        return x.reshape(1)[:size]
    starts = range(0, x.shape[axis] - size + 1, step)
    parts = [np.moveaxis(x.take(range(start, start + size), axis), axis, -1) for start in starts]
    return np.stack(parts, axis % x.ndim)


def unfold_backward(make: Make) -> tuple[Any, ...]:
    x, *args = slices(make)
    return make.array(unfold(x, *args).shape), list(make.shape), *args


def folded(dy: Array, shape: list[int], axis: int, size: int, step: int) -> Array:
    places = unfold(np.arange(int(np.prod(shape, dtype=int))).reshape(shape), axis, size, step)
    dx = np.zeros(places.max(initial=-1) + 1 if not shape else int(np.prod(shape)))
    np.add.at(dx, places.ravel(), dy.ravel())
    return dx.reshape(shape)


def cases(space: int) -> Iterator[Case]:
    options: Any = {"shapes": SHAPES[space], "tolerance": 40}
    yield Case(f"diopiConvolution{space}d", conv, conv_result, **options)
    yield Case(f"diopiConvolution{space}dBackward", conv_backward, conv_gradients, **options)
    yield Case(f"diopiConvTranspose{space}d", transposed, transposed_result, **options)
    yield Case(
        f"diopiConvTranspose{space}dBackward", transposed_backward, transposed_gradients, **options
    )


CASES = [
    *cases(2),
    *cases(3),
    Case("diopiIm2Col", columns, im2col, NUMBER, shapes=SHAPES[2]),
    Case("diopiCol2Im", col2im_args, col2im, shapes=SHAPES[2], tolerance=10),
    Case("diopiUnfold", slices, unfold, NUMBER, shapes=[(3, 4), (7,), (2, 3, 5), ()]),
    Case(
        "diopiUnfoldBackward",
        unfold_backward,
        folded,
        shapes=[(3, 4), (7,), (2, 3, 5)],
        tolerance=10,
    ),
]


def test_convolution_without_batch_equals_batch_of_one(lib: Library) -> None:
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(2, 5, 5)), rng.normal(size=(3, 2, 2, 2))
    lists = None, [1], [0], [1], 1
    one = lib.call("diopiConvolution2d", Out((3, 4, 4), "float64"), x, weight, *lists)
    many = lib.call("diopiConvolution2d", Out((1, 3, 4, 4), "float64"), x[None], weight, *lists)
    np.testing.assert_array_equal(one, many[0])


def test_convolution_gradients_may_be_left_out(lib: Library) -> None:
    rng = np.random.default_rng(0)
    x, weight, dy = (
        rng.normal(size=(1, 2, 4, 4)),
        rng.normal(size=(3, 2, 2, 2)),
        rng.normal(size=(1, 3, 3, 3)),
    )
    args = dy, x, weight, None, [1, 1], [0, 0], [1, 1], 1
    name = "diopiConvolution2dBackward"
    dw = lib.call(name, None, Out(weight.shape, "float64"), None, *args)
    np.testing.assert_allclose(dw, Windows([1, 1], [0, 0], [1, 1], 1).conv_dw(dy, x, weight))


def test_convolution_other_shape_fails(lib: Library) -> None:
    x, weight = np.ones((1, 2, 4, 4)), np.ones((3, 2, 2, 2))
    with pytest.raises(DiopiError, match="`out` has the shape"):
        lists = None, [1, 1], [0, 0], [1, 1], 1
        lib.call("diopiConvolution2d", Out((1, 3, 4, 4), "float64"), x, weight, *lists)


@pytest.mark.parametrize("windows", [0, 1])
def test_windows_larger_than_the_input_do_not_count(lib: Library, windows: int) -> None:
    """Quotients are rounded down; PaddlePaddle truncates them, and has one window here."""
    x, weight = np.ones((1, 1, 4, 4)), np.ones((1, 1, 5, 5))
    calls = (
        ("diopiConvolution2d", (1, 1, windows, windows), x, weight, None, [3], [0], [1], 1),
        ("diopiIm2Col", (1, 25, windows), x, [5], [1], [0], [3]),
        ("diopiCol2Im", (1, 1, 4, 4), np.ones((1, 25, windows)), [4, 4], [5], [1], [0], [3]),
    )
    for name, shape, *arguments in calls:
        out = Out(shape, "float64")
        if windows:
            with pytest.raises(DiopiError, match="shape"):
                lib.call(name, out, *arguments)
        else:
            assert lib.call(name, out, *arguments).sum() == 0


def test_transposed_gradients_find_the_output_padding(lib: Library) -> None:
    rng = np.random.default_rng(0)
    x, weight, dy = (rng.normal(size=n) for n in [(1, 2, 3, 3), (2, 3, 2, 2), (1, 3, 7, 6)])
    outs = [Out(array.shape, "float64") for array in (x, weight, np.ones(3))]
    lists = [2, 2], [0, 0], [1, 1]
    name = "diopiConvTranspose2dBackward"
    results = [
        lib.call(name, *outs, dy, x, weight, [3], *lists, added, 1) for added in ([1, 0], [0, 0])
    ]
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(DiopiError, match="has the shape"):
        lib.call(name, *outs, np.ones((1, 3, 8, 6)), x, weight, [3], *lists, [0, 0], 1)
