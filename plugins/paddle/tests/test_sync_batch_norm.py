"""SyncBatchNorm: in one process it is BatchNorm, and in several it needs a collective."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from numpy.typing import NDArray

from host import name, normal, of_release

IMAGES = normal(4, 3, 5, 5)


def steps(norm: Any, compiled: bool) -> list[NDArray[Any]]:
    """Returns results, gradients and statistics of two training steps, and of an evaluation."""
    layer = paddle.jit.to_static(norm, full_graph=True) if compiled else norm
    found = []
    for seed in range(2):
        x = paddle.to_tensor(normal(*IMAGES.shape, seed=seed), stop_gradient=False)
        out = layer(x)
        (out * paddle.to_tensor(normal(*IMAGES.shape, seed=9))).sum().backward()
        found += [out, x.grad, norm.weight.grad, norm.bias.grad, norm._mean, norm._variance]
        found = [tensor.numpy() if hasattr(tensor, "numpy") else tensor for tensor in found]
        norm.clear_gradients()
    norm.eval()
    return [*found, layer(paddle.to_tensor(IMAGES)).numpy()]


# The wheel of 2.6 has no operator for programs.
@pytest.mark.parametrize("compiled", of_release({(2, 6): [False], (3, 0): [False, True]}))
def test_one_process_normalises_as_batch_norm_does(compiled: bool) -> None:
    ours = steps(paddle.nn.SyncBatchNorm(3), compiled)
    paddle.set_device("cpu")
    wanted = steps(paddle.nn.BatchNorm2D(3), False)
    paddle.set_device(name())
    assert len(ours) == len(wanted)
    for mine, other in zip(ours, wanted):
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


def test_a_converted_network_trains() -> None:
    network = paddle.nn.Sequential(paddle.nn.Conv2D(3, 4, 3), paddle.nn.BatchNorm2D(4))
    network = paddle.nn.SyncBatchNorm.convert_sync_batchnorm(network)
    network(paddle.to_tensor(IMAGES)).sum().backward()
    assert network[0].weight.grad is not None


def test_several_processes_are_refused_with_the_collective(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    norm = paddle.nn.SyncBatchNorm(3)
    with pytest.raises(NotImplementedError, match="all_reduce"):
        norm(paddle.to_tensor(IMAGES))
    # An evaluation uses the statistics that it has.
    norm.eval()
    assert norm(paddle.to_tensor(IMAGES)).shape == [4, 3, 5, 5]
