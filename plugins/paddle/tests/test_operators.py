"""Operators of the spec: results, gradients and writes in place against Paddle's CPU kernels."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from numpy.typing import NDArray
from paddle.base import core

from host import RELEASE, normal, of_release, on_both

Operator = Callable[..., Any]

ANY = normal(3, 4) * 2
OTHER = normal(3, 4, seed=1) * 2
ROW = normal(4, seed=2)
POSITIVE = np.abs(normal(3, 4, seed=3)) + 0.1
UNIT = (np.random.default_rng(4).random((3, 4)) * 1.6 - 0.8).astype("float32")
PROBABILITY = (np.random.default_rng(5).random((3, 4)) * 0.8 + 0.1).astype("float32")

UNARY: dict[str, tuple[Operator, NDArray[Any]]] = {
    **{
        name: (getattr(F, name), ANY)
        for name in (
            "relu",
            "relu6",
            "elu",
            "selu",
            "celu",
            "silu",
            "swish",
            "mish",
            "softplus",
            "softsign",
            "sigmoid",
            "log_sigmoid",
            "tanh",
            "hardsigmoid",
            "hardswish",
            "hardtanh",
            "hardshrink",
            "softshrink",
            "tanhshrink",
            "thresholded_relu",
            "leaky_relu",
            "gelu",
        )
    },
    "gelu of tanh": (lambda x: F.gelu(x, approximate=True), ANY),
    "leaky relu of 0.2": (lambda x: F.leaky_relu(x, 0.2), ANY),
    "elu of 0.5": (lambda x: F.elu(x, 0.5), ANY),
    "softplus of 2": (lambda x: F.softplus(x, beta=2, threshold=1), ANY),
    "stanh": (paddle.stanh, ANY),
    "erfinv": (lambda x: paddle.erfinv(paddle.tanh(x)), ANY),
    **{
        name: (getattr(paddle, name), ANY)
        for name in (
            "abs",
            "square",
            "exp",
            "expm1",
            "sin",
            "cos",
            "sinh",
            "cosh",
            "asinh",
            "atan",
            "erf",
            "floor",
            "ceil",
            "round",
            "trunc",
            "reciprocal",
        )
    },
    **{
        name: (getattr(paddle, name), POSITIVE)
        for name in (
            "sqrt",
            "rsqrt",
            "log",
            "log2",
            "log10",
            "log1p",
            "lgamma",
        )
    },
    **{name: (getattr(paddle, name), UNIT) for name in ("asin", "acos", "atanh", "tan")},
    "acosh": (paddle.acosh, POSITIVE + 1),
    "logit": (lambda x: paddle.logit(x, 1e-3), PROBABILITY),
    "scale": (lambda x: paddle.scale(x, 2.5, 0.5, bias_after_scale=False), ANY),
    "power": (lambda x: paddle.pow(x, 3), ANY),
    "clip": (lambda x: paddle.clip(x, -0.5, 1.5), ANY),
}
"""Functions of one tensor with a gradient."""

BINARY: dict[str, Operator] = {
    "add": paddle.add,
    "subtract": paddle.subtract,
    "multiply": paddle.multiply,
    "divide": paddle.divide,
    "maximum": paddle.maximum,
    "minimum": paddle.minimum,
    "fmax": paddle.fmax,
    "fmin": paddle.fmin,
    "atan2": paddle.atan2,
    "lerp": lambda x, y: paddle.lerp(x, y, 0.25),
    "remainder": paddle.remainder,
    "where": lambda x, y: paddle.where(x > y, x, y),
    "power": lambda x, y: paddle.pow(paddle.abs(x) + 0.5, y),
}
"""Functions of two tensors with a gradient."""

COMPARISONS: dict[str, Operator] = {
    name: getattr(paddle, name)
    for name in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal")
}

INTEGERS: dict[str, Operator] = {
    **{
        name: getattr(paddle, name)
        for name in (
            "add",
            "subtract",
            "multiply",
            "maximum",
            "minimum",
            "floor_divide",
            "remainder",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
        )
    },
    "absolute value": lambda x, _: paddle.abs(x),
    "square": lambda x, _: paddle.square(x),
    "complement": lambda x, _: paddle.bitwise_not(x),
    "scale": lambda x, _: paddle.scale(x, 3, 2),
}

LOGIC: dict[str, Operator] = {
    **{name: getattr(paddle, name) for name in ("logical_and", "logical_or", "logical_xor")},
    "logical_not": lambda x, _: paddle.logical_not(x),
}


def with_gradients(operator: Operator, *arrays: NDArray[Any]) -> Callable[[], list[Any]]:
    """A computation of the result of an operator and of the gradients of its inputs."""

    def compute() -> list[Any]:
        inputs = [paddle.to_tensor(array, stop_gradient=False) for array in arrays]
        out = operator(*inputs)
        weights = paddle.to_tensor(normal(*out.shape, seed=9).astype(arrays[0].dtype))
        out.backward(weights)
        return [out.numpy(), *(tensor.grad.numpy() for tensor in inputs)]

    return compute


def assert_same(compute: Callable[[], list[Any]], tolerance: float) -> None:
    """Compares the device with Paddle's CPU."""
    ours, wanted = on_both(compute)
    assert len(ours) == len(wanted)
    for mine, other in zip(ours, wanted):
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", UNARY)
def test_unary_agrees_with_the_cpu(name: str, dtype: str) -> None:
    """Results and gradients."""
    operator, array = UNARY[name]
    assert_same(with_gradients(operator, array.astype(dtype)), 1e-5 if dtype == "float32" else 1e-6)


