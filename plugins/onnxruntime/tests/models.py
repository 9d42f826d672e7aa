"""Models with random weights, for tests and benchmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy
from onnx import ModelProto, helper, numpy_helper

from provider import Array


@dataclass
class Builder:
    """A graph that is being made."""

    inputs: dict[str, Array] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)
    weights: dict[str, Array] = field(default_factory=dict)
    generator: Any = field(default_factory=lambda: numpy.random.default_rng(7))

    def name(self) -> str:
        """Returns a name that nothing has."""
        return f"t{len(self.nodes) + len(self.weights)}"

    def input(self, name: str, array: Array) -> str:
        """Adds an input."""
        self.inputs[name] = array
        return name

    def weight(self, *shape: int, scale: float | None = None) -> str:
        """Adds random weights, by default so large that a product keeps the variance."""
        fan = max(1, int(numpy.prod(shape[1:])) if len(shape) > 2 else shape[0])
        values = self.generator.standard_normal(shape) * (scale or fan**-0.5)
        return self.constant(values.astype(numpy.float32))

    def constant(self, values: Any) -> str:
        """Adds a constant."""
        name = self.name()
        self.weights[name] = numpy.asarray(values)
        return name

    def node(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """Adds a node, and returns the names of its outputs."""
        names = [f"{self.name()}_{index}" for index in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def linear(self, x: str, fan_in: int, fan_out: int) -> str:
        """Adds a product with weights and a bias."""
        product = self.node("MatMul", x, self.weight(fan_in, fan_out))
        return str(self.node("Add", product, self.weight(fan_out)))

    def conv(self, x: str, out: int, channels: int, kernel: int, **attributes: Any) -> str:
        """Adds a convolution."""
        group = attributes.get("group", 1)
        filters = self.weight(out, channels // group, kernel, kernel)
        attributes.setdefault("pads", [kernel // 2] * 4)
        return str(self.node("Conv", x, filters, self.weight(out), **attributes))

    def norm(self, x: str, channels: int) -> str:
        """Adds a normalization by running statistics."""
        statistics = [numpy.abs(self.generator.standard_normal(channels)) + 0.5 for _ in range(2)]
        scale, variance = (self.constant(one.astype(numpy.float32)) for one in statistics)
        bias, mean = self.weight(channels), self.weight(channels)
        return str(self.node("BatchNormalization", x, scale, bias, mean, variance))

    def layer_norm(self, x: str, width: int) -> str:
        """Adds a normalization of vectors."""
        scale = self.constant(numpy.ones(width, numpy.float32))
        return str(self.node("LayerNormalization", x, scale, self.weight(width), axis=-1))

    def heads(self, x: str, batch: int, heads: int, width: int) -> str:
        """Splits vectors into heads."""
        split = self.node("Reshape", x, self.constant([batch, -1, heads, width // heads]))
        return str(self.node("Transpose", split, perm=[0, 2, 1, 3]))

    def attend(self, q: str, k: str, v: str, batch: int, heads: int, width: int) -> str:
        """Adds the attention of heads, and joins them."""
        scores = self.node("MatMul", q, self.node("Transpose", k, perm=[0, 1, 3, 2]))
        scaled = self.node(
            "Mul", scores, self.constant(numpy.array((width // heads) ** -0.5, numpy.float32))
        )
        mixed = self.node("MatMul", self.node("Softmax", scaled, axis=-1), v)
        joined = self.node("Transpose", mixed, perm=[0, 2, 1, 3])
        return str(self.node("Reshape", joined, self.constant([batch, -1, width])))

    def gelu(self, x: str) -> str:
        """Adds a GELU as frameworks export it."""

        def number(value: float) -> str:
            return self.constant(numpy.array(value, numpy.float32))

        erf = self.node("Erf", self.node("Div", x, number(2**0.5)))
        product = self.node("Mul", x, self.node("Add", erf, number(1)))
        return str(self.node("Mul", product, number(0.5)))

    def made(self, *outputs: str) -> tuple[ModelProto, dict[str, Array]]:
        """Returns the model, and inputs for it."""

        def described(name: str, array: Array) -> Any:
            kind = helper.np_dtype_to_tensor_dtype(array.dtype)
            return helper.make_tensor_value_info(name, kind, array.shape)

        graph = helper.make_graph(
            self.nodes,
            "model",
            [described(name, array) for name, array in self.inputs.items()],
            [helper.make_empty_tensor_value_info(name) for name in outputs],
            [numpy_helper.from_array(array, name) for name, array in self.weights.items()],
        )
        imports = [helper.make_opsetid("", 18)]
        return helper.make_model(graph, opset_imports=imports, ir_version=9), self.inputs

    def image(self, batch: int, channels: int, size: int) -> str:
        """Adds an input of images."""
        values = self.generator.standard_normal((batch, channels, size, size))
        return self.input("x", values.astype(numpy.float32))


Made = tuple[ModelProto, dict[str, Array]]


def mlp(batch: int) -> Made:
    """Three layers of 256 units."""
    b = Builder()
    x = b.input("x", b.generator.standard_normal((batch, 256)).astype(numpy.float32))
    for _ in range(3):
        x = b.node("Relu", b.linear(x, 256, 256))
    return b.made(b.node("Softmax", b.linear(x, 256, 10)))


def lenet(batch: int) -> Made:
    """LeNet-5 for images of 28 by 28 pixels."""
    b = Builder()
    x = b.node("Relu", b.conv(b.image(batch, 1, 28), 6, 1, 5))
    x = b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Relu", b.conv(x, 16, 6, 5, pads=[0] * 4))
    x = b.node("Flatten", b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))
    for fan_in, fan_out in [(400, 120), (120, 84)]:
        weight, bias = b.weight(fan_out, fan_in), b.weight(fan_out)
        x = b.node("Relu", b.node("Gemm", x, weight, bias, transB=1))
    return b.made(b.linear(x, 84, 10))


def resnet(batch: int) -> Made:
    """ResNet-18 for images of 64 by 64 pixels."""
    b = Builder()
    x = b.conv(b.image(batch, 3, 64), 64, 3, 7, strides=[2, 2])
    x = b.node("Relu", b.norm(x, 64))
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for out, stride in [
        (64, 1),
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        (512, 1),
    ]:
        strides = [stride, stride]
        h = b.node("Relu", b.norm(b.conv(x, out, channels, 3, strides=strides), out))
        h = b.norm(b.conv(h, out, out, 3), out)
        if stride > 1 or out != channels:
            x = b.norm(b.conv(x, out, channels, 1, strides=strides), out)
        x, channels = b.node("Relu", b.node("Add", h, x)), out
    return b.made(b.linear(b.node("Flatten", b.node("GlobalAveragePool", x)), 512, 10))


def mobilenet(batch: int) -> Made:
    """Inverted residuals with depthwise convolutions, as in MobileNetV2."""
    b = Builder()

    def relu6(x: str) -> str:
        limits = [b.constant(numpy.array(limit, numpy.float32)) for limit in (0, 6)]
        return str(b.node("Clip", x, *limits))

    x = relu6(b.norm(b.conv(b.image(batch, 3, 64), 32, 3, 3, strides=[2, 2]), 32))
    channels = 32
    for out, stride in [(16, 1), (24, 2), (24, 1), (32, 2), (32, 1), (64, 2), (64, 1), (96, 1)]:
        wide = 6 * channels
        h = relu6(b.norm(b.conv(x, wide, channels, 1), wide))
        h = relu6(b.norm(b.conv(h, wide, wide, 3, strides=[stride] * 2, group=wide), wide))
        h = b.norm(b.conv(h, out, wide, 1), out)
        x, channels = (b.node("Add", h, x) if out == channels and stride == 1 else h), out
    return b.made(b.linear(b.node("Flatten", b.node("GlobalAveragePool", x)), 96, 10))


def lstm(batch: int) -> Made:
    """One bidirectional LSTM with 128 units over 32 steps."""
    b = Builder()
    x = b.input("x", b.generator.standard_normal((32, batch, 64)).astype(numpy.float32))
    weights = b.weight(2, 512, 64), b.weight(2, 512, 128), b.weight(2, 1024, scale=0.1)
    outputs = b.node("LSTM", x, *weights, outputs=3, hidden_size=128, direction="bidirectional")
    last = b.node("ReduceMean", outputs[0], b.constant([0, 1]), keepdims=0)
    return b.made(b.linear(last, 128, 10))


def bert(batch: int) -> Made:
    """Four layers of an encoder with vectors of 256 numbers, over 64 tokens."""
    b = Builder()
    width, heads = 256, 4
    tokens = b.input("tokens", b.generator.integers(0, 1000, (batch, 64)))
    x = b.node("Add", b.node("Gather", b.weight(1000, width), tokens), b.weight(64, width))
    x = b.layer_norm(x, width)
    for _ in range(4):
        q, k, v = (b.heads(b.linear(x, width, width), batch, heads, width) for _ in range(3))
        mixed = b.linear(b.attend(q, k, v, batch, heads, width), width, width)
        x = b.layer_norm(b.node("Add", x, mixed), width)
        h = b.linear(b.gelu(b.linear(x, width, 4 * width)), 4 * width, width)
        x = b.layer_norm(b.node("Add", x, h), width)
    return b.made(b.linear(b.node("Gather", x, b.constant(0), axis=1), width, 2))


def gpt(batch: int) -> Made:
    """A step of a decoder of four layers with a cache of 64 tokens."""
    b = Builder()
    width, heads = 256, 4
    token = b.input("token", b.generator.integers(0, 1000, (batch, 1)))
    x, caches = b.node("Gather", b.weight(1000, width), token), []
    for layer in range(4):
        h = b.layer_norm(x, width)
        q, k, v = (b.heads(b.linear(h, width, width), batch, heads, width) for _ in range(3))
        for name, new in (("k", k), ("v", v)):
            past = b.generator.standard_normal((batch, heads, 64, width // heads))
            cache = b.input(f"{name}{layer}", past.astype(numpy.float32))
            caches.append(b.node("Concat", cache, new, axis=2))
        mixed = b.attend(q, caches[-2], caches[-1], batch, heads, width)
        x = b.node("Add", x, b.linear(mixed, width, width))
        h = b.gelu(b.linear(b.layer_norm(x, width), width, 4 * width))
        x = b.node("Add", x, b.linear(h, 4 * width, width))
    return b.made(b.linear(b.layer_norm(x, width), width, 1000), *caches)


MODELS: dict[str, Callable[[int], Made]] = {
    of.__name__: of for of in (mlp, lenet, resnet, mobilenet, lstm, bert, gpt)
}
