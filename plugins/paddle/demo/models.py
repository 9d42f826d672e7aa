"""The two networks of the demo and the training tests, with data that is made on the spot.

What lives here: networks, synthetic data, and one training loop for every way Paddle runs a
network. What may not: anything that knows the plugin. A device is a name such as ``"CustomCPU:0"``
or ``"cpu"``, so the same code trains on the plugin and on Paddle's own CPU kernels.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import paddle
from numpy.typing import NDArray
from paddle import nn

Batch = tuple[NDArray[Any], NDArray[Any]]
"""Inputs and labels, on the host."""

OnStep = Callable[[int, float], None]
"""Called after each step with its number, from 1, and its loss."""

MODES = ("dygraph", "to_static", "executor")
"""Eager; eager with the network compiled; a static program run by an `Executor`."""

# Ten digits as five columns by seven rows, one number for each row, the leftmost pixel highest.
_FONT = (
    (14, 17, 19, 21, 25, 17, 14),
    (4, 12, 4, 4, 4, 4, 14),
    (14, 17, 1, 2, 4, 8, 31),
    (31, 2, 4, 2, 1, 17, 14),
    (2, 6, 10, 18, 31, 2, 2),
    (31, 16, 30, 1, 1, 17, 14),
    (6, 8, 16, 30, 17, 17, 14),
    (31, 1, 2, 4, 8, 8, 8),
    (14, 17, 17, 14, 17, 17, 14),
    (14, 17, 17, 15, 1, 2, 12),
)


def _glyphs() -> NDArray[Any]:
    """Returns the digits as 21 by 15 pixel images, each font pixel three by three."""
    rows = np.array(_FONT, dtype=np.uint8)
    bits = (rows[:, :, None] >> np.arange(4, -1, -1, dtype=np.uint8)) & 1
    return np.kron(bits, np.ones((3, 3), np.uint8)).astype(np.float32)


def digits(batch: int, seed: int) -> Batch:
    """Digits drawn somewhere in a noisy 28 by 28 image, and which digit each one is."""
    random = np.random.default_rng(seed)
    glyphs = _glyphs()
    height, width = glyphs.shape[1:]
    labels = random.integers(0, 10, batch)
    images = random.normal(0.0, 0.25, (batch, 1, 28, 28)).astype(np.float32)
    for image, label in zip(images, labels):
        # Close to the middle: a few dozen steps should be enough to learn this.
        top, left = random.integers(2, 29 - height - 2), random.integers(4, 29 - width - 4)
        image[0, top : top + height, left : left + width] += glyphs[label]
    return images, labels.astype(np.int64)


def reversals(batch: int, seed: int, length: int = 8, words: int = 12) -> Batch:
    """Sequences of random words, and the same sequences backwards.

    Each answer is at the far end of the sentence, so only attention can find it.
    """
    random = np.random.default_rng(seed)
    sentences = random.integers(0, words, (batch, length))
    return sentences.astype(np.int64), sentences[:, ::-1].astype(np.int64).copy()


class LeNet(nn.Layer):
    """LeNet-5 with batch normalisation, which brings running statistics to the device as well."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2D(1, 6, 5, padding=2),
            nn.BatchNorm2D(6),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
            nn.Conv2D(6, 16, 5),
            nn.BatchNorm2D(16),
            nn.ReLU(),
            nn.MaxPool2D(2, 2),
        )
        self.classify = nn.Sequential(
            nn.Linear(400, 120),
            nn.ReLU(),
            nn.Linear(120, 84),
            nn.ReLU(),
            nn.Linear(84, 10),
        )

    def forward(self, images: paddle.Tensor) -> paddle.Tensor:
        return self.classify(self.features(images).flatten(1))