@pytest.mark.parametrize("name", ["relu", "leaky_relu"])
def test_gradients_of_gradients_agree_with_the_cpu(name: str) -> None:
    """The gradient by the weights of a gradient, as in penalties on gradients."""

    def compute() -> list[Any]:
        x = paddle.to_tensor(ANY, stop_gradient=False)
        weights = paddle.to_tensor(OTHER, stop_gradient=False)
        (slope,) = paddle.grad(getattr(F, name)(x), [x], [weights], create_graph=True)
        slope.sum().backward()
        return [slope.numpy(), weights.grad.numpy()]

    assert_same(compute, 1e-6)


@pytest.mark.parametrize(
    "other", [OTHER, ROW, OTHER[:, :1], OTHER[:1, :1]], ids=["same", "row", "column", "one"]
)
@pytest.mark.parametrize(
    "name",
    of_release({(2, 6): sorted(set(BINARY) - {"atan2", "remainder"}), (3, 0): sorted(BINARY)}),
)
def test_binary_broadcasts_as_the_cpu_does(name: str, other: NDArray[Any]) -> None:
    """Gradients of an operand that was broadcast are sums."""
    assert_same(with_gradients(BINARY[name], ANY, other), 1e-5)
    assert_same(with_gradients(BINARY[name], other, ANY), 1e-5)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_agree_with_the_cpu(name: str, dtype: str) -> None:
    """Numbers that are equal, less and greater; NaN is none of them."""
    left, right = np.array([0, 1, 2, 3]).astype(dtype), np.array([[1], [2]]).astype(dtype)
    if dtype.startswith("float"):
        left[0] = np.nan

    def compute() -> list[Any]:
        return [COMPARISONS[name](paddle.to_tensor(left), paddle.to_tensor(right)).numpy()]

    assert_same(compute, 0)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_agree_with_the_cpu(name: str, dtype: str) -> None:
    """Signs of quotients and remainders, and sums that wrap."""
    largest = np.iinfo(dtype).max
    left = np.array([-7, 7, -7, 7, largest], dtype=dtype)
    right = np.array([2, -2, -2, 2, 1], dtype=dtype)

    def compute() -> list[Any]:
        return [INTEGERS[name](paddle.to_tensor(left), paddle.to_tensor(right)).numpy()]

    assert_same(compute, 0)


