"""Pooling in one, two and three dimensions."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from tables import NUMBER, Case, Make, test_results
from tensors import Array

__all__ = ["test_results"]

SHAPES = {
    1: [(2, 3, 9), (3, 8), (1, 2, 12), (0, 2, 9)],
    2: [(2, 3, 9, 7), (2, 8, 10), (1, 1, 12, 6), (0, 2, 8, 8)],
    3: [(1, 2, 6, 7, 5), (2, 6, 5, 8), (2, 1, 8, 6, 6)],
}


@dataclass(frozen=True)
class Windows:
    """The arguments of pooling, as lists with one number for each dimension."""

    size: list[int]
    stride: list[int]
    padding: list[int]
    dilation: list[int]
    ceil_mode: bool

    @staticmethod
    def draw(make: Make, space: int, dilated: bool) -> "Windows":
        """Draws arguments for the call."""

        def draw(low: int, high: int) -> list[int]:
            return [int(number) for number in make.rng.integers(low, high, space)]

        size, dilation = draw(1, 4), draw(1, 3) if dilated else [1] * space
        padding = [
            int(make.rng.integers(0, (k - 1) * d // 2 + 1))
            for k, d in zip(size, dilation, strict=True)
        ]
        padding = [min(p, k // 2) for p, k in zip(padding, size, strict=True)]
        stride = draw(1, 4) if make.run % 3 else []
        return Windows(size, stride, padding, dilation, bool(make.rng.integers(0, 2)))

    def along(self, axis: int, n: int) -> list[tuple[list[int], int]]:
        """Returns the places of each window in a dimension, and its length with padding."""
        k, p, d = self.size[axis], self.padding[axis], self.dilation[axis]
        s = (self.stride or self.size)[axis]
        starts = [i * s - p for i in range(n + 2 * p) if i * s - p + d * (k - 1) < n + p]
        if (
            self.ceil_mode
            and starts
            and starts[-1] + d * (k - 1) < n + p - 1
            and starts[-1] + s < n
        ):
            starts.append(starts[-1] + s)
        places = [[i for i in range(a, a + d * k, d) if 0 <= i < n] for a in starts]
        return [(inner, min(a + k, n + p) - a) for inner, a in zip(places, starts, strict=True)]


def adaptive(n: int, count: int) -> list[tuple[list[int], int]]:
    ends = [(i * n // count, -(-(i + 1) * n // count)) for i in range(count)]
    return [(list(range(a, b)), b - a) for a, b in ends]


def visit(axes: list[list[tuple[list[int], int]]]) -> Iterator[tuple[tuple[int, ...], Any, int]]:
    """Yields the index of each window, its elements and its size with padding."""
    for index in np.ndindex(*[len(axis) for axis in axes]):
        parts = [axis[i] for axis, i in zip(axes, index, strict=True)]
        yield (
            index,
            np.ix_(*[inner for inner, _ in parts]),
            int(np.prod([size for _, size in parts])),
        )


def pooled(x: Array, axes: list[Any], value: Callable[[Array, Any, int], Any], dtype: Any) -> Array:
    """Computes one number of each window of each image."""
    space = len(axes)
    out = np.zeros([*x.shape[:-space], *[len(axis) for axis in axes]], dtype)
    for image in np.ndindex(*x.shape[:-space]):
        for index, inner, size in visit(axes):
            out[image + index] = value(x[image], inner, size)
    return out


def spread(x: Array, dy: Array, axes: list[Any], factor: Callable[[Any, int], float]) -> Array:
    """Adds the gradient of each window to all of its elements."""
    space, dx = len(axes), np.zeros(x.shape)
    for image in np.ndindex(*x.shape[:-space]):
        for index, inner, size in visit(axes):
            dx[image][inner] += dy[image + index] * factor(inner, size)
    return dx


def place(image: Array, inner: Any, _: int) -> int:
    numbers = np.arange(image.size).reshape(image.shape)[inner].ravel()
    return int(numbers[np.argmax(image[inner].ravel())])


def maxima(x: Array, axes: list[Any]) -> Array:
    return pooled(x, axes, lambda image, inner, _: image[inner].max(), x.dtype)


def places(x: Array, axes: list[Any]) -> Array:
    return pooled(x, axes, place, np.int64)


def scatter(dy: Array, x: Array, indices: Array, space: int) -> Array:
    dx = np.zeros(x.shape)
    for image in np.ndindex(*x.shape[:-space]):
        np.add.at(dx[image].reshape(-1), indices[image].ravel(), dy[image].ravel())
    return dx


def mean_factor(include_pad: bool, divisor: int | None) -> Callable[[Any, int], float]:
    return lambda inner, size: (
        1 / (divisor or (size if include_pad else int(np.prod([len(it.ravel()) for it in inner]))))
    )


def means(x: Array, axes: list[Any], factor: Callable[[Any, int], float]) -> Array:
    return pooled(
        x, axes, lambda image, inner, size: image[inner].sum() * factor(inner, size), x.dtype
    )


class Pool:
    """The cases of one number of dimensions."""

    def __init__(self, space: int) -> None:
        self.space = space

    def axes(self, x: Array, windows: Windows) -> list[Any]:
        return [windows.along(n, x.shape[n - self.space]) for n in range(self.space)]

    def sizes(self, x: Array, output: Sequence[int]) -> list[Any]:
        return [adaptive(n, count) for n, count in zip(x.shape[-self.space :], output, strict=True)]

    def image(self, make: Make) -> Array:
        """Returns images of different elements, so that each window has one maximum."""
        x = make.array()
        numbers = make.rng.permutation(x.size).astype(make.dtype).reshape(x.shape)
        return numbers if make.run % 2 else np.asfortranarray(numbers)

    def max(self, make: Make) -> tuple[Any, ...]:
        windows = Windows.draw(make, self.space, dilated=True)
        lists = windows.size, windows.stride, windows.padding, windows.dilation
        return self.image(make), *lists, windows.ceil_mode

    def max_axes(self, x: Array, *lists: Any) -> list[Any]:
        return self.axes(x, Windows(*lists))

    def max_backward(self, make: Make) -> tuple[Any, ...]:
        x, *lists = self.max(make)
        indices = places(x, self.max_axes(x, *lists))
        return (
            make.array(indices.shape),
            x,
            *lists,
            indices.astype([np.int64, np.int32][make.run % 2]),
        )

    def avg(self, make: Make) -> tuple[Any, ...]:
        windows = Windows.draw(make, self.space, dilated=False)
        lists = windows.size, windows.stride, windows.padding, windows.ceil_mode
        divisor = [[None, None, 5][make.run % 3]] if self.space > 1 else []
        return make.array(), *lists, bool(make.rng.integers(0, 2)), *divisor

    def avg_axes(self, x: Array, *lists: Any) -> tuple[list[Any], Callable[[Any, int], float]]:
        size, stride, padding, ceil_mode, include, *divisor = lists
        axes = self.axes(x, Windows(size, stride, padding, [1] * self.space, ceil_mode))
        return axes, mean_factor(include, divisor[0] if divisor else None)

    def avg_backward(self, make: Make) -> tuple[Any, ...]:
        x, *lists = self.avg(make)
        axes, _ = self.avg_axes(x, *lists)
        shape = [*x.shape[: -self.space], *map(len, axes)]
        return make.array(shape), x, *lists

    def adaptive(self, make: Make) -> tuple[Any, ...]:
        return self.image(make), [int(n) for n in make.rng.integers(1, 6, self.space)]

    def adaptive_backward(self, make: Make, with_indices: bool) -> tuple[Any, ...]:
        x, output = self.adaptive(make)
        dy = make.array([*x.shape[: -self.space], *output])
        return (dy, x, places(x, self.sizes(x, output))) if with_indices else (dy, x)

    def any(self, make: Make) -> tuple[Any, ...]:
        x, (size, stride, padding, dilation, ceil_mode) = make.array(), self.max(make)[1:]
        mode, is_adaptive = ["max", "avg"][make.run % 2], make.run % 4 > 1
        if mode == "avg":
            dilation, padding = [1] * self.space, [k // 2 for k in size]
        output = [2] * self.space
        return x, mode, size, stride, padding, dilation, ceil_mode, True, is_adaptive, output

    def any_axes(self, x: Array, mode: str, *lists: Any) -> list[Any]:
        *windows, _, is_adaptive, output = lists
        return self.sizes(x, output) if is_adaptive else self.axes(x, Windows(*windows))

    def any_result(self, x: Array, mode: str, *lists: Any) -> Array:
        axes = self.any_axes(x, mode, *lists)
        return maxima(x, axes) if mode == "max" else means(x, axes, mean_factor(False, None))

    def any_backward(self, make: Make) -> tuple[Any, ...]:
        _, *lists, output = self.any(make)
        x = self.image(make)
        dy = make.array(self.any_result(x, *lists, output).shape)
        indices = places(x, self.any_axes(x, *lists, output)) if make.run % 3 else None
        return dy, x, *lists, indices

    def any_gradient(self, dy: Array, x: Array, mode: str, *lists: Any) -> Array:
        axes = self.any_axes(x, mode, *lists[:-1], dy.shape[-self.space :])
        if mode == "max":
            return scatter(dy, x, places(x, axes), self.space)
        return spread(x, dy, axes, mean_factor(False, None))

    def cases(self) -> Iterator[Case]:
        n, shapes = self.space, SHAPES[self.space]

        def case(name: str, args: Any, reference: Any, **options: Any) -> Case:
            name = f"diopi{name.replace('#', str(n))}"
            return Case(name, args, reference, shapes=shapes, tolerance=2, **options)

        def with_places(x: Array, axes: list[Any]) -> tuple[Array, Array]:
            return maxima(x, axes), places(x, axes)

        axes, sizes, pair = self.max_axes, self.sizes, [None, "int64"]
        yield case(
            "MaxPool#d",
            self.max,
            lambda x, *lists: maxima(x, axes(x, *lists)),
            dtypes=NUMBER,
        )
        yield case(
            "MaxPool#dWithIndices",
            self.max,
            lambda x, *lists: with_places(x, axes(x, *lists)),
            result=pair,
            dtypes=NUMBER,
        )
        yield case(
            "MaxPool#dBackward",
            self.max_backward,
            lambda dy, x, *lists: scatter(dy, x, lists[-1], n),
        )
        yield case("AvgPool#d", self.avg, lambda x, *lists: means(x, *self.avg_axes(x, *lists)))
        yield case(
            "AvgPool#dBackward",
            self.avg_backward,
            lambda dy, x, *lists: spread(x, dy, *self.avg_axes(x, *lists)),
        )
        yield case("AdaptiveMaxPool#d", self.adaptive, lambda x, size: maxima(x, sizes(x, size)))
        yield case(
            "AdaptiveMaxPool#dWithIndices",
            self.adaptive,
            lambda x, size: with_places(x, sizes(x, size)),
            result=[None, "int32"],
        )
        yield case(
            "AdaptiveMaxPool#dBackward",
            lambda make: self.adaptive_backward(make, with_indices=True),
            lambda dy, x, indices: scatter(dy, x, indices, n),
        )
        factor = mean_factor(False, None)
        yield case(
            "AdaptiveAvgPool#d", self.adaptive, lambda x, size: means(x, sizes(x, size), factor)
        )
        yield case(
            "AdaptiveAvgPool#dBackward",
            lambda make: self.adaptive_backward(make, with_indices=False),
            lambda dy, x: spread(x, dy, sizes(x, dy.shape[-n:]), factor),
        )
        yield case("Pool#d", self.any, self.any_result)
        yield case("Pool#dBackward", self.any_backward, self.any_gradient)


CASES = list(itertools.chain.from_iterable(Pool(space).cases() for space in (1, 2, 3)))


def test_max_pool_padding_too_large_fails(lib: Library) -> None:
    x = np.zeros((1, 1, 4, 4), np.float32)
    with pytest.raises(DiopiError, match="a padding of 2"):
        lib.call("diopiMaxPool2d", Out((1, 1, 6, 6), "float32"), x, [3], [1], [2], [1], False)


def test_max_pool_other_shape_fails(lib: Library) -> None:
    x = np.zeros((1, 1, 4, 4), np.float32)
    with pytest.raises(DiopiError, match=r"not \[1, 1, 2, 2\]"):
        lib.call("diopiMaxPool2d", Out((1, 1, 3, 2), "float32"), x, [2], [], [0], [1], False)


def test_max_pool_nan_wins(lib: Library) -> None:
    x = np.array([[1, np.nan, 2, 3]], np.float32)
    out = lib.call("diopiMaxPool1d", Out((1, 2), "float32"), x, [2], [], [0], [1], False)
    np.testing.assert_array_equal(out, [[np.nan, 3]])


@pytest.mark.parametrize("dilation", [1, 2])
def test_max_pool_window_beyond_the_end(lib: Library, dilation: int) -> None:
    x = np.array([[3, 1, 4, 2]], np.float32)
    size = 5 if dilation == 1 else 3
    outs = Out((1, 1), "float32"), Out((1, 1), "int64")
    value, place = lib.call(
        "diopiMaxPool1dWithIndices", *outs, x, [size], [2], [0], [dilation], True
    )
    assert (value.item(), place.item()) == (4, 2)
    with pytest.raises(DiopiError, match="do not fit"):
        lib.call("diopiMaxPool1d", Out((1, 1), "float32"), x, [size], [2], [0], [dilation], False)
