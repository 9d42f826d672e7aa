"""A LeNet and a small Transformer learn on the device as they do on Paddle's own CPU."""

from __future__ import annotations

import functools

import numpy as np
import paddle
import pytest

from host import name
from models import MODES, TASKS, History, train

STEPS = {"lenet": 40, "transformer": 45}


@functools.cache
def on_cpu(task: str) -> History:
    """The reference for every run: plain eager training on the host."""
    return train(TASKS[task], "cpu", STEPS[task])


def agree(ours: History, wanted: History) -> None:
    """Checks for nearly equal losses: at first, rounding has not been amplified yet."""
    np.testing.assert_allclose(ours.losses[:8], wanted.losses[:8], rtol=1e-3)
    np.testing.assert_allclose(ours.losses, wanted.losses, rtol=0.05, atol=0.02)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("task", TASKS)
def test_networks_learn(task: str, mode: str) -> None:
    history = train(TASKS[task], name(), STEPS[task], mode)
    assert history.final() < 0.2 * history.losses[0]
    agree(history, on_cpu(task))


@pytest.mark.parametrize("mode", MODES)
def test_batch_statistics_agree(mode: str) -> None:
    """After a few steps: later ones amplify differences of rounding."""
    ours, wanted = (train(TASKS["lenet"], device, 10, mode).state for device in (name(), "cpu"))
    statistics = [key for key in wanted if "_mean" in key or "_variance" in key]
    assert statistics
    for key in statistics:
        np.testing.assert_allclose(ours[key], wanted[key], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("task", TASKS)
def test_the_other_device_learns_too(task: str) -> None:
    history = train(TASKS[task], name(1), 6)
    np.testing.assert_allclose(history.losses, on_cpu(task).losses[:6], rtol=1e-3)


def test_what_was_learnt_holds_for_new_digits() -> None:
    lenet = TASKS["lenet"]
    history = train(lenet, name(), STEPS["lenet"])
    network = lenet.network()
    network.set_state_dict(history.state)
    network.eval()
    images, labels = lenet.batch(500, 12345)
    with paddle.no_grad():
        answers = network(paddle.to_tensor(images)).argmax(axis=1).numpy()
    assert (answers == labels).mean() > 0.95


def test_two_runs_are_the_same_run() -> None:
    first, second = (train(TASKS["transformer"], name(), 5) for _ in range(2))
    np.testing.assert_allclose(first.losses, second.losses, rtol=1e-5)
