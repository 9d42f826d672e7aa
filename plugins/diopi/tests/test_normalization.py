"""Batch, layer, group and instance normalization, and their steps across several devices."""

from typing import Any

import numpy as np
import pytest

from host import DiopiError, Library, Out
from samples import gradient as slope
from tables import REAL, Case, Make, test_results
from tensors import Array

__all__ = ["test_results"]

SHAPES = [(4, 3), (2, 3, 5), (3, 4, 2, 3), (2, 2, 3, 2, 2), (6, 1, 4)]
LAYERS = [(4, 3), (2, 3, 5), (7,), (3, 4, 2, 3), (0, 3, 4)]
EPS = 1e-5


def others(x: Array) -> tuple[int, ...]:
    """Returns the dimensions that are not that of the channels."""
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def by_channel(numbers: Array, x: Array) -> Array:
    return numbers.reshape(-1, *[1] * (x.ndim - 2))


def statistics(x: Array, axes: tuple[int, ...], eps: float = EPS) -> tuple[Array, Array]:
    mean = x.mean(axes, keepdims=True)
    return mean, 1 / np.sqrt(x.var(axes, keepdims=True) + eps)


def gradient(dy: Array, x: Array, axes: tuple[int, ...], mean: Array, invstd: Array) -> Array:
    """Returns the gradient of `(x - mean) * invstd`, whose statistics are those of x."""
    y = (x - mean) * invstd
    means = [part.mean(axes, keepdims=True) for part in (dy, dy * y)]
    return np.asarray((dy - means[0] - y * means[1]) * invstd)


def affine(make: Make, shape: Any) -> tuple[Any, Any]:
    """Returns a weight and a bias, which may be missing."""
    weight = make.array(shape) if make.run % 3 else None
    return weight, make.array(shape) if make.run % 4 else None


def one(weight: Any) -> Any:
    return 1 if weight is None else weight


# Batch normalization.


def batch(make: Make) -> tuple[Any, ...]:
    x, channels = make.array(), make.shape[1]
    running = make.array([channels]).copy(), make.array([channels], 0.5, 2).copy()
    return x, *affine(make, [channels]), *running, make.run % 2 == 0, 0.1, EPS


def batch_norm(x: Array, weight: Any, bias: Any, mean: Array, var: Array, *rest: Any) -> Any:
    training, _, eps = rest
    invstd = 1 / np.sqrt(var + eps)
    if training:
        mean, invstd = (part.ravel() for part in statistics(x, others(x), eps))
    y = (x - by_channel(mean, x)) * by_channel(invstd, x)
    y = y if weight is None else y * by_channel(weight, x)
    return (y if bias is None else y + by_channel(bias, x)), mean, invstd


def batch_backward(make: Make) -> tuple[Any, ...]:
    x, weight, _, mean, var, training, _, eps = batch(make)
    saved = [part.ravel().astype(make.dtype) for part in statistics(x.astype(float), others(x))]
    return make.array(), x, weight, mean, var, *saved, training, eps


def batch_gradients(dy: Array, x: Array, weight: Any, *rest: Any) -> Any:
    mean, var, saved_mean, saved_invstd, training, eps = rest
    if training:
        mean, invstd = saved_mean, saved_invstd
    else:
        invstd = 1 / np.sqrt(var + eps)
    mean, invstd = by_channel(mean, x), by_channel(invstd, x)
    y, dy_y = (x - mean) * invstd, dy if weight is None else dy * by_channel(weight, x)
    dx = gradient(dy_y, x, others(x), mean, invstd) if training else dy_y * invstd
    return dx, (dy * y).sum(others(x)), dy.sum(others(x))


def elementwise(make: Make) -> tuple[Any, ...]:
    x, channels = make.array(), [make.shape[1]]
    return x, *affine(make, channels), make.array(channels), make.array(channels, 0.5, 2), EPS


