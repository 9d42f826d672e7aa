"""Recurrent layers: results and gradients against Paddle's CPU, and dropout between layers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray
from paddle import nn

from host import name, normal, on_both

Array = NDArray[Any]

INPUTS = normal(3, 5, 4)
LENGTHS = np.array([5, 2, 3], "int32")
MODES: dict[str, Any] = {
    "LSTM": nn.LSTM,
    "GRU": nn.GRU,
    "tanh": nn.SimpleRNN,
    "relu": lambda *sizes, **given: nn.SimpleRNN(*sizes, activation="relu", **given),
}


def layer(mode: str, **given: Any) -> Any:
    """Returns a layer whose parameters are the same on each device."""
    made = MODES[mode](4, 3, **given)
    for number, parameter in enumerate(made.parameters()):
        values = normal(*parameter.shape, seed=number) * 0.5
        parameter.set_value(values.astype(str(parameter.dtype).removeprefix("paddle.")))
    return made


def flat(results: Any) -> list[Any]:
    """Returns the tensors of nested tuples."""
    if isinstance(results, (tuple, list)):
        return [tensor for part in results for tensor in flat(part)]
    return [results]


def step(network: Any, dtype: str, states: bool) -> list[Array]:
    """Returns the outputs of a layer, and the gradients of its inputs and parameters."""
    inputs = [paddle.to_tensor(INPUTS.astype(dtype))]
    if states:
        parts = network.num_layers * network.num_directions
        for number in range(2 if network.mode == "LSTM" else 1):
            inputs.append(paddle.to_tensor(normal(parts, 3, 3, seed=number + 50).astype(dtype)))
    for tensor in inputs:
        tensor.stop_gradient = False
    start = tuple(inputs[1:]) if len(inputs) == 3 else (inputs[1] if states else None)
    outputs = flat(network(inputs[0], start))
    weighted = [
        (output * paddle.to_tensor(normal(*output.shape, seed=number + 99).astype(dtype))).sum()
        for number, output in enumerate(outputs)
    ]
    paddle.add_n(weighted).backward()
    gradients = [tensor.grad for tensor in (*inputs, *network.parameters())]
    return [tensor.numpy() for tensor in (*outputs, *gradients)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("mode", MODES)
def test_layers_and_their_gradients(mode: str, layers: int, direction: str, dtype: str) -> None:
    paddle.set_default_dtype(dtype)
    try:
        ours, theirs = on_both(
            lambda: step(layer(mode, num_layers=layers, direction=direction), dtype, layers == 2)
        )
    finally:
        paddle.set_default_dtype("float32")
    assert len(ours) == len(theirs)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for mine, wanted in zip(ours, theirs):
        np.testing.assert_allclose(mine, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("mode", MODES)
def test_sentences_of_different_lengths(mode: str) -> None:
    def compute() -> list[Array]:
        network = layer(mode, direction="bidirect")
        outputs = network(paddle.to_tensor(INPUTS), None, paddle.to_tensor(LENGTHS))
        return [tensor.numpy() for tensor in flat(outputs)]

    ours, theirs = on_both(compute)
    for mine, wanted in zip(ours, theirs):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["LSTM", "GRU"])
def test_inference_is_that_of_the_cpu(mode: str) -> None:
    def compute() -> list[Array]:
        network = layer(mode, num_layers=2, dropout=0.5)
        network.eval()
        with paddle.no_grad():
            return [tensor.numpy() for tensor in flat(network(paddle.to_tensor(INPUTS)))]

    ours, theirs = on_both(compute)
    for mine, wanted in zip(ours, theirs):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-5)


@pytest.fixture
def double() -> Iterator[None]:
    """Computes in float64, for differences."""
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


def expect_slope(network: Any, lengths: Array | None = None) -> None:
    """Compares the gradient with a difference of the loss along a direction."""
    direction = normal(*INPUTS.shape, seed=7).astype("float64")
    steps = None if lengths is None else paddle.to_tensor(lengths)

    def loss(move: float) -> tuple[float, Array]:
        paddle.seed(5)
        x = paddle.to_tensor(INPUTS.astype("float64") + move * direction)
        x.stop_gradient = False
        total = paddle.add_n([(part**2).sum() for part in flat(network(x, None, steps))])
        total.backward()
        return float(total), x.grad.numpy()

    slope = (loss(1e-6)[0] - loss(-1e-6)[0]) / 2e-6
    assert slope == pytest.approx((loss(0.0)[1] * direction).sum(), rel=1e-6)


# Paddle's CPU has wrong gradients for sentences that end early.
@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_sentences_of_different_lengths(mode: str) -> None:
    paddle.set_device(name())
    expect_slope(layer(mode, num_layers=2, direction="bidirect"), LENGTHS)


@pytest.mark.usefixtures("double")
def test_dropout_between_layers_has_its_gradient() -> None:
    paddle.set_device(name())
    expect_slope(layer("GRU", num_layers=3, dropout=0.5))


def test_dropout_between_layers_follows_the_seed() -> None:
    paddle.set_device(name())
    network = layer("GRU", num_layers=3, dropout=0.5)

    def run(seed: int) -> Array:
        paddle.seed(seed)
        return np.asarray(network(paddle.to_tensor(INPUTS))[0].numpy())

    np.testing.assert_array_equal(run(5), run(5))
    assert (run(5) != run(6)).any()
