"""Two devices at once: where tensors are made, how they travel, who computes."""

from __future__ import annotations

from typing import Any, Callable

import numpy as np
import paddle
import pytest

from host import DEVICE, is_on, name, normal, of_release, place

A = normal(4, 6)


def test_there_are_two() -> None:
    assert paddle.device.get_available_custom_device() == [name(0), name(1)]
    assert DEVICE in paddle.device.get_all_device_type()
    assert paddle.device.is_compiled_with_custom_device(DEVICE)


@pytest.mark.parametrize("device", [0, 1])
def test_the_current_device_makes_and_computes(device: int) -> None:
    paddle.set_device(name(device))
    assert paddle.device.get_device() == name(device)
    x = paddle.to_tensor(A, stop_gradient=False)
    layer = paddle.nn.Linear(6, 3)
    layer(x).sum().backward()
    assert all(is_on(tensor, device) for tensor in (x, x + 1, layer.weight, x.grad))
    np.testing.assert_allclose(layer.bias.grad.numpy(), np.full(3, 4.0))


@pytest.mark.parametrize("device", [0, 1])
def test_a_tensor_is_made_where_it_is_asked_for(device: int) -> None:
    x = paddle.to_tensor(A, place=place(device))
    assert is_on(x, device)
    np.testing.assert_array_equal(x.numpy(), A)
    assert is_on(x * 2, device)
    np.testing.assert_array_equal((x * 2).numpy(), A * 2)


JOURNEYS: dict[str, Callable[[Any, int], Any]] = {
    "to a name": lambda x, device: x.to(name(device)),
    "to a place": lambda x, device: x.to(place(device)),
    "to_tensor": lambda x, device: paddle.to_tensor(x, place=place(device)),
    "a blocking copy": lambda x, device: x._copy_to(place(device), True),
    "a copy": lambda x, device: x._copy_to(place(device), False),
    "through the host": lambda x, device: x.cpu().to(name(device)),
}


# Releases in which `Tensor.to` moves a tensor instead of copying it.
MOVED = {(2, 6): ("to a name", "to a place"), (3, 0): ()}


@pytest.mark.parametrize("journey", JOURNEYS)
@pytest.mark.parametrize(("start", "end"), [(0, 1), (1, 0), (1, 1)])
def test_tensors_travel(journey: str, start: int, end: int) -> None:
    x = paddle.to_tensor(A, place=place(start))
    y = JOURNEYS[journey](x, end)
    assert is_on(x, end if journey in of_release(MOVED) else start)
    assert is_on(y, end)
    np.testing.assert_array_equal(y.numpy(), A)


def test_a_copy_sees_what_was_computed_before_it() -> None:
    # The host does not wait here: the copy itself has to come after the computation.
    for value in range(10):
        x = paddle.full([1 << 18], float(value))
        for _ in range(3):
            x = x + 1
        there = x._copy_to(place(1), False)
        assert (there.numpy() == value + 3).all()


def test_a_large_tensor_goes_there_and_back() -> None:
    array = normal(1 << 20)
    x = paddle.to_tensor(array)
    for _ in range(3):
        x = x.to(name(1)).to(name(0))
    np.testing.assert_array_equal(x.numpy(), array)


def test_tensors_of_two_devices_meet_on_the_latter() -> None:
    x, y = paddle.to_tensor(A, place=place(0)), paddle.to_tensor(A, place=place(1))
    for total, device in ((x + y, 1), (y + x, 0)):
        assert is_on(total, device)
        np.testing.assert_allclose(total.numpy(), A * 2)


def test_a_tensor_of_the_host_comes_to_the_device() -> None:
    x, y = paddle.to_tensor(A), paddle.to_tensor(A, place=paddle.CPUPlace())
    for total in (x + y, y + x):
        assert is_on(total)
        np.testing.assert_allclose(total.numpy(), A * 2)


def test_a_network_moves_with_its_parameters() -> None:
    layer = paddle.nn.Linear(6, 3)
    wanted = layer(paddle.to_tensor(A)).numpy()
    layer.to(name(1))
    assert all(is_on(parameter, 1) for parameter in layer.parameters())
    out = layer(paddle.to_tensor(A, place=place(1)))
    assert is_on(out, 1)
    np.testing.assert_allclose(out.numpy(), wanted, rtol=1e-5)


def test_both_devices_train_side_by_side() -> None:
    losses: list[list[float]] = []
    networks = []
    for device in (0, 1):
        paddle.set_device(name(device))
        layer = paddle.nn.Linear(6, 1)
        layer.weight.set_value(normal(6, 1))
        networks.append((layer, paddle.optimizer.Adam(0.05, parameters=layer.parameters())))
        losses.append([])
    for _ in range(10):
        for device, (layer, optimizer) in enumerate(networks):
            paddle.set_device(name(device))
            loss = layer(paddle.to_tensor(A)).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            losses[device].append(loss.item())
    assert losses[0] == losses[1]
    assert losses[0][-1] < losses[0][0]
