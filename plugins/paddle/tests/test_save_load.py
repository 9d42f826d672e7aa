"""`paddle.save` and `paddle.load`: data that was saved on one device can be loaded on any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import paddle
import pytest

from host import DEVICE, RELEASE, is_on, name, normal

A = normal(4, 6)
DEVICES = (name(), name(1), "cpu")


def network() -> Any:
    return paddle.nn.Sequential(
        paddle.nn.Linear(6, 8), paddle.nn.BatchNorm1D(8), paddle.nn.ReLU(), paddle.nn.Linear(8, 3)
    )


@pytest.mark.parametrize("dtype", ["bool", "int64", "float16", "float32", "float64"])
def test_a_tensor(dtype: str, tmp_path: Path) -> None:
    array = (A * 10).astype(dtype)
    paddle.save(paddle.to_tensor(array), str(tmp_path / "tensor"))
    loaded = paddle.load(str(tmp_path / "tensor"))
    assert is_on(loaded)
    np.testing.assert_array_equal(loaded.numpy(), array)


def test_a_tree_of_tensors(tmp_path: Path) -> None:
    tree = {"list": [paddle.to_tensor(A), 3], "deep": {"tensor": paddle.ones([2]), "text": "t"}}
    paddle.save(tree, str(tmp_path / "tree"))
    loaded = paddle.load(str(tmp_path / "tree"))
    np.testing.assert_array_equal(loaded["list"][0].numpy(), A)
    np.testing.assert_array_equal(loaded["deep"]["tensor"].numpy(), [1, 1])
    assert (loaded["list"][1], loaded["deep"]["text"]) == (3, "t")


def test_as_arrays(tmp_path: Path) -> None:
    paddle.save({"a": paddle.to_tensor(A)}, str(tmp_path / "arrays"))
    loaded = paddle.load(str(tmp_path / "arrays"), return_numpy=True)["a"]
    assert isinstance(loaded, np.ndarray)
    np.testing.assert_array_equal(loaded, A)


@pytest.mark.parametrize("begin", DEVICES)
@pytest.mark.parametrize("end", DEVICES)
def test_a_network_travels(begin: str, end: str, tmp_path: Path) -> None:
    paddle.set_device(begin)
    trained = network()
    trained(paddle.to_tensor(A))
    trained.eval()
    wanted = trained(paddle.to_tensor(A)).numpy()
    paddle.save(trained.state_dict(), str(tmp_path / "network"))

    paddle.set_device(end)
    other = network()
    missing, unexpected = other.set_state_dict(paddle.load(str(tmp_path / "network")))
    assert (missing, unexpected) == ([], [])
    other.eval()
    np.testing.assert_allclose(other(paddle.to_tensor(A)).numpy(), wanted, rtol=1e-4, atol=1e-5)


def start() -> tuple[Any, Any]:
    """Makes a network and its optimizer, which knows its state by the names of the parameters."""
    with paddle.utils.unique_name.guard():
        layers = network()
    return layers, paddle.optimizer.AdamW(0.05, parameters=layers.parameters())


def steps(layers: Any, optimizer: Any, count: int) -> list[float]:
    """Trains, and returns the losses. Here the optimizer names its state, so names start again."""
    losses = []
    with paddle.utils.unique_name.guard():
        for step in range(count):
            loss = layers(paddle.to_tensor(normal(4, 6, seed=step))).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses.append(loss.item())
    return losses


@pytest.mark.parametrize("end", DEVICES)
def test_training_goes_on_where_it_stopped(end: str, tmp_path: Path) -> None:
    layers, optimizer = start()
    steps(layers, optimizer, 4)
    paddle.save(layers.state_dict(), str(tmp_path / "network"))
    paddle.save(optimizer.state_dict(), str(tmp_path / "optimizer"))
    wanted = steps(layers, optimizer, 4)

    paddle.set_device(end)
    layers, optimizer = start()
    layers.set_state_dict(paddle.load(str(tmp_path / "network")))
    optimizer.set_state_dict(paddle.load(str(tmp_path / "optimizer")))
    np.testing.assert_allclose(steps(layers, optimizer, 4), wanted, rtol=1e-3)


def test_a_predictor_computes_the_same(tmp_path: Path) -> None:
    layers = network()
    layers.eval()
    wanted = layers(paddle.to_tensor(A)).numpy()
    spec = [paddle.static.InputSpec([None, 6], "float32")]
    paddle.jit.save(layers, str(tmp_path / "network"), input_spec=spec)
    program = next(path for path in tmp_path.iterdir() if path.suffix in (".pdmodel", ".json"))
    config = paddle.inference.Config(str(program), str(tmp_path / "network.pdiparams"))
    config.disable_glog_info()
    config.enable_custom_device(DEVICE, 0)
    if RELEASE < (3, 0):
        # Since 3.0 it fails on Paddle's CPU too.
        config.enable_memory_optim()
    predictor = paddle.inference.create_predictor(config)
    for rows in (1, len(A)):
        predictor.get_input_handle(predictor.get_input_names()[0]).copy_from_cpu(A[:rows])
        predictor.run()
        found = predictor.get_output_handle(predictor.get_output_names()[0]).copy_to_cpu()
        np.testing.assert_allclose(found, wanted[:rows], rtol=1e-4, atol=1e-5)