def normalized(x: Array, weight: Any, bias: Any, mean: Array, invstd: Array, _: float) -> Array:
    y = (x - by_channel(mean, x)) * by_channel(invstd, x)
    y = y if weight is None else y * by_channel(weight, x)
    return y if bias is None else y + by_channel(bias, x)


def gathered(make: Make) -> tuple[Any, ...]:
    channels = make.shape[1]
    means, invstds = make.array([3, channels]), make.array([3, channels], 0.5, 2)
    counts = make.array([3], 2, 9, np.int32 if make.run % 2 else make.dtype)
    return make.array(), means, invstds, None, None, 0.1, EPS, np.round(counts)


def combined(x: Array, means: Array, invstds: Array, *rest: Any) -> Any:
    counts = rest[-1][:, None]
    mean = (means * counts).sum(0) / counts.sum()
    squares = ((invstds**-2 - EPS + (means - mean) ** 2) * counts).sum(0)
    return mean, 1 / np.sqrt(squares / counts.sum() + EPS)


def reduce_backward(make: Make) -> tuple[Any, ...]:
    x, weight, _, mean, invstd, _ = elementwise(make)
    return make.array(), x, mean, invstd, weight, True, True, True


def reduced(dy: Array, x: Array, mean: Array, invstd: Array, *_: Any) -> Any:
    products = (dy * (x - by_channel(mean, x))).sum(others(x))
    return dy.sum(others(x)), products, products * invstd, dy.sum(others(x))


def elementwise_backward(make: Make) -> tuple[Any, ...]:
    dy, x, mean, invstd, weight, *_ = reduce_backward(make)
    count = x.size // x.shape[1]
    sums = [make.array([x.shape[1]]) for _ in range(2)]
    return dy, x, mean, invstd, weight, *sums, np.array([count, 3], np.int32)


def from_sums(dy: Array, x: Array, mean: Array, invstd: Array, weight: Any, *sums: Any) -> Array:
    sum_dy, products = (by_channel(part / sums[2].sum(), x) for part in sums[:2])
    mean, invstd = by_channel(mean, x), by_channel(invstd, x)
    factor = invstd if weight is None else invstd * by_channel(weight, x)
    return np.asarray((dy - sum_dy - (x - mean) * invstd**2 * products) * factor)


# Layer, group and instance normalization.


def last(x: Array, shape: Any) -> tuple[int, ...]:
    return tuple(range(x.ndim - len(shape), x.ndim))


def layer(make: Make) -> tuple[Any, ...]:
    x = make.array()
    shape = x.shape[int(make.rng.integers(0, x.ndim)) :]
    return x, *affine(make, shape), shape, EPS


def layer_norm(x: Array, weight: Any, bias: Any, shape: Any, eps: float) -> Any:
    mean, invstd = statistics(x, last(x, shape), eps)
    return (x - mean) * invstd * one(weight) + (0 if bias is None else bias), mean, invstd


def layer_backward(make: Make) -> tuple[Any, ...]:
    x, weight, bias, shape, _ = layer(make)
    saved = statistics(x.astype(float), last(x, shape))
    return make.array(), x, weight, bias, *[part.astype(make.dtype) for part in saved], shape


def layer_gradients(dy: Array, x: Array, weight: Any, _: Any, *rest: Any) -> Any:
    mean, invstd, shape = rest
    leading = tuple(range(x.ndim - len(shape)))
    dx = gradient(dy * one(weight), x, last(x, shape), mean, invstd)
    return dx, (dy * (x - mean) * invstd).sum(leading), dy.sum(leading)


def layer_from(make: Make) -> tuple[Any, ...]:
    x, weight, bias, shape, _ = layer(make)
    eps = [EPS, 0.5, 2.0][make.run % 3]
    return x, weight, bias, eps, x.ndim - len(shape) - (x.ndim if make.run % 2 else 0)


