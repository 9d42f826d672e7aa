"""Networks: clipping, accumulation of gradients, mixed precision, programs and inference."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray

from host import name, of_release, on_both
from zoo import NETWORKS

Array = NDArray[Any]

SMALL = ["mlp", "lenet", "gru", "bert"]
STATES: dict[str, list[Array]] = {}
"""The parameters of each network, which are the same on each device."""
HALVES = of_release({(2, 6): {"float16": 0.02}, (3, 0): {"float16": 0.02, "bfloat16": 0.05}})
"""The tolerance of types: release 2.6 has no bfloat16 in mixed precision on a custom device."""
IN_PROGRAM = of_release({(2, 6): [False], (3, 0): [False, True]})
"""Whether networks become programs: release 2.6 cannot run those of layers on a custom device."""


def build(network: str) -> tuple[Any, Any]:
    """Returns a network without dropout, and its loss."""
    device = paddle.device.get_device()
    if network not in STATES:
        paddle.set_device("cpu")
        paddle.seed(3)
        made = NETWORKS[network]()[0].state_dict().values()
        STATES[network] = [tensor.numpy() for tensor in made]
        paddle.set_device(device)
    model, loss = NETWORKS[network]()
    for layer in model.sublayers():
        if hasattr(layer, "p"):
            # Random numbers differ between devices.
            layer.p = 0.0
        if hasattr(layer, "dropout") and isinstance(layer.dropout, float):
            layer.dropout = 0.0
    for tensor, array in zip(model.state_dict().values(), STATES[network]):
        tensor.set_value(array)
    return model, loss


def train(network: str, steps: int = 3, clip: Any = None, parts: int = 1) -> list[float]:
    """Returns the loss of each step, whose gradient is that of a number of equal parts."""
    model, loss = build(network)
    optimizer = paddle.optimizer.AdamW(0.01, parameters=model.parameters(), grad_clip=clip)
    losses = []
    for _ in range(steps):
        for _ in range(parts):
            value = loss()
            (value / parts).backward()
        losses.append(float(value))
        optimizer.step()
        optimizer.clear_grad()
    return losses


def expect_close(ours: list[float], wanted: list[float], tolerance: float) -> None:
    """Compares losses, which must change from step to step."""
    assert len(set(wanted)) == len(wanted)
    np.testing.assert_allclose(ours, wanted, rtol=tolerance)


@pytest.mark.parametrize("network", SMALL)
def test_losses_are_those_of_the_cpu(network: str) -> None:
    ours, wanted = on_both(lambda: train(network))
    expect_close(ours, wanted, 1e-3)


@pytest.mark.parametrize(
    "clip",
    [
        paddle.nn.ClipGradByGlobalNorm(0.1),
        paddle.nn.ClipGradByNorm(0.05),
        paddle.nn.ClipGradByValue(0.01),
    ],
    ids=["global norm", "norm", "value"],
)
@pytest.mark.parametrize("network", ["mlp", "gru"])
def test_gradients_are_clipped_as_on_the_cpu(network: str, clip: Any) -> None:
    ours, wanted = on_both(lambda: train(network, clip=clip))
    expect_close(ours, wanted, 1e-3)


@pytest.mark.parametrize("network", ["mlp", "lenet"])
def test_gradients_accumulate(network: str) -> None:
    paddle.set_device(name())
    expect_close(train(network, parts=4), train(network), 1e-4)


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("network", SMALL)
def test_mixed_precision_is_near_float32(
    network: str, dtype: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PaddlePaddle allows bfloat16 only on types of devices that it knows by name.
    module = sys.modules["paddle.amp.auto_cast"]
    check = "_is_custom_device_bfloat16_supported"
    monkeypatch.setattr(module, check, lambda: True, raising=False)
    paddle.set_device(name())
    wanted = train(network)
    model, loss = build(network)
    optimizer = paddle.optimizer.AdamW(0.01, parameters=model.parameters())
    if level == "O2":
        model, optimizer = paddle.amp.decorate(model, optimizer, level="O2", dtype=dtype)
        assert {str(parameter.dtype) for parameter in model.parameters()} >= {f"paddle.{dtype}"}
    scaler = paddle.amp.GradScaler(init_loss_scaling=64.0, enable=dtype == "float16")
    losses = []
    for _ in range(3):
        with paddle.amp.auto_cast(level=level, dtype=dtype):
            value = loss()
        losses.append(float(value))
        scaler.scale(value).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.clear_grad()
    assert losses != wanted
    expect_close(losses, wanted, HALVES[dtype])


@pytest.mark.parametrize("in_program", IN_PROGRAM)
@pytest.mark.parametrize("network", SMALL)
def test_training_is_that_of_the_cpu(network: str, in_program: bool) -> None:
    def compute() -> list[float]:
        model, loss = build(network)
        optimizer = paddle.optimizer.SGD(0.1, parameters=model.parameters())
        if in_program:
            paddle.jit.to_static(model)
        losses = []
        for _ in range(3):
            value = loss()
            value.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(float(value))
        return losses

    ours, wanted = on_both(compute)
    expect_close(ours, wanted, 1e-3)


@pytest.mark.parametrize("in_program", IN_PROGRAM)
@pytest.mark.parametrize("network", [*SMALL, "unet", "lstm", "gpt", "vit"])
def test_inference_is_that_of_the_cpu(network: str, in_program: bool) -> None:
    def compute() -> float:
        model, loss = build(network)
        model.eval()
        if in_program:
            paddle.jit.to_static(model)
        with paddle.no_grad():
            return float(loss())

    ours, wanted = on_both(compute)
    assert ours == pytest.approx(wanted, rel=1e-4)
