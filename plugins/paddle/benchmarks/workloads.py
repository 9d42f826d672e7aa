"""The models and operators that the benchmark measures: functions that run one step, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from models import TASKS
from zoo import NETWORKS, Gpt, Loss, Recurrent

Run = Callable[[], Any]
"""Runs one step. It may return before the device has finished."""


class Workload(NamedTuple):
    """Something to measure."""

    kind: str
    """`step`, `inference` or `operator`."""
    prepare: Callable[[], Run]
    """Creates the tensors on the current device."""


def _floats(*shape: int, low: float = 0.0, high: float = 1.0) -> Any:
    """Returns a tensor of reproducible numbers."""
    numbers = np.random.default_rng(0).uniform(low, high, shape)
    return paddle.to_tensor(numbers.astype("float32"))


def _integers(count: int, *shape: int) -> Any:
    """Returns a tensor of reproducible integers below `count`."""
    return paddle.to_tensor(np.random.default_rng(1).integers(0, count, shape))


def _classifier(network: Any, batch: Any, labels: Any) -> tuple[Any, Loss]:
    """Returns a network and its cross entropy on a batch."""

    def loss() -> Any:
        answers = network(batch)
        return F.cross_entropy(answers.reshape([-1, answers.shape[-1]]), labels.reshape([-1]))

    return network, loss


def _task(name: str) -> tuple[Any, Loss]:
    inputs, labels = (paddle.to_tensor(array) for array in TASKS[name].data(0, 1))
    return _classifier(TASKS[name].network(), inputs, labels)


def _mlp() -> tuple[Any, Loss]:
    network = nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.Tanh(), nn.Linear(256, 10)
    )
    return _classifier(network, _floats(64, 784), _integers(10, 64))


def _lstm() -> tuple[Any, Loss]:
    network = Recurrent(nn.LSTM(64, 128), words=200, width=64, hidden=128)
    return _classifier(network, _integers(200, 16, 32), _integers(200, 16))


def _gpt() -> tuple[Any, Loss]:
    words = _integers(200, 4, 65)
    return _classifier(Gpt(words=200, width=128, heads=4), words[:, :-1], words[:, 1:])


MODELS: dict[str, Callable[[], tuple[Any, Loss]]] = {
    "mlp": _mlp,
    "lenet": lambda: _task("lenet"),
    "transformer": lambda: _task("transformer"),
    "resnet18": NETWORKS["resnet18"],
    "mobilenet_v2": NETWORKS["mobilenet_v2"],
    "lstm": _lstm,
    "gpt": _gpt,
    "resnet50": NETWORKS["resnet50"],
    "unet": NETWORKS["unet"],
    "bert": NETWORKS["bert"],
    "vit": NETWORKS["vit"],
}
"""Each creates a network and its loss on a batch."""

DEFAULT_MODELS = ("mlp", "lenet", "transformer", "resnet18", "mobilenet_v2", "lstm", "gpt")
"""The models that are measured unless others are selected."""

MOMENTUM = ("lenet", "resnet18", "mobilenet_v2", "resnet50")
"""The models whose optimiser is `Momentum`. That of the others is `AdamW`."""


def _training(name: str) -> Run:
    """Returns a training step."""
    network, loss = MODELS[name]()
    parameters = network.parameters()
    if name in MOMENTUM:
        optimizer: Any = paddle.optimizer.Momentum(0.01, 0.9, parameters=parameters)
    else:
        optimizer = paddle.optimizer.AdamW(1e-3, parameters=parameters)

    def step() -> None:
        loss().backward()
        optimizer.step()
        optimizer.clear_grad()

    return step


def _inference(name: str) -> Run:
    """Returns a forward pass without gradients."""
    network, loss = MODELS[name]()
    network.eval()

    def step() -> Any:
        with paddle.no_grad():
            return loss()

    return step


def _forward(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Workload:
    """Returns an operator of numbers between 0 and 1."""

    def prepare() -> Run:
        tensors = [_floats(*shape) for shape in shapes]
        return lambda: function(*tensors)

    return Workload("operator", prepare)


def _backward(function: Callable[..., Any], *shapes: tuple[int, ...]) -> Workload:
    """Returns an operator with its gradients by all inputs."""

    def prepare() -> Run:
        tensors = [_floats(*shape) for shape in shapes]
        for tensor in tensors:
            tensor.stop_gradient = False
        return lambda: paddle.grad([function(*tensors)], tensors)

    return Workload("operator", prepare)


def _embedding(words: int, width: int, count: int, gradient: bool) -> Workload:
    def prepare() -> Run:
        table, indices = _floats(words, width), _integers(words, count)
        if not gradient:
            return lambda: F.embedding(indices, table)
        table.stop_gradient = False
        return lambda: paddle.grad([F.embedding(indices, table)], [table])

    return Workload("operator", prepare)


def _gather(side: int) -> Workload:
    def prepare() -> Run:
        table, rows = _floats(side, side), _integers(side, side)
        return lambda: paddle.gather(table, rows)

    return Workload("operator", prepare)


def _cross_entropy(rows: int, classes: int) -> Workload:
    def prepare() -> Run:
        scores, labels = _floats(rows, classes), _integers(classes, rows)
        scores.stop_gradient = False
        return lambda: paddle.grad([F.cross_entropy(scores, labels)], [scores])

    return Workload("operator", prepare)


def _optimizer(count: int, size: int) -> Workload:
    def prepare() -> Run:
        parameters = [
            paddle.base.framework.EagerParamBase.from_tensor(_floats(size)) for _ in range(count)
        ]
        for parameter in parameters:
            parameter.stop_gradient = False
            (parameter * 1.0).sum().backward()
        optimizer: Any = paddle.optimizer.Adam(1e-3, parameters=parameters)
        return lambda: optimizer.step()

    return Workload("operator", prepare)


def _batch_norm(shape: tuple[int, ...]) -> Workload:
    def prepare() -> Run:
        x, layer = _floats(*shape), nn.BatchNorm2D(shape[1])
        x.stop_gradient = False
        return lambda: paddle.grad([layer(x)], [x, layer.weight, layer.bias])

    return Workload("operator", prepare)


SIZES = (1024, 65_536, 1_048_576)
"""The numbers of elements of elementwise operators."""

ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "exp": paddle.exp,
    "log": paddle.log,
    "log1p": paddle.log1p,
    "expm1": paddle.expm1,
    "tanh": paddle.tanh,
    "erf": paddle.erf,
    "sin": paddle.sin,
    "cos": paddle.cos,
    "sqrt": paddle.sqrt,
    "rsqrt": paddle.rsqrt,
    "sigmoid": F.sigmoid,
    "silu": F.silu,
    "gelu": F.gelu,
    "softplus": F.softplus,
    "mish": F.mish,
    "relu": F.relu,
}
"""Functions of one tensor."""


def _operators() -> dict[str, Workload]:
    """Returns the operators, by name and size."""
    found: dict[str, Workload] = {}
    for size in SIZES:
        found.update(_elementwise(size))
        found.update(_matrices(int(size**0.5)))
    found.update(_others())
    return found


def _elementwise(size: int) -> dict[str, Workload]:
    """Returns operators of single elements."""
    found: dict[str, Workload] = {}
    for name, function in ELEMENTWISE.items():
        found[f"{name} {size}"] = _forward(function, (size,))
    for name in ("tanh", "gelu", "silu", "relu"):
        found[f"{name} with gradient {size}"] = _backward(ELEMENTWISE[name], (size,))
    found[f"add {size}"] = _forward(paddle.add, (size,), (size,))
    found[f"multiply {size}"] = _forward(paddle.multiply, (size,), (size,))
    found[f"pow {size}"] = _forward(paddle.pow, (size,), (size,))
    found[f"scale {size}"] = _forward(lambda x: x * 2.0, (size,))
    found[f"cast {size}"] = _forward(lambda x: x.astype("float64"), (size,))
    found[f"dropout {size}"] = _forward(lambda x: F.dropout(x, 0.1), (size,))
    return found


def _matrices(side: int) -> dict[str, Workload]:
    """Returns operators of square matrices."""
    found: dict[str, Workload] = {}
    square = (side, side)
    found[f"add row {side}x{side}"] = _forward(paddle.add, square, (side,))
    found[f"add column {side}x{side}"] = _forward(paddle.add, square, (side, 1))
    found[f"add row with gradient {side}x{side}"] = _backward(paddle.add, square, (side,))
    found[f"sum {side}x{side}"] = _forward(paddle.sum, square)
    found[f"sum of rows {side}x{side}"] = _forward(lambda x: x.sum(0), square)
    found[f"sum of columns {side}x{side}"] = _forward(lambda x: x.sum(1), square)
    found[f"mean of columns {side}x{side}"] = _forward(lambda x: x.mean(-1), square)
    found[f"max of columns {side}x{side}"] = _forward(lambda x: x.max(-1), square)
    found[f"argmax {side}x{side}"] = _forward(lambda x: x.argmax(-1), square)
    found[f"transpose {side}x{side}"] = _forward(
        lambda x: paddle.transpose(x, [1, 0]).contiguous(), square
    )
    found[f"softmax {side}x{side}"] = _forward(F.softmax, square)
    found[f"softmax with gradient {side}x{side}"] = _backward(F.softmax, square)
    found[f"cross entropy with gradient {side}x{side}"] = _cross_entropy(side, side)
    found[f"matmul {side}x{side}"] = _forward(paddle.matmul, square, square)
    found[f"concat {side}x{side}"] = _forward(
        lambda x, y: paddle.concat([x, y], -1), square, square
    )
    found[f"slice {side}x{side}"] = _forward(lambda x: x[:, 1:-1] + 0.0, square)
    found[f"where {side}x{side}"] = _forward(lambda x, y: paddle.where(x > y, x, y), square, square)
    found[f"pad {side}x{side}"] = _forward(lambda x: F.pad(x, [1, 1, 1, 1]), square)
    found[f"cumsum {side}x{side}"] = _forward(lambda x: paddle.cumsum(x, -1), square)
    found[f"sort {side}x{side}"] = _forward(lambda x: paddle.sort(x, -1), square)
    found[f"top 8 {side}x{side}"] = _forward(lambda x: paddle.topk(x, 8), square)
    found[f"logsumexp {side}x{side}"] = _forward(lambda x: paddle.logsumexp(x, -1), square)
    found[f"log softmax with gradient {side}x{side}"] = _backward(F.log_softmax, square)
    found[f"gather {side}x{side}"] = _gather(side)
    layer_norm = [square, (side,), (side,)]
    found[f"layer norm with gradient {side}x{side}"] = _backward(
        lambda x, scale, bias: F.layer_norm(x, x.shape[-1:], scale, bias), *layer_norm
    )
    return found


def _others() -> dict[str, Workload]:
    """Returns operators with shapes of their own."""
    found: dict[str, Workload] = {}
    found["embedding 1000x128, 2048 rows"] = _embedding(1000, 128, 2048, False)
    found["embedding with gradient 1000x128, 2048 rows"] = _embedding(1000, 128, 2048, True)
    found["heads transposed 8x128x8x64"] = _forward(
        lambda x: paddle.transpose(x, [0, 2, 1, 3]).contiguous(), (8, 128, 8, 64)
    )
    found["bias of images 8x32x56x56"] = _backward(paddle.add, (8, 32, 56, 56), (1, 32, 1, 1))
    found["convolution 4x64x28x28"] = _forward(
        lambda x, w: F.conv2d(x, w, padding=1), (4, 64, 28, 28), (64, 64, 3, 3)
    )
    found["convolution with gradient 4x64x28x28"] = _backward(
        lambda x, w: F.conv2d(x, w, padding=1), (4, 64, 28, 28), (64, 64, 3, 3)
    )
    found["max pool with gradient 8x32x56x56"] = _backward(
        lambda x: F.max_pool2d(x, 2, 2), (8, 32, 56, 56)
    )
    found["batch norm with gradient 8x32x56x56"] = _batch_norm((8, 32, 56, 56))
    found["average pool with gradient 8x32x56x56"] = _backward(
        lambda x: F.avg_pool2d(x, 2, 2), (8, 32, 56, 56)
    )
    found["bilinear interpolation 8x32x28x28"] = _forward(
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), (8, 32, 28, 28)
    )
    found["adam 1x1048576"] = _optimizer(1, 1_048_576)
    found["adam 16x65536"] = _optimizer(16, 65_536)
    found["adam 64x128"] = _optimizer(64, 128)
    return found


def workloads() -> dict[str, Workload]:
    """Returns everything that can be measured, by name."""
    found = {}
    for name in MODELS:
        found[f"{name} step"] = Workload("step", partial(_training, name))
    for name in MODELS:
        found[f"{name} inference"] = Workload("inference", partial(_inference, name))
    return {**found, **_operators()}


def is_default(name: str) -> bool:
    """Returns true if a workload is measured unless others are selected."""
    model, _, kind = name.rpartition(" ")
    if kind == "inference":
        return model in ("lenet", "transformer")
    return kind != "step" or model in DEFAULT_MODELS