class Reverser(nn.Layer):
    """A small Transformer encoder that says a sentence backwards.

    No dropout: two devices draw different random numbers, and the test compares their losses.
    """

    def __init__(self, length: int = 8, words: int = 12, width: int = 48, layers: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = self.create_parameter([length, width])
        layer = nn.TransformerEncoderLayer(
            width, nhead=4, dim_feedforward=2 * width, dropout=0.0, activation="gelu"
        )
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.answer = nn.Linear(width, words)

    def forward(self, sentences: paddle.Tensor) -> paddle.Tensor:
        return self.answer(self.encoder(self.words(sentences) + self.places))


@dataclass(frozen=True)
class Task:
    """A network, its data, and how it is trained."""

    name: str
    network: Callable[[], Any]
    batch: Callable[[int, int], Batch]
    optimizer: Callable[[list[Any]], Any]
    batch_size: int = 64

    def data(self, step: int, seed: int) -> Batch:
        """Returns the batch of one step: the same for every device."""
        return self.batch(self.batch_size, seed * 1_000_003 + step)


TASKS = {
    task.name: task
    for task in (
        Task(
            "lenet",
            LeNet,
            digits,
            lambda parameters: paddle.optimizer.Momentum(0.05, 0.9, parameters=parameters),
        ),
        Task(
            "transformer",
            Reverser,
            reversals,
            lambda parameters: paddle.optimizer.AdamW(4e-3, parameters=parameters),
        ),
    )
}


@dataclass
class History:
    """The record of a training run."""

    losses: list[float] = field(default_factory=list)
    seconds: float = 0.0
    state: dict[str, NDArray[Any]] = field(default_factory=dict)

    def final(self, last: int = 5) -> float:
        """Returns the mean of the last few losses: a single batch says little."""
        return float(np.mean(self.losses[-last:]))


def initial_state(task: Task, seed: int) -> list[NDArray[Any]]:
    """Returns the weights from which every run starts, in the order of the network's own state.

    They are drawn on Paddle's CPU: devices need not draw the same random numbers.
    """
    paddle.set_device("cpu")
    paddle.seed(seed)
    return [tensor.numpy() for tensor in task.network().state_dict().values()]


def train(
    task: Task,
    device: str,
    steps: int,
    mode: str = "dygraph",
    seed: int = 1,
    on_step: OnStep | None = None,
) -> History:
    """Trains a task's network on a device and returns the outcome."""
    start = initial_state(task, seed)
    paddle.set_device(device)
    if mode == "executor":
        return _train_program(task, device, steps, seed, start, on_step)
    return _train_eager(task, steps, mode == "to_static", seed, start, on_step)


def _loss(answers: Any, labels: Any) -> Any:
    """Cross entropy over the last axis, whatever comes before it."""
    return nn.functional.cross_entropy(
        answers.reshape([-1, answers.shape[-1]]), labels.reshape([-1])
    )


def _train_eager(
    task: Task,
    steps: int,
    compiled: bool,
    seed: int,
    start: list[NDArray[Any]],
    on_step: OnStep | None,
) -> History:
    network = task.network()
    network.set_state_dict(dict(zip(network.state_dict(), start)))
    run = paddle.jit.to_static(network, full_graph=True) if compiled else network
    optimizer = task.optimizer(network.parameters())
    history = History()
    began = time.perf_counter()
    for step in range(1, steps + 1):
        inputs, labels = (paddle.to_tensor(array) for array in task.data(step, seed))
        loss = _loss(run(inputs), labels)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        history.losses.append(float(loss))
        if on_step:
            on_step(step, history.losses[-1])
    history.seconds = time.perf_counter() - began
    history.state = {name: tensor.numpy() for name, tensor in network.state_dict().items()}
    return history


def _place(device: str) -> Any:
    """Returns the place of a device's name: an `Executor` does not take names."""
    kind, _, number = device.partition(":")
    return paddle.CPUPlace() if kind == "cpu" else paddle.CustomPlace(kind, int(number or 0))


def _train_program(
    task: Task,
    device: str,
    steps: int,
    seed: int,
    start: list[NDArray[Any]],
    on_step: OnStep | None,
) -> History:
    inputs, labels = task.data(0, seed)
    main, startup, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    paddle.enable_static()
    try:
        with paddle.static.program_guard(main, startup), paddle.static.scope_guard(scope):
            fed = paddle.static.data("inputs", list(inputs.shape), str(inputs.dtype))
            wanted = paddle.static.data("labels", list(labels.shape), str(labels.dtype))
            network = task.network()
            loss = _loss(network(fed), wanted)
            task.optimizer(None).minimize(loss)  # type: ignore[arg-type]
            executor = paddle.static.Executor(_place(device))
            executor.run(startup)
            names = [tensor.name for tensor in network.state_dict().values()]
            for name, array in zip(names, start):
                scope.var(name).get_tensor().set(array, _place(device))
            history = History()
            began = time.perf_counter()
            for step in range(1, steps + 1):
                batch = dict(zip(("inputs", "labels"), task.data(step, seed)))
                (value,) = executor.run(main, feed=batch, fetch_list=[loss])
                history.losses.append(float(value))
                if on_step:
                    on_step(step, history.losses[-1])
            history.seconds = time.perf_counter() - began
            history.state = {
                key: np.array(scope.var(name).get_tensor())
                for key, name in zip(network.state_dict(), names)
            }
            return history
    finally:
        paddle.disable_static()