def layer_norm_from(x: Array, weight: Any, bias: Any, eps: float, axis: int) -> Any:
    return layer_norm(x, weight, bias, x.shape[axis:], eps)


def layer_from_backward(make: Make) -> tuple[Any, ...]:
    x, weight, bias, eps, axis = layer_from(make)
    _, *saved = layer_norm_from(x.astype(float), None, None, eps, axis)
    return make.array(), x, weight, bias, *[part.astype(make.dtype) for part in saved], axis


def layer_from_gradients(dy: Array, x: Array, weight: Any, bias: Any, *rest: Any) -> Any:
    mean, invstd, axis = rest
    return layer_gradients(dy, x, weight, bias, mean, invstd, x.shape[axis:])


def group(make: Make) -> tuple[Any, ...]:
    channels = make.shape[1]
    groups = [n for n in range(1, channels + 1) if channels % n == 0]
    return make.array(), *affine(make, [channels]), groups[make.run % len(groups)], EPS


def group_norm(x: Array, weight: Any, bias: Any, groups: int, eps: float) -> Any:
    parts = x.reshape(x.shape[0], groups, -1)
    mean, invstd = statistics(parts, (2,), eps)
    y = ((parts - mean) * invstd).reshape(x.shape)
    y = y if weight is None else y * by_channel(weight, x)
    return (y if bias is None else y + by_channel(bias, x)), mean[..., 0], invstd[..., 0]


def group_backward(make: Make) -> tuple[Any, ...]:
    x, weight, _, groups, eps = group(make)
    _, *saved = group_norm(x.astype(float), None, None, groups, eps)
    return make.array(), x, weight, *[part.astype(make.dtype) for part in saved], groups


def group_gradients(dy: Array, x: Array, weight: Any, *rest: Any) -> Any:
    mean, invstd, groups = rest
    parts = x.reshape(x.shape[0], groups, -1)
    mean, invstd = mean[..., None], invstd[..., None]
    dy_y = dy if weight is None else dy * by_channel(weight, x)
    dx = gradient(dy_y.reshape(parts.shape), parts, (2,), mean, invstd)
    y = ((parts - mean) * invstd).reshape(x.shape)
    return dx.reshape(x.shape), (dy * y).sum(others(x)), dy.sum(others(x))


def instance(make: Make) -> tuple[Any, ...]:
    # The dimensions from the axis on are normalized. Those between the first and it are channels.
    axis = 1 + make.run % (len(make.shape) - 1)
    channels = make.shape[1:axis] if make.run % 2 else [int(np.prod(make.shape[1:axis]))]
    weight, bias = affine(make, channels)
    return make.array(), axis - (len(make.shape) if make.run % 2 else 0), weight, bias, 1e-2


def flat(numbers: Any) -> Any:
    return None if numbers is None else numbers.ravel()


def by_instance(x: Array, axis: int) -> Array:
    """Returns the examples, their channels, and the elements that are normalized together."""
    channels = int(np.prod(x.shape[1:axis]))
    return x.reshape(x.shape[0], channels, -1)


def instance_norm(x: Array, axis: int, weight: Any, bias: Any, eps: float) -> Array:
    parts = by_instance(x, axis)
    y, _, _ = group_norm(parts, flat(weight), flat(bias), parts.shape[1], eps)
    return np.asarray(y.reshape(x.shape))


def instance_backward(make: Make) -> tuple[Any, ...]:
    x, axis, weight, bias, eps = instance(make)
    return make.array(), x, weight, bias, axis, eps


def instance_gradients(dy: Array, x: Array, weight: Any, _: Any, axis: int, eps: float) -> Any:
    parts = by_instance(x, axis)
    _, mean, invstd = group_norm(parts, None, None, parts.shape[1], eps)
    dx, *rest = group_gradients(
        by_instance(dy, axis), parts, flat(weight), mean, invstd, parts.shape[1]
    )
    return dx.reshape(x.shape), *rest


