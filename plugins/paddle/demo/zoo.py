"""Small networks of each common kind, for the coverage report: which operators does training call?

What lives here: networks, made of Paddle's layers, and batches for them. What may not: anything
that knows the plugin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.vision import models

import areas
from models import LeNet

Loss = Callable[[], Any]
"""Runs a network on its batch, and returns the loss."""


def _numbers(*shape: int) -> Any:
    """Returns a tensor of reproducible random numbers."""
    numbers = np.random.default_rng(0).standard_normal(shape)
    return paddle.to_tensor(numbers.astype(paddle.get_default_dtype()))


def _images() -> Any:
    """Returns images that are large enough for statistics of the last layers of deep networks."""
    return _numbers(4, 3, 64, 64)


def _classes(count: int, *shape: int) -> Any:
    """Returns a tensor of reproducible classes."""
    return paddle.to_tensor(np.random.default_rng(1).integers(0, count, shape))


def _classifier(network: Any, batch: Any, classes: int) -> tuple[Any, Loss]:
    """Returns a network and its cross entropy on a batch."""
    labels = _classes(classes, batch.shape[0], 1)
    return network, lambda: F.cross_entropy(network(batch), labels)


class UNet(nn.Layer):
    """Two levels of convolutions, with a transposed convolution and an interpolation upwards."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2D(3, 8, 3, padding=1), nn.BatchNorm2D(8), nn.ReLU())
        self.down = nn.Sequential(
            nn.MaxPool2D(2), nn.Conv2D(8, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.Silu()
        )
        self.up = nn.Conv2DTranspose(16, 8, 2, stride=2)
        self.last = nn.Conv2D(24, 4, 1)

    def forward(self, images: Any) -> Any:
        outer = self.first(images)
        inner = self.down(outer)
        enlarged = F.interpolate(inner, scale_factor=2, mode="bilinear")
        return self.last(
            paddle.concat([outer, self.up(inner) + enlarged[:, :8], enlarged[:, 8:]], 1)
        )


class Recurrent(nn.Layer):
    """An embedding, a recurrent layer and a classifier."""

    def __init__(self, layer: Any, words: int = 20, width: int = 8, hidden: int = 16) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layer = layer
        self.last = nn.Linear(hidden, words)

    def forward(self, sentences: Any) -> Any:
        return self.last(self.layer(self.words(sentences))[0][:, -1])


class Bert(nn.Layer):
    """An encoder with embedded positions and a padding mask."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(30, 16, padding_idx=0)
        self.places = nn.Embedding(8, 16)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.last = nn.Linear(16, 30)

    def forward(self, sentences: Any) -> Any:
        mask = (sentences != 0).astype(paddle.get_default_dtype()).unsqueeze([1, 2])
        embedded = self.words(sentences) + self.places(paddle.arange(sentences.shape[1]))
        return self.last(self.encoder(embedded, (mask - 1) * 1e4)[:, 0])


class GptBlock(nn.Layer):
    """Causal attention with rotary positions, and SwiGLU, both behind an RMS norm."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.scales = nn.ParameterList([self.create_parameter([width]) for _ in range(2)])
        self.project = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)
        self.gate = nn.Linear(width, 4 * width)
        self.down = nn.Linear(2 * width, width)

    @staticmethod
    def _norm(x: Any, scale: Any) -> Any:
        return x * paddle.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * scale

    @staticmethod
    def _rotate(x: Any) -> Any:
        length, half = x.shape[-2], x.shape[-1] // 2
        steps = paddle.arange(length, dtype=paddle.get_default_dtype()).unsqueeze(1)
        angles = steps / 10000 ** (paddle.arange(half, dtype=paddle.get_default_dtype()) / half)
        left, right = paddle.split(x, 2, axis=-1)
        cos, sin = angles.cos(), angles.sin()
        return paddle.concat([left * cos - right * sin, left * sin + right * cos], -1)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        parts = self.project(self._norm(x, self.scales[0]))
        parts = parts.reshape([batch, length, 3, self.heads, width // self.heads])
        query, key, value = parts.transpose([2, 0, 3, 1, 4]).unbind(0)
        scores = self._rotate(query) @ self._rotate(key).transpose([0, 1, 3, 2])
        mask = paddle.triu(paddle.full([length, length], -1e4), 1)
        weights = F.softmax(scores / (width // self.heads) ** 0.5 + mask, axis=-1)
        merged = (weights @ value).transpose([0, 2, 1, 3]).reshape([batch, length, width])
        x = x + self.merge(merged)
        gate, up = paddle.chunk(self.gate(self._norm(x, self.scales[1])), 2, axis=-1)
        return x + self.down(F.silu(gate) * up)


class Gpt(nn.Layer):
    """A decoder of two blocks."""

    def __init__(self, words: int = 30, width: int = 16, heads: int = 2) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.blocks = nn.LayerList([GptBlock(width, heads) for _ in range(2)])
        self.last = nn.Linear(width, words)

    def forward(self, sentences: Any) -> Any:
        x = self.words(sentences)
        for block in self.blocks:
            x = block(x)
        return self.last(x)


class Vit(nn.Layer):
    """An image as patches, a class token and an encoder."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2D(3, 16, 4, stride=4)
        self.token = self.create_parameter([1, 1, 16])
        self.places = self.create_parameter([1, 17, 16])
        layer = nn.TransformerEncoderLayer(
            16, 2, 32, dropout=0.1, activation="gelu", normalize_before=True
        )
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.last = nn.Linear(16, 10)

    def forward(self, images: Any) -> Any:
        patches = self.patches(images).flatten(2).transpose([0, 2, 1])
        token = self.token.expand([images.shape[0], -1, -1])
        x = paddle.concat([token, patches], axis=1) + self.places
        return self.last(self.encoder(x)[:, 0])


def _mlp() -> tuple[Any, Loss]:
    network = nn.Sequential(
        nn.Linear(20, 32),
        nn.ReLU(),
        nn.Dropout(0.1),
        nn.Linear(32, 16),
        nn.Tanh(),
        nn.Linear(16, 5),
    )
    return _classifier(network, _numbers(8, 20), 5)


def _unet() -> tuple[Any, Loss]:
    network, images = UNet(), _numbers(2, 3, 16, 16)
    labels = _classes(4, 2, 16, 16)
    return network, lambda: F.cross_entropy(network(images), labels, axis=1)


def _gpt() -> tuple[Any, Loss]:
    network, words = Gpt(), _classes(30, 2, 9)
    return network, lambda: F.cross_entropy(
        network(words[:, :-1]).reshape([-1, 30]), words[:, 1:].reshape([-1])
    )


class Spectrogram(nn.Layer):
    """Classifies sounds by the logarithms of their mel spectra, and by their signals."""

    def __init__(self) -> None:
        super().__init__()
        self.spectra = paddle.audio.features.LogMelSpectrogram(
            sr=8000,
            n_fft=64,
            hop_length=16,
            n_mels=8,
            f_min=50.0,
            dtype=paddle.get_default_dtype(),
        )
        self.last = nn.Linear(9, 10)

    def forward(self, sounds: Any) -> Any:
        spectra = paddle.signal.stft(sounds, 64, 16)
        again = paddle.signal.istft(spectra, 64, 16)
        features = self.spectra(sounds).mean(-1)
        return self.last(paddle.concat([features, again.square().mean(-1, keepdim=True)], -1))


class Gaussian(nn.Layer):
    """The likelihood of vectors, and decompositions of their covariance."""

    def __init__(self) -> None:
        super().__init__()
        self.factor = self.create_parameter([4, 4])

    def forward(self, vectors: Any) -> Any:
        covariance = paddle.matmul(self.factor, self.factor, transpose_y=True) + paddle.eye(4)
        factor = paddle.linalg.cholesky(covariance)
        # Paddle's CPU ends the process in the gradient of `solve` if an operand has none.
        right = paddle.matmul(self.factor, vectors, transpose_y=True)
        scaled = paddle.linalg.triangular_solve(factor, right, upper=False)
        solved = paddle.linalg.solve(covariance, right)
        values, _ = paddle.linalg.eigh(covariance)
        q, r = paddle.linalg.qr(covariance)
        parts = [
            scaled.square().sum() + solved.square().sum(),
            paddle.linalg.slogdet(covariance)[1] + paddle.linalg.det(covariance),
            values.sum() + paddle.linalg.svd(covariance)[1].sum() + (q @ r).sum(),
            paddle.linalg.inv(covariance).sum() + paddle.linalg.matrix_power(covariance, 2).sum(),
            paddle.linalg.multi_dot([covariance, self.factor, covariance]).sum(),
        ]
        return sum(part.reshape([]) for part in parts)


def _gaussian() -> tuple[Any, Loss]:
    network, vectors = Gaussian(), _numbers(3, 4)
    return network, lambda: network(vectors)


NETWORKS: dict[str, Callable[[], tuple[Any, Loss]]] = {
    "mlp": _mlp,
    "lenet": lambda: _classifier(LeNet(), _numbers(4, 1, 28, 28), 10),
    "resnet18": lambda: _classifier(models.resnet18(num_classes=10), _images(), 10),
    "resnet50": lambda: _classifier(models.resnet50(num_classes=10), _images(), 10),
    "mobilenet_v2": lambda: _classifier(models.mobilenet_v2(num_classes=10), _images(), 10),
    "unet": _unet,
    "lstm": lambda: _classifier(Recurrent(nn.LSTM(8, 16)), _classes(20, 3, 6), 20),
    "gru": lambda: _classifier(Recurrent(nn.GRU(8, 16)), _classes(20, 3, 6), 20),
    "bert": lambda: _classifier(Bert(), _classes(30, 2, 8), 30),
    "gpt": _gpt,
    "vit": lambda: _classifier(Vit(), _numbers(2, 3, 16, 16), 10),
    "detector": lambda: areas.detector(_numbers(2, 3, 32, 32)),
    "graph": lambda: areas.graph(_numbers(12, 6), _classes(3, 3, 1)),
    "transducer": lambda: areas.transducer(_numbers(2, 5, 6), _classes(4, 2, 3) + 1),
    "spectrogram": lambda: _classifier(Spectrogram(), _numbers(2, 256), 10),
    "linear_algebra": _gaussian,
}
"""Each makes a network with its parameters on the current device, and its loss."""