@pytest.mark.parametrize("dtype", ["bool", "int32", "float32"])
@pytest.mark.parametrize("name", LOGIC)
def test_logic_agrees_with_the_cpu(name: str, dtype: str) -> None:
    """Any number but zero is true."""
    left, right = np.array([0, 1, 0, 2]).astype(dtype), np.array([0, 0, 3, 1]).astype(dtype)

    def compute() -> list[Any]:
        return [LOGIC[name](paddle.to_tensor(left), paddle.to_tensor(right)).numpy()]

    assert_same(compute, 0)


@pytest.mark.parametrize("name", ["isnan", "isinf", "isfinite"])
def test_special_values_are_found(name: str) -> None:
    """NaN and both infinities."""
    array = np.array([0, np.nan, np.inf, -np.inf], dtype="float32")

    def compute() -> list[Any]:
        return [getattr(paddle, name)(paddle.to_tensor(array)).numpy()]

    assert_same(compute, 0)


def rounded(array: NDArray[Any], dtype: str) -> NDArray[Any]:
    """Returns float32 numbers as those of half precision, rounded to nearest, ties to even.

    Older releases of Paddle round otherwise in their own casts.
    """
    nearest: NDArray[Any]
    if dtype == "float16":
        nearest = array.astype("float16").astype("float32")
    else:
        bits = array.view("uint32")
        up = (bits >> 16 & 1) + 0x7FFF
        nearest = (bits + up.astype("uint32") & np.uint32(0xFFFF0000)).view("float32")
    return nearest


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["relu", "silu", "exp", "sqrt"])
def test_half_precision_is_that_of_float32_rounded(name: str, dtype: str) -> None:
    """The arithmetic is done in float32."""
    operator = {"relu": F.relu, "silu": F.silu, "exp": paddle.exp, "sqrt": paddle.sqrt}[name]
    half = paddle.to_tensor(POSITIVE).astype(dtype)
    ours = operator(half)
    assert str(ours.dtype).endswith(dtype)
    wanted = rounded(operator(half.astype("float32")).numpy(), dtype)
    np.testing.assert_array_equal(ours.astype("float32").numpy(), wanted)


@pytest.mark.parametrize("shape", of_release({(2, 6): [()], (3, 0): [(), (0,), (2, 0, 3)]}))
def test_shapes_without_elements_or_dimensions(shape: tuple[int, ...]) -> None:
    """A number, and tensors without elements."""
    assert_same(with_gradients(paddle.exp, np.ones(shape, "float32")), 1e-6)
    assert_same(with_gradients(paddle.add, np.ones(shape, "float32"), np.ones(shape, "float32")), 0)


SPEC = Path(__file__).parents[3] / "spec" / "paddle" / "kernels"
"""The files that say which kernels the plugin has."""


def kernels_of_the_spec(*groups: str) -> list[str]:
    """Returns the names of the kernels that the plugin registers for this release from the spec.

    Args:
        groups: The files of the kernels; none stands for all.
    """

    def is_current(entry: str) -> bool:
        since, until = (re.search(rf'{key}: "(\d+)\.(\d+)"', entry) for key in ("since", "until"))
        first = (int(since[1]), int(since[2])) if since else RELEASE
        last = (int(until[1]), int(until[2])) if until else RELEASE
        return first <= RELEASE <= last

    files = [SPEC / f"{group}.yaml" for group in groups] or SPEC.glob("*.yaml")
    entries = [entry for file in files for entry in file.read_text().split("\n  - ")]
    kernels = (re.search(r"kernel: (\w+)", entry) for entry in entries if is_current(entry))
    return sorted({kernel[1] for kernel in kernels if kernel})


def test_every_kernel_of_the_spec_is_one_of_paddle() -> None:
    """A misspelled name would be registered, and never called."""
    known = core._get_registered_phi_kernels("all")
    missing = [name for name in kernels_of_the_spec() if name not in known]
    assert missing == []