def vectors(make: Make) -> tuple[Any, ...]:
    return (
        make.array(low=0.2),
        [1.0, 2.0, 3.0][make.run % 3],
        make.axis(),
        [1e-12, 4.0][make.run % 2],
    )


def normalize(x: Array, p: float, axis: int, eps: float) -> Array:
    norms = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)
    return np.asarray(x / np.maximum(norms, eps))


def normalize_backward(dy: Array, x: Array, p: float, axis: int, eps: float) -> Array:
    norms = (np.abs(x) ** p).sum(axis, keepdims=True) ** (1 / p)
    divisors = np.maximum(norms, eps)
    slope = np.sign(x) * np.abs(x) ** (p - 1) / norms ** (p - 1) * (norms >= eps)
    return np.asarray(dy / divisors - slope * (dy * x).sum(axis, keepdims=True) / divisors**2)


def case(
    name: str,
    args: Any,
    reference: Any,
    *,
    shapes: Any = SHAPES,
    tolerance: float = 8,
    **options: Any,
) -> Case:
    return Case(f"diopi{name}", args, reference, shapes=shapes, tolerance=tolerance, **options)


CASES = [
    case("BatchNorm", batch, batch_norm, tolerance=40),
    case("BatchNormBackward", batch_backward, batch_gradients, tolerance=100),
    case(
        "BatchNormStats",
        lambda make: (make.array(), EPS),
        lambda x, eps: tuple(part.ravel() for part in statistics(x, others(x), eps)),
    ),
    case("BatchNormGatherStatsWithCounts", gathered, combined, tolerance=40),
    case("BatchNormElemt", elementwise, normalized),
    case("BatchNormBackwardReduce", reduce_backward, reduced, tolerance=20),
    case("BatchNormBackwardElemt", elementwise_backward, from_sums, tolerance=20),
    case("LayerNorm", layer, layer_norm, shapes=LAYERS, tolerance=40),
    case("LayerNormBackward", layer_backward, layer_gradients, shapes=LAYERS, tolerance=100),
    case("LayerNormGB", layer_from, layer_norm_from, shapes=LAYERS, tolerance=40),
    case(
        "LayerNormGBBackward",
        layer_from_backward,
        layer_from_gradients,
        shapes=LAYERS,
        tolerance=100,
    ),
    case("GroupNorm", group, group_norm, tolerance=40),
    case("GroupNormBackward", group_backward, group_gradients, tolerance=100),
    case("InstanceNorm", instance, instance_norm, shapes=SHAPES[1:], tolerance=40),
    case(
        "InstanceNormBackward",
        instance_backward,
        instance_gradients,
        shapes=SHAPES[1:],
        tolerance=100,
    ),
    case("Normalize", vectors, normalize, shapes=SHAPES),
    case("NormalizeBackward", lambda make: (make.array(), *vectors(make)), normalize_backward),
]


@pytest.mark.parametrize("dtype", REAL[:3], ids=str)
def test_batch_norm_running_statistics_follow(lib: Library, dtype: Any) -> None:
    x = np.random.default_rng(1).normal(size=(4, 3, 5)).astype(dtype)
    mean, var = np.ones(3, dtype), np.full(3, 2, dtype)
    outs = [Out(x.shape, dtype), Out((3,), dtype), Out((3,), dtype)]
    lib.call("diopiBatchNorm", *outs, x, None, None, mean, var, True, 0.25, EPS)
    wide = x.astype(float)
    error = 1e-2 if dtype == np.float16 else 1e-5
    np.testing.assert_allclose(mean, 0.75 + 0.25 * wide.mean((0, 2)), error)
    np.testing.assert_allclose(var, 1.5 + 0.25 * wide.var((0, 2), ddof=1), error)


