"""Common networks: loss and gradients of a training step against Paddle's CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray

from host import name
from zoo import NETWORKS

TOLERANCE = 1e-4
"""Of the largest gradient of a parameter: small differences grow from layer to layer."""


@pytest.fixture(autouse=True)
def double() -> Iterator[None]:
    """Computes in float64, so that a mistake is not mistaken for rounding."""
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


def step(network: str, device: str, state: list[NDArray[Any]] | None) -> tuple[Any, float, Any]:
    """Returns the parameters, the loss and the gradients of a network on a device."""
    paddle.set_device(device)
    paddle.seed(3)
    model, loss = NETWORKS[network]()
    for layer in model.sublayers():
        if hasattr(layer, "p"):
            # Random numbers differ between devices.
            layer.p = 0.0
        if hasattr(layer, "dropout") and isinstance(layer.dropout, float):
            layer.dropout = 0.0
    tensors = model.state_dict()
    if state is not None:
        for tensor, array in zip(tensors.values(), state):
            tensor.set_value(array)
    arrays = [tensor.numpy() for tensor in tensors.values()]
    value = loss()
    value.backward()
    gradients = {
        key: parameter.grad.numpy()
        for key, parameter in model.named_parameters()
        if parameter.grad is not None
    }
    return arrays, float(value), gradients


@pytest.mark.parametrize("network", NETWORKS)
def test_a_training_step_is_that_of_the_cpu(network: str) -> None:
    state, expected, wanted = step(network, "cpu", None)
    _, loss, gradients = step(network, name(), state)
    assert loss == pytest.approx(expected, rel=1e-8)
    assert gradients.keys() == wanted.keys()
    for key, gradient in gradients.items():
        scale = max(float(np.abs(wanted[key]).max()), 1e-9)
        np.testing.assert_allclose(gradient, wanted[key], atol=TOLERANCE * scale, err_msg=key)
