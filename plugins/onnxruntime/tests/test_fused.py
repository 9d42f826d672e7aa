"""Operators of ONNX Runtime itself, beside its CPU provider: quantised and fused nodes."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx import helper

import provider
from provider import Array, model, random, session


def compare(
    node: Any,
    inputs: dict[str, Array],
    weights: dict[str, Array],
    *,
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> None:
    """Runs a node on the device alone, twice, and on the CPU provider."""
    made = model([node], inputs, list(node.output[:1]), weights)
    made.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    (expected,) = session(made, on_device=False).run(None, inputs)
    on_device = session(made, optimised=False, only_device=provider.minor() > 24)
    for _ in range(2):
        (found,) = on_device.run(None, inputs)
        assert found.dtype == expected.dtype
        numpy.testing.assert_allclose(
            found.astype(numpy.float64), expected.astype(numpy.float64), rtol, atol
        )


def microsoft(operator: str, *inputs: str, **attributes: Any) -> Any:
    """Makes a node of ONNX Runtime's own domain."""
    return helper.make_node(operator, list(inputs), ["y"], domain="com.microsoft", **attributes)


def bytes_of(*shape: int, seed: int = 0) -> Array:
    """Returns random bytes."""
    return numpy.random.default_rng(seed).integers(0, 256, shape, numpy.uint8)


@pytest.mark.parametrize("zeros", ["none", "packed", "floats"])
@pytest.mark.parametrize("are_constants", [True, False])
@pytest.mark.parametrize(("columns", "size"), [(64, 32), (80, 32), (96, 16)])
def test_products_with_weights_of_four_bits(
    zeros: str, are_constants: bool, columns: int, size: int
) -> None:
    rows, count = 24, -(-columns // size)
    weights = {
        "b": bytes_of(rows, count, size // 2),
        "scales": numpy.abs(random(rows * count, seed=1)) + 0.1,
    }
    if zeros == "packed":
        weights["zeros"] = bytes_of(rows * -(-count // 2), seed=2)
    if zeros == "floats":
        weights["zeros"] = random(rows * count, seed=2) * 4 + 8
    inputs = {"a": random(2, 3, columns)}
    node = microsoft("MatMulNBits", "a", *weights, K=columns, N=rows, bits=4, block_size=size)
    if not are_constants:
        inputs, weights = {**inputs, **weights}, {}
    compare(node, inputs, weights, atol=1e-3)


@pytest.mark.parametrize("kind", [numpy.uint8, numpy.int8])
@pytest.mark.parametrize("is_per_channel", [False, True])
def test_convolutions_of_bytes(kind: Any, is_per_channel: bool) -> None:
    generator = numpy.random.default_rng(4)
    channels = 6 if is_per_channel else 1
    x = generator.integers(-100, 100, (2, 4, 7, 7)).astype(kind)
    weights = {
        "x_scale": numpy.float32(0.05),
        "x_zero": kind(3),
        "w": generator.integers(-100, 100, (6, 4, 3, 3)).astype(numpy.int8),
        "w_scale": generator.uniform(0.01, 0.05, channels).astype(numpy.float32),
        "w_zero": numpy.zeros(channels, numpy.int8),
        "y_scale": numpy.float32(0.9),
        "y_zero": kind(7),
        "bias": generator.integers(-1000, 1000, 6).astype(numpy.int32),
    }
    if not is_per_channel:
        weights |= {name: weights[name][0] for name in ("w_scale", "w_zero")}
    weights = {name: numpy.asarray(value) for name, value in weights.items()}
    node = helper.make_node("QLinearConv", ["x", *weights], ["y"], pads=[1] * 4)
    # A sum that lies halfway between two bytes may be rounded either way.
    compare(node, {"x": x}, weights, rtol=0, atol=1)


def test_normalisations_of_sums() -> None:
    inputs = {"x": random(2, 3, 8), "skip": random(2, 3, 8, seed=1)}
    for operator, weights in (
        ("SkipSimplifiedLayerNormalization", {"gamma": random(8, seed=2)}),
        ("SkipSimplifiedLayerNormalization", {"gamma": random(8), "bias": random(8, seed=3)}),
        ("SkipLayerNormalization", {"gamma": random(8), "beta": random(8, seed=3)}),
    ):
        node = microsoft(operator, *inputs, *weights, epsilon=1e-5)
        compare(node, inputs, weights)


@pytest.mark.parametrize("operator", ["Gelu", "QuickGelu", "FastGelu", "BiasGelu"])
def test_activations(operator: str) -> None:
    weights = {"bias": random(8, seed=1)} if operator in ("FastGelu", "BiasGelu") else {}
    compare(microsoft(operator, "x", *weights), {"x": random(4, 8)}, weights)


def test_products_and_convolutions() -> None:
    node = microsoft("FusedMatMul", "a", "b", transA=1, transB=1, alpha=0.5)
    compare(node, {"a": random(5, 3)}, {"b": random(4, 5)})
    weights = {"w": random(4, 3, 3, 3), "bias": random(4)}
    for activation, numbers in (("Relu", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.5])):
        attributes = {"activation_params": numbers} if numbers else {}
        node = microsoft("FusedConv", "x", *weights, activation=activation, **attributes)
        compare(node, {"x": random(1, 3, 6, 6)}, weights)