def test_batch_norm_one_sample_is_bias(lib: Library) -> None:
    x, bias = np.array([[1, 2, 3]], np.float32), np.array([4, 5, 6], np.float32)
    outs = [Out((1, 3), "float32"), Out((3,), "float32"), Out((3,), "float32")]
    out, mean, _ = lib.call("diopiBatchNorm", *outs, x, None, bias, None, None, True, 0.1, EPS)
    np.testing.assert_array_equal(out[0], bias)
    np.testing.assert_array_equal(mean, x[0])


def test_batch_norm_without_running_statistics_fails(lib: Library) -> None:
    x = np.ones((2, 3), np.float32)
    outs = [Out((2, 3), "float32"), Out((3,), "float32"), Out((3,), "float32")]
    with pytest.raises(DiopiError, match="running statistics are null"):
        lib.call("diopiBatchNorm", *outs, x, None, None, None, None, False, 0.1, EPS)


def test_gathered_statistics_running_statistics_follow(lib: Library) -> None:
    means, invstds = np.array([[1.0], [3.0]]), np.array([[1.0], [0.5]])
    mean, var, counts = np.ones(1), np.ones(1), np.array([2, 6], np.int32)
    args = np.ones((2, 1)), means, invstds, mean, var, 0.5, 0.0, counts
    name = "diopiBatchNormGatherStatsWithCounts"
    lib.call(name, Out((1,), "float64"), Out((1,), "float64"), *args)
    np.testing.assert_allclose(mean, 0.5 + 0.5 * 2.5)
    # Two elements with the variance 1 and the distance 1.5, and six with 4 and 0.5.
    np.testing.assert_allclose(var, 0.5 + 0.5 * (2 * (1 + 2.25) + 6 * (4 + 0.25)) / 7)


def test_layer_norm_other_shape_fails(lib: Library) -> None:
    outs = [Out((2, 3), "float32"), Out((2, 1), "float32"), Out((2, 1), "float32")]
    with pytest.raises(DiopiError, match="does not end with"):
        lib.call("diopiLayerNorm", *outs, np.ones((2, 3), np.float32), None, None, [2], EPS)


def test_layer_norm_from_saves_what_its_gradient_takes(lib: Library) -> None:
    # The summand of the variance is large, and the gradient has no parameter for it.
    draw = np.random.default_rng(3)
    x, dy = draw.normal(size=(2, 8)), draw.normal(size=(2, 8))
    outs = [Out(x.shape, float), Out((2, 1), float), Out((2, 1), float)]
    _, mean, invstd = lib.call("diopiLayerNormGB", *outs, x, None, None, 2.0, 1)
    np.testing.assert_allclose(invstd, 1 / np.sqrt(x.var(1, keepdims=True) + 2), 1e-12)
    args = [Out(x.shape, float), None, None, dy, x, None, None, mean, invstd, 1]
    result = lib.call("diopiLayerNormGBBackward", *args)

    def normalized(x: Array) -> Array:
        return np.asarray((x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 2))

    np.testing.assert_allclose(result, slope(normalized, [x], dy)[0], 1e-6)


@pytest.mark.parametrize("name", ["diopiInstanceNorm", "diopiInstanceNormBackward"])
def test_instance_norm_wrong_axis_and_shapes_fail(lib: Library, name: str) -> None:
    x, scale = np.ones((2, 3, 4), np.float32), np.ones(3, np.float32)

    def call(axis: int, scale: Array) -> None:
        if name == "diopiInstanceNorm":
            lib.call(name, Out(x.shape, "float32"), x, axis, scale, None, EPS)
        else:
            outs = Out(x.shape, "float32"), Out(scale.shape, "float32"), None
            lib.call(name, *outs, x, x, scale, None, axis, EPS)

    call(2, scale)
    with pytest.raises(DiopiError, match="the first dimension"):
        call(0, scale)
    with pytest.raises(DiopiError, match="no dimension 3"):
        call(3, scale)
    with pytest.raises(DiopiError, match="`scale` has the shape"):
        call(2, scale[:2])
